//! A plan as one flat array of numbers, which `lib/hook/plan.js` reads back: a single copy, whatever its size.
//!
//! Layout: the header with the schedule's account, then per edit `index, action, layer, reason, tokens saved, number of cuts, number of messages, images left out`, each cut as
//! `text block, head, tail`, or as `first line, line after the last, why they stay` where lines are kept.

use crate::context::plan::{Action, Edit, Plan};
use crate::context::schedule::cache_watch::Miss;
use crate::context::schedule::verdict::Arithmetic;
use crate::contract::ActionName;

/// What stands before the edits.
pub(super) struct Header {
    /// Estimated prompt tokens of the transcript as it came.
    pub(super) tokens_before: f64,
    /// Estimated prompt tokens of what will be sent.
    pub(super) tokens_after: f64,
    /// What layer 4 makes of that, or would make of it.
    pub(super) tokens_at_least: f64,
    /// Tokens a request may have.
    pub(super) budget: f64,
    /// Tokens above which the window slides.
    pub(super) threshold: f64,
    /// Provider tokens per cl100k token.
    pub(super) scale: f64,
    /// The arithmetic of the sticky schedule, if that decided.
    pub(super) arithmetic: Option<Arithmetic>,
    /// What the last call missed of the provider's cache, if that is seen only now.
    pub(super) miss: Option<Miss>,
}

/// Stands for the verdict where the layers were recomputed, and for the cause where nothing was missed.
const NO_VERDICT: f64 = -1.0;

/// The plan and what else the boundary must know, as numbers. Of a long conversation most is dropped, so messages dropped
/// side by side by one rule are one edit, unless `by_message`.
pub(super) fn encode(header: &Header, plan: &Plan, by_message: bool) -> Vec<f64> {
    let runs: Vec<&[Edit]> = plan.edits.chunk_by(|a, b| !by_message && is_one_run(a, b)).collect();
    let mut numbers = vec![
        header.tokens_before.round(),
        header.tokens_after.round(),
        header.tokens_at_least.round(),
        header.budget,
        header.threshold,
        header.scale,
        runs.len() as f64,
    ];
    numbers.extend(header.arithmetic.map_or([NO_VERDICT, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], |of| {
        [
            f64::from(of.verdict as u8),
            f64::from(u8::from(of.is_cold)),
            of.removable,
            of.carried,
            of.rewrite,
            of.payback_calls,
            of.expected_calls,
            of.frontier as f64,
        ]
    }));
    numbers.extend(header.miss.map_or([NO_VERDICT, 0.0, 0.0], |miss| {
        [f64::from(miss.cause as u8), miss.tokens.round(), miss.dollars.unwrap_or(f64::NAN)]
    }));
    for run in runs {
        encode_run(run, header.scale, &mut numbers);
    }
    numbers
}

fn is_one_run(edit: &Edit, next: &Edit) -> bool {
    let is_drop = edit.action == Action::Drop && next.action == Action::Drop;
    is_drop && next.index == edit.index + 1 && next.layer == edit.layer && next.reason == edit.reason
}

/// `scale` is the estimate's: what an edit saves is told in the unit of the prompt's sizes.
fn encode_run(run: &[Edit], scale: f64, numbers: &mut Vec<f64>) {
    let Some(edit) = run.first() else { return };
    let tokens_saved: usize = run.iter().map(|edit| edit.tokens_saved).sum();
    let cuts: Vec<[f64; 3]> = match &edit.action {
        Action::Truncate(cuts) => {
            let cuts = cuts.iter().map(|cut| [cut.text_block as f64, cut.head.0 as f64, cut.tail.0 as f64]);
            cuts.collect()
        }
        Action::KeepLines(kept) => {
            let runs = kept.rows.iter().zip(&kept.keeps);
            runs.map(|(rows, why)| [f64::from(rows.start), f64::from(rows.end), f64::from(*why as u8)])
                .collect()
        }
        Action::Summarize | Action::StripThinking | Action::OmitImages | Action::Drop => Vec::new(),
    };
    numbers.extend([
        edit.index as f64,
        f64::from(name_of(&edit.action) as u8),
        f64::from(edit.layer as u8),
        f64::from(edit.reason as u8),
        (tokens_saved as f64 * scale).round(),
        cuts.len() as f64,
        run.len() as f64,
        f64::from(edit.images_out),
    ]);
    for cut in cuts {
        numbers.extend(cut);
    }
}

const fn name_of(action: &Action) -> ActionName {
    match action {
        Action::Summarize => ActionName::Summarize,
        Action::KeepLines(_) => ActionName::KeepLines,
        Action::StripThinking => ActionName::StripThinking,
        Action::OmitImages => ActionName::OmitImages,
        Action::Drop => ActionName::Drop,
        Action::Truncate(_) => ActionName::Truncate,
    }
}
