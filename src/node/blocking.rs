//! Runs work on one of Node's worker threads: guarded, and rejected with an error that carries a code.

use napi::bindgen_prelude::{AsyncTask, JsError, ToNapiValue, TypeName};
use napi::{Env, Task};

use super::failure::{Failure, Result};
use super::guarded::guarded;

/// The return value of an exported function that works on a worker thread: a promise in JavaScript.
pub(super) type Promise<T> = AsyncTask<Blocking<T>>;

type Work<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// A task for a worker thread.
pub struct Blocking<T> {
    work: Option<Work<T>>,
}

/// Runs `work` on a worker thread.
pub(super) fn blocking<T>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Promise<T>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    AsyncTask::new(Blocking { work: Some(Box::new(work)) })
}

impl<T> Task for Blocking<T>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    /// A failure counts as a result here: napi's error type has no field for the code.
    type Output = Result<T>;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<Result<T>> {
        Ok(guarded(|| self.work.take().ok_or_else(|| Failure::internal("the work was done before"))?()))
    }

    fn resolve(&mut self, env: Env, outcome: Result<T>) -> napi::Result<T> {
        guarded(|| outcome).map_err(|failure| JsError::from(failure).into_unknown(env).into())
    }
}
