//! Runs work on one of Node's worker threads: guarded, and rejected with an error that carries a code.

use napi::bindgen_prelude::{AsyncTask, JsError, ToNapiValue, TypeName};
use napi::{Env, Error, Task};

use super::failure::{Failure, Result};
use super::guarded::guarded;

/// The return value of an exported function that works on a worker thread: a promise in JavaScript.
pub(super) type Promise<T> = AsyncTask<Blocking<T>>;

type Work<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// A task for a worker thread.
pub struct Blocking<T> {
    work: Option<Work<T>>,
    /// The failure until `reject`: napi's error type has no field for the code.
    failure: Option<Failure>,
}

/// Runs `work` on a worker thread.
pub(super) fn blocking<T>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Promise<T>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    AsyncTask::new(Blocking { work: Some(Box::new(work)), failure: None })
}

impl<T> Task for Blocking<T>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        guarded(|| {
            let work = self.work.take().ok_or_else(|| Failure::internal("the work was done before"))?;
            work()
        })
        .map_err(|failure| {
            self.failure = Some(failure);
            Error::from_status(napi::Status::GenericFailure)
        })
    }

    fn resolve(&mut self, _env: Env, output: T) -> napi::Result<T> {
        guarded(|| Ok(output)).map_err(Error::from)
    }

    fn reject(&mut self, env: Env, error: Error) -> napi::Result<T> {
        guarded(|| {
            let failure = self.failure.take().unwrap_or_else(|| error.into());
            Ok(JsError::from(failure).into_unknown(env).into())
        })
        .map_or_else(|failure| Err(failure.into()), Err)
    }
}
