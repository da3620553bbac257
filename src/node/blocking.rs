//! Runs work on one of Node's worker threads: guarded, cancellable, and rejected with an error that carries a code.
//!
//! `blocking` takes long work as a closure. The closure checks the cancel flag between steps; a flag that was raised before
//! keeps it from starting.

use napi::bindgen_prelude::{AsyncTask, Float64ArraySlice, JsError, ToNapiValue, TypeName};
use napi::{Env, Error, Task, ValueType, sys};
use napi_derive::napi;

use super::failure::{Failure, Result};
use super::guarded::guarded;
use crate::cancel::Cancel;

/// The return value of an exported function that works on a worker thread: a promise in JavaScript.
pub(super) type Promise<T> = AsyncTask<Blocking<T>>;

type Work<T> = Box<dyn FnOnce(&Cancel) -> Result<T> + Send>;

/// A task for a worker thread.
pub struct Blocking<T> {
    work: Option<Work<T>>,
    cancel: Cancel,
    /// The failure until `reject`: napi's error type has no field for the code.
    failure: Option<Failure>,
}

/// Lets JavaScript cancel work. One flag may be passed to several tasks.
#[napi]
#[derive(Default)]
pub struct CancelFlag(Cancel);

#[napi]
impl CancelFlag {
    /// Creates a flag that is not raised.
    #[napi(constructor)]
    pub fn new() -> Result<Self> {
        guarded(|| Ok(Self::default()))
    }

    /// Raises the flag: the work rejects with `ERR_CANCELLED` at its next check.
    #[napi]
    pub fn cancel(&self) -> Result<()> {
        guarded(|| {
            self.0.cancel();
            Ok(())
        })
    }
}

/// Runs `work` on a worker thread. `flag` cancels it.
pub(super) fn blocking<T>(
    flag: Option<&CancelFlag>,
    work: impl FnOnce(&Cancel) -> Result<T> + Send + 'static,
) -> Promise<T>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    let cancel = flag.map(|flag| flag.0.clone()).unwrap_or_default();
    AsyncTask::new(Blocking { work: Some(Box::new(work)), cancel, failure: None })
}

impl<T> Task for Blocking<T>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        guarded(|| {
            self.cancel.check()?;
            let work = self.work.take().ok_or_else(|| Failure::internal("the work was done before"))?;
            work(&self.cancel)
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

/// Numbers that JavaScript receives as a `Float64Array`, in one copy.
pub struct Numbers(pub(super) Vec<f64>);

impl TypeName for Numbers {
    fn type_name() -> &'static str {
        "TypedArray"
    }

    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl ToNapiValue for Numbers {
    unsafe fn to_napi_value(env: sys::napi_env, numbers: Self) -> napi::Result<sys::napi_value> {
        guarded(|| {
            let scope = Env::from_raw(env);
            let array = Float64ArraySlice::copy_from(&scope, numbers.0)?;
            // SAFETY: napi calls this on its own thread with the live environment the array was just made in.
            Ok(unsafe { ToNapiValue::to_napi_value(env, array) }?)
        })
        .map_err(Error::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(work: impl FnOnce(&Cancel) -> Result<u32> + Send + 'static) -> Blocking<u32> {
        Blocking { work: Some(Box::new(work)), cancel: Cancel::default(), failure: None }
    }

    fn failure(task: &mut Blocking<u32>) -> String {
        assert!(task.compute().is_err());
        format!("{:?}", task.failure.take())
    }

    #[test]
    fn cancelled_work_stops_at_its_next_check_or_never_begins() {
        let mut waiting = task(|_| panic!("must not begin"));
        waiting.cancel.cancel();
        assert!(failure(&mut waiting).contains("ERR_CANCELLED"));
        let mut running = task(|cancel| {
            cancel.cancel();
            cancel.check()?;
            Ok(7)
        });
        assert!(failure(&mut running).contains("ERR_CANCELLED"));
    }
}
