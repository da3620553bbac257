//! A table by model.

use crate::context::facts::transcript::Source;

/// Models that are remembered, the latest.
const MODELS: usize = 16;

/// What is known of each model. The one that answered last is the last.
#[derive(Clone, Debug, Default)]
pub struct ByModel<T> {
    entries: Vec<(Source, T)>,
}

impl<T: Default> ByModel<T> {
    /// Changes what is known of a model, which is the last one from now on.
    pub fn change<R>(&mut self, source: &Source, change: impl FnOnce(&mut T) -> R) -> R {
        let found = self.entries.iter().position(|(of, _)| of == source);
        let new = || (source.clone(), T::default());
        let mut entry = found.map_or_else(new, |at| self.entries.remove(at));
        let changed = change(&mut entry.1);
        self.entries.push(entry);
        self.entries.drain(..self.entries.len().saturating_sub(MODELS));
        changed
    }

    /// What is known of a model.
    #[must_use]
    pub fn get(&self, source: &Source) -> Option<&T> {
        self.entries.iter().find(|(of, _)| of == source).map(|(_, known)| known)
    }

    /// The model that answered last.
    #[must_use]
    pub fn last(&self) -> Option<(&Source, &T)> {
        self.entries.last().map(|(source, known)| (source, known))
    }

    /// What is known of all models.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.entries.iter().map(|(_, known)| known)
    }

    /// The same, to change it.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().map(|(_, known)| known)
    }
}
