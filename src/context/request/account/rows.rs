//! The rows of an account, in chunks that copies of it share: an account is copied for a fork, and to see what
//! layer 4 would leave. Few rows of a long transcript differ then.

use std::sync::Arc;

use super::row::Row;

/// Rows of a chunk: what the first change of one of them copies.
const CHUNK: usize = 64;

/// A list that is cheap to copy. Whoever changes a row gets a chunk of its own.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// All but the last are full.
    chunks: Vec<Arc<Vec<Row>>>,
    len: usize,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The row at `index`.
    pub fn get(&self, index: usize) -> Option<&Row> {
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    /// The newest row.
    pub fn last(&self) -> Option<&Row> {
        self.chunks.last()?.last()
    }

    /// Those from `start` on, with their positions.
    pub fn since(&self, start: usize) -> impl DoubleEndedIterator<Item = (usize, &Row)> {
        (start..self.len).filter_map(|index| Some((index, self.get(index)?)))
    }

    /// All, with their positions, the newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = (usize, &Row)> {
        self.since(0).rev()
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Row> {
        Arc::make_mut(self.chunks.get_mut(index / CHUNK)?).get_mut(index % CHUNK)
    }

    pub(super) fn push(&mut self, row: Row) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Arc::new(Vec::with_capacity(CHUNK)));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            Arc::make_mut(chunk).push(row);
        }
        self.len += 1;
    }
}
