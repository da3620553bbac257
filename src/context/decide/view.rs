//! Counts the visible copies of each piece during a batch, and computes the loss of a message.

use super::index::CoverageIndex;
use crate::context::request::account::Account;

/// The visible copies of each piece, during a batch.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The index of the pieces.
    pub index: &'a CoverageIndex,
    copies: Vec<u32>,
    /// Number of next answers whose uses count.
    ahead: f64,
}

impl<'a> View<'a> {
    /// A view of what `account` sends. Uses count in the next `ahead` answers.
    pub fn of(index: &'a CoverageIndex, account: &Account, ahead: f64) -> Self {
        let mut view = Self { index, copies: vec![0; index.len()], ahead };
        for (row, pieces) in account.live().filter_map(|at| account.row(at).zip(index.message(at))) {
            view.show(&pieces.shown(row));
        }
        view
    }

    /// Adds a message that shows `ids`.
    pub fn show(&mut self, ids: &[u32]) {
        for &id in ids {
            self.copies.get_mut(id as usize).into_iter().for_each(|copies| *copies += 1);
        }
    }

    /// Removes a message that shows `ids`.
    pub fn hide(&mut self, ids: &[u32]) {
        for &id in ids {
            let copies = self.copies.get_mut(id as usize).into_iter();
            copies.for_each(|copies| *copies = copies.saturating_sub(1));
        }
    }

    /// Expected uses lost if `gone` messages no longer show `id`: 0 while another one does.
    pub fn loss(&self, id: u32, gone: u32) -> f64 {
        let is_last = self.copies.get(id as usize).is_some_and(|&copies| copies <= gone);
        if is_last { self.index.expected_uses(id, self.ahead) } else { 0.0 }
    }

    /// Sum of the losses of `ids`. An id occurs once for each message that no longer shows it.
    pub fn loss_of_all(&self, mut ids: Vec<u32>) -> f64 {
        ids.sort_unstable();
        let runs = ids.chunk_by(|a, b| a == b);
        runs.filter_map(|run| Some(self.loss(*run.first()?, run.len() as u32))).sum()
    }
}
