//! Recomputes the layers at each call: the request follows from the transcript alone.
//!
//! Continuing from the last call gives the same request as starting over.

use super::calibration::Calibration;
use crate::context::request::account::Account;
use crate::context::request::layers::keep::States;
use crate::context::request::layers::shrink::{Goals, shrink};
use crate::context::request::layers::window::Window;
use crate::context::request::layers::{Limits, Overflow, images, thinking, tool_results};
use crate::context::request::validity::strip_unbound;

/// The progress of the layers over a growing transcript.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    window: Window,
    /// Number of tool results and of messages with thinking that layers 1 and 2 have passed.
    results_done: usize,
    thinkers_done: usize,
    /// Old results that layer 1 shortens later: recalled ones stay whole for the open turn, kept states while they are newest.
    waiting: Vec<usize>,
}

impl Layers {
    /// Updates the account for the next call. Layer 4's edits are undone before the next call.
    pub(super) fn settle(&mut self, account: &mut Account, limits: &Limits, calibration: &Calibration) {
        let estimate = calibration.estimate();
        let old = tool_results::old(account, limits);
        self.waiting.extend(old.iter().skip(self.results_done));
        self.results_done = old.len();
        let states = States::asked_for(account, limits, estimate.scale);
        let (waiting, due): (Vec<usize>, Vec<usize>) =
            self.waiting.iter().partition(|&&index| account.is_recalled_now(index) || states.keeps(index));
        self.waiting = waiting;
        for index in due {
            tool_results::shorten(account, index);
        }
        images::omit_old(account, limits);
        let (end, step) = (thinking::old_before(account, limits), thinking::step_under_way(account));
        while let Some(&index) = account.thinkers().get(self.thinkers_done)
            && index < end
            && Some(index) != step
        {
            if thinking::is_strippable(account, index, step) {
                thinking::strip(account, index);
            }
            self.thinkers_done += 1;
        }
        self.window.slide(account, limits, &estimate);
        strip_unbound(account);
        account.begin_trial();
        images::fit(account, limits);
        if limits.overflow == Overflow::Shrink {
            shrink_to_fit(account, limits, calibration);
            // Undoing the edits counts as a change, so the next call strips this for good.
            strip_unbound(account);
        }
    }
}

/// Applies layer 4 with the least losses, if the request does not fit.
pub(super) fn shrink_to_fit(account: &mut Account, limits: &Limits, calibration: &Calibration) {
    if !fits(account, limits, calibration) {
        let (room, estimate) = (calibration.room_within(limits), calibration.estimate());
        let goals = Goals::least(room.unwrap_or_else(|| limits.budget()));
        let most = room.unwrap_or_else(|| limits.most_words());
        shrink(account, &estimate, Goals { most, ..goals });
    }
}

/// Returns `true` if the request fits.
pub(super) fn fits(account: &Account, limits: &Limits, calibration: &Calibration) -> bool {
    let budget = calibration.room_within(limits).unwrap_or_else(|| limits.budget());
    calibration.estimate().tokens(account.sent()) <= budget
}
