//! A plan as JavaScript gets it: what it comes to by name, and its edits as one array of numbers, in a single copy whatever
//! their number. `lib/hook/plan.js` reads them back by the names that `contract.json` lists. Behind an edit stand as many ranges
//! as it says: `text block, head, tail` of a cut each, or `first line, line after the last, why they stay` where lines are kept.

use napi::bindgen_prelude::Utf16String;
use napi_derive::napi;

use super::blocking::Numbers;
use crate::context::layers::Limits;
use crate::context::plan::{Action, Edit};
use crate::context::schedule::{Decision, verdict};
use crate::context::transcript::Transcript;
use crate::contract::{ActionName, EditField};

/// The plan for a request, and its reasons.
#[napi(object, object_from_js = false)]
pub struct Answer {
    /// Estimated prompt tokens of the list as it came.
    pub tokens_before: f64,
    /// Estimated prompt tokens of what will be sent.
    pub tokens_after: f64,
    /// The same after layer 4, or as layer 4 would leave it.
    pub floor_tokens: f64,
    /// Tokens a request may have.
    pub budget: f64,
    /// Tokens above which the window slides.
    pub threshold: f64,
    /// Provider tokens per token counted.
    pub scale: f64,
    /// True if the last request was refused for its length.
    pub is_refused: bool,
    /// The arithmetic of the sticky schedule, if that decided.
    pub arithmetic: Option<Arithmetic>,
    /// The cache miss of the last call, if it is seen only now.
    pub miss: Option<Miss>,
    /// Number of edits.
    pub edit_count: u32,
    /// The edits.
    #[napi(ts_type = "Float64Array")]
    pub edits: Numbers,
    /// The texts that new edits put in: the shorter text of a tool result, or the handle where lines of it stay.
    #[napi(ts_type = "Array<string>")]
    pub texts: Vec<Utf16String>,
}

/// The arithmetic of the sticky schedule.
#[napi(object, object_from_js = false)]
pub struct Arithmetic {
    /// Why it moved or waits, in words.
    pub verdict: &'static str,
    /// True if nothing is left in the provider's cache.
    pub cache_cold: bool,
    /// Tokens a batch can be expected to remove.
    pub removable_tokens: f64,
    /// Paid so far for carrying them, in input tokens.
    pub carried_cost: f64,
    /// Cost of rewriting the rest, in input tokens.
    pub rewrite_cost: f64,
    /// Calls after which a batch has paid for itself.
    pub payback_calls: f64,
    /// Calls expected before the cache is lost anyway.
    pub expected_calls: f64,
    /// Position after the last edited message.
    pub frontier: f64,
}

/// A miss of the provider's cache.
#[napi(object, object_from_js = false)]
pub struct Miss {
    /// Why, in one word.
    pub cause: &'static str,
    /// Tokens that were not read.
    pub tokens: f64,
    /// Its cost; nothing without a price.
    pub dollars: Option<f64>,
}

impl From<verdict::Arithmetic> for Arithmetic {
    fn from(of: verdict::Arithmetic) -> Self {
        Self {
            verdict: of.verdict.as_str(),
            cache_cold: of.is_cold,
            removable_tokens: of.removable,
            carried_cost: of.carried,
            rewrite_cost: of.rewrite,
            payback_calls: of.payback_calls,
            expected_calls: of.expected_calls,
            frontier: of.frontier as f64,
        }
    }
}

/// The answer for `decision`, with an edit for each message if `by_message`. `told` is what the last answer said.
pub(super) fn answer(
    decision: &Decision,
    limits: &Limits,
    transcript: &Transcript,
    told: &[Edit],
    by_message: bool,
) -> Answer {
    let Decision { plan, floor, estimate, arithmetic, miss, is_refused } = decision;
    let each = if by_message { plan.by_message(transcript) } else { Vec::new() };
    let edits = if by_message { &each } else { &plan.edits };
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    let mut told = told.iter().peekable();
    for edit in edits {
        while told.next_if(|last| last.index < edit.index).is_some() {}
        let is_new = told.peek().is_none_or(|last| *last != edit);
        let before = texts.len();
        if is_new {
            texts.extend(text_of(edit, transcript));
        }
        encode(edit, estimate.scale, (is_new, texts.len() - before), &mut numbers);
    }
    Answer {
        tokens_before: estimate.tokens(plan.before).round(),
        tokens_after: estimate.tokens(plan.after).round(),
        floor_tokens: estimate.tokens(*floor).round(),
        budget: limits.budget(),
        threshold: limits.threshold(),
        scale: estimate.scale,
        is_refused: *is_refused,
        arithmetic: arithmetic.map(Into::into),
        miss: miss.map(|miss| Miss {
            cause: miss.cause.as_str(),
            tokens: miss.tokens.round(),
            dollars: miss.dollars,
        }),
        edit_count: edits.len() as u32,
        edits: Numbers(numbers),
        texts,
    }
}

/// The text that an edit puts in; nothing where it only takes out.
fn text_of(edit: &Edit, transcript: &Transcript) -> Option<Utf16String> {
    let result = transcript.get(edit.index)?.tool_result()?;
    let text = match edit.action {
        Action::Summarize => result.shortened.as_ref()?.text.to_vec(),
        Action::KeepLines(_) => result.handle?.to_string().encode_utf16().collect(),
        _ => return None,
    };
    Some(Utf16String::from(text))
}

/// `scale` is the estimate's: what an edit saves is told in the unit of the prompt's sizes.
fn encode(edit: &Edit, scale: f64, (is_new, texts): (bool, usize), numbers: &mut Vec<f64>) {
    let ranges: Vec<[f64; 3]> = match &edit.action {
        Action::Truncate(cuts) => {
            let cuts = cuts.iter().map(|cut| [cut.text_block as f64, cut.head.0 as f64, cut.tail.0 as f64]);
            cuts.collect()
        }
        Action::KeepLines(kept) => {
            let runs = kept.rows.iter().zip(&kept.keeps);
            runs.map(|(rows, why)| [f64::from(rows.start), f64::from(rows.end), *why as usize as f64])
                .collect()
        }
        Action::Summarize
        | Action::StripThinking
        | Action::ClearInputs
        | Action::OmitImages
        | Action::Drop => Vec::new(),
    };
    numbers.extend(EditField::ALL.map(|field| match field {
        EditField::Index => edit.index as f64,
        EditField::Action => name_of(&edit.action) as usize as f64,
        EditField::Layer => edit.layer as usize as f64,
        EditField::Reason => edit.reason as usize as f64,
        EditField::TokensSaved => (edit.tokens_saved as f64 * scale).round(),
        EditField::Count => edit.count as f64,
        EditField::Images => f64::from(edit.images_out),
        EditField::IsNew => f64::from(u8::from(is_new)),
        EditField::Texts => texts as f64,
        EditField::Ranges => ranges.len() as f64,
    }));
    numbers.extend(ranges.iter().flatten());
}

const fn name_of(action: &Action) -> ActionName {
    match action {
        Action::Summarize => ActionName::Summarize,
        Action::KeepLines(_) => ActionName::KeepLines,
        Action::StripThinking => ActionName::StripThinking,
        Action::ClearInputs => ActionName::ClearInputs,
        Action::OmitImages => ActionName::OmitImages,
        Action::Drop => ActionName::Drop,
        Action::Truncate(_) => ActionName::Truncate,
    }
}
