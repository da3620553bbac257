//! A plan as JavaScript gets it: its sizes as JSON, its edits as one array of numbers, in a single copy whatever their number, and
//! the texts that they put in. `lib/hook/plan.js` reads the numbers of an edit by the names that `contract.json` lists. An edit of
//! the last answer is its position there. Before a new one stands -1, and behind it as many ranges as it says: `text block, head,
//! tail` of a cut each, or `first line, line after the last, why they stay` where lines are kept, or the message that one is sent
//! behind.

use napi::bindgen_prelude::Utf16String;
use napi_derive::napi;
use serde_json::json;

use super::blocking::Numbers;
use crate::context::decide::Decision;
use crate::context::decide::verdict::Arithmetic;
use crate::context::facts::traits::forms::Form;
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::plan::{Action, Edit, Plan};
use crate::contract::{ActionName, EditField};

/// Stands before the numbers of an edit that the last answer did not have.
const NEW_EDIT: f64 = -1.0;

/// The plan for a request, and its reasons.
#[napi(object, object_from_js = false)]
pub struct Answer {
    /// Sizes and the schedule's arithmetic, as JSON; null stands for none, and for an infinite number.
    pub sizes: String,
    /// The edits.
    #[napi(ts_type = "Float64Array")]
    pub edits: Numbers,
    /// The texts that new edits put in: the shorter text of a tool result, or the handle where parts of it stay.
    #[napi(ts_type = "Array<string>")]
    pub texts: Vec<Utf16String>,
    /// What is sent by index, in order; empty where nothing is moved.
    pub order: Vec<u32>,
}

/// All edits of a plan by index. A move goes before any other edit of its message.
pub(super) fn edits_of(plan: &Plan) -> Vec<Edit> {
    let moves = plan.moves.iter().copied().map(Edit::of_move);
    let mut edits: Vec<Edit> = moves.chain(plan.edits.iter().cloned()).collect();
    edits.sort_by_key(|edit| edit.index);
    edits
}

/// The answer for a decision with these edits. `told` are those of the last answer that may be among them.
pub(super) fn answer(
    decision: &Decision,
    edits: &[Edit],
    transcript: &Transcript,
    told: &[Edit],
    first_changed: Option<usize>,
) -> Answer {
    let Decision { plan, floor, estimate, arithmetic, is_over, newly_learned, limits } = decision;
    let after = estimate.tokens(plan.after).round();
    let sticky = |of: fn(&Arithmetic) -> f64| arithmetic.as_ref().map_or(0.0, of);
    let sizes = json!({
        "tokensBefore": estimate.tokens(plan.before).round(),
        "tokensAfter": after,
        // The same after layer 4, or as layer 4 would leave it.
        "floorTokens": estimate.tokens(*floor).round(),
        "threshold": limits.threshold(),
        "scale": estimate.scale,
        "contextWindow": limits.context_window,
        "learnedWindow": newly_learned.map(|of| of.tokens),
        "isOver": is_over,
        "firstChanged": first_changed,
        "verdict": arithmetic.map(|of| of.verdict as usize),
        "arithmetic": {
            "cacheCold": arithmetic.is_some_and(|of| of.is_cold),
            "removableTokens": sticky(|of| of.removable),
            "carriedCost": sticky(|of| of.carried),
            "rewriteCost": sticky(|of| of.rewrite),
            "paybackCalls": sticky(|of| of.payback_calls),
            "frontier": if arithmetic.is_some() { plan.edits.last().map_or(0, Edit::end) } else { 0 },
        },
    });
    let mut numbers = Vec::new();
    let (mut texts, mut told) = (Vec::new(), told.iter().enumerate().peekable());
    for edit in edits {
        while told.next_if(|(_, last)| last.index < edit.index).is_some() {}
        if let Some((known, _)) = told.next_if(|(_, last)| *last == edit) {
            numbers.push(known as f64);
        } else {
            let text = text_of(edit, transcript);
            numbers.push(NEW_EDIT);
            encode(edit, text.is_some(), &mut numbers);
            texts.extend(text);
        }
    }
    let mut order = if plan.moves.is_empty() { Vec::new() } else { transcript.sending_order() };
    order.retain(|&index| !plan.drops(index));
    let order = order.into_iter().map(|index| index as u32).collect();
    Answer { sizes: sizes.to_string(), edits: Numbers(numbers), texts, order }
}

/// The form of the call that the tool result at `index` answers; empty where none was read.
pub(super) fn form_of(index: usize, transcript: &Transcript) -> String {
    let call = transcript.get(transcript.group_start(index));
    let target = call.and_then(|call| call.traits.targets.get(transcript.call_position(index)));
    let is_result = transcript.get(index).is_some_and(Message::is_tool_result);
    target.filter(|_| is_result).and_then(|target| target.form).map(Form::name).unwrap_or_default()
}

/// The text that an edit puts in; nothing where it only takes out.
fn text_of(edit: &Edit, transcript: &Transcript) -> Option<Utf16String> {
    let result = transcript.get(edit.index)?.tool_result()?;
    let text = match edit.action {
        Action::Summarize => result.shortened.as_ref()?.text.to_vec(),
        Action::KeepLines(_) | Action::Truncate(_) => result.handle?.to_string().encode_utf16().collect(),
        _ => return None,
    };
    Some(Utf16String::from(text))
}

fn encode(edit: &Edit, has_text: bool, numbers: &mut Vec<f64>) {
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
        Action::MoveAfter(index) => vec![[*index as f64, 0.0, 0.0]],
        _ => Vec::new(),
    };
    numbers.extend(EditField::ALL.map(|field| match field {
        EditField::Index => edit.index as f64,
        EditField::Action => name_of(&edit.action) as usize as f64,
        EditField::Layer => edit.layer as usize as f64,
        EditField::Reason => edit.reason as usize as f64,
        EditField::Cl100kSaved => edit.tokens_saved as f64,
        EditField::Count => edit.count as f64,
        EditField::Images => f64::from(edit.images_out),
        EditField::HasText => f64::from(u8::from(has_text)),
        EditField::Ranges => ranges.len() as f64,
    }));
    numbers.extend(ranges.iter().flatten());
}

const fn name_of(action: &Action) -> ActionName {
    match action {
        Action::Summarize => ActionName::Summarize,
        Action::KeepLines(_) => ActionName::KeepLines,
        Action::StripThinking => ActionName::StripThinking,
        Action::OmitImages => ActionName::OmitImages,
        Action::DropCalls => ActionName::DropCalls,
        Action::Drop => ActionName::Drop,
        Action::Truncate(_) => ActionName::Truncate,
        Action::MoveAfter(_) => ActionName::MoveAfter,
    }
}
