//! Finds the calls at which the hook was at work: a transcript does not say, but the sizes that were reported do.
//!
//! The next prompt is smaller by just what the hook would have taken out, or it is not.

use super::Call;

/// A difference of fewer tokens, or of less than this share of the prompt, tells nothing.
const TELLING_TOKENS: f64 = 100.0;
const TELLING_SHARE: f64 = 0.005;

/// For each call, whether what the hook would have sent was sent. Calls that tell nothing are taken for what the next
/// one tells, then for what the last one told; where none does, the hook is taken to have been there.
pub(super) fn presence(calls: &[Call]) -> Vec<bool> {
    let mut told: Vec<Option<bool>> = Vec::with_capacity(calls.len());
    let mut last: Option<(&Call, Option<bool>)> = None;
    for call in calls {
        let before = last.and_then(|(_, told)| told);
        if call.is_comparable() {
            let comparable = last.filter(|(last, _)| last.source == call.source && call.nth > 0);
            let tells = comparable.and_then(|(last, told)| compare(last, told, call)).or(before);
            last = Some((call, tells));
        }
        told.push(last.and_then(|(_, told)| told));
    }
    let mut next = told.iter().rev().flatten().next().copied().unwrap_or(true);
    for known in told.iter_mut().rev() {
        next = known.unwrap_or(next);
        *known = Some(next);
    }
    told.into_iter().map(|known| known.unwrap_or(true)).collect()
}

/// Compares the step from one report to the next with what the hook would have done; `was` is what is known of the first.
fn compare(last: &Call, was: Option<bool>, call: &Call) -> Option<bool> {
    let (before, now) = (last.played.sight.prompt?, call.played.sight.prompt?);
    let telling = TELLING_TOKENS.max(TELLING_SHARE * now);
    if call.taken().abs() < telling {
        return None;
    }
    let tokens = |size| call.played.request.estimate.tokens(size);
    let miss = |is_edited: bool| {
        let from = tokens(last.size(was.unwrap_or(is_edited)));
        (before + (tokens(call.size(is_edited)) - from) - now).abs()
    };
    let (edited, raw) = (miss(true), miss(false));
    ((edited - raw).abs() > telling).then_some(edited < raw)
}
