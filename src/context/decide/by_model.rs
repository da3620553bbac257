//! A table of values by model.

use crate::context::facts::transcript::Source;

/// Most models kept, the latest.
const MODELS: usize = 16;

/// A value for each model, in the order in which they last answered.
#[derive(Clone, Debug, Default)]
pub struct ByModel<T> {
    /// The model that answered last is the last.
    pub(super) entries: Vec<(Source, T)>,
}

impl<T: Default> ByModel<T> {
    /// Changes the value of a model and moves the model to the end.
    pub fn change<R>(&mut self, source: &Source, change: impl FnOnce(&mut T) -> R) -> R {
        let found = self.entries.iter().position(|(of, _)| of == source);
        let new = || (source.clone(), T::default());
        let mut entry = found.map_or_else(new, |at| self.entries.remove(at));
        let changed = change(&mut entry.1);
        self.entries.push(entry);
        self.entries.drain(..self.entries.len().saturating_sub(MODELS));
        changed
    }

    /// The value of a model.
    pub fn get(&self, source: &Source) -> Option<&T> {
        self.entries.iter().find(|(of, _)| of == source).map(|(_, known)| known)
    }
}
