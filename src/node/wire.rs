//! Writes a plan for JavaScript: JSON, and the texts that its edits insert, which may hold lone surrogates. An edit of the
//! last answer is sent as its position there. `lib/hook/plan.js` reads it.

use napi::bindgen_prelude::Utf16String;
use napi_derive::napi;
use serde_json::{Value, json};

use crate::context::decide::Decision;
use crate::context::decide::verdict::Arithmetic;
use crate::context::facts::traits::forms::Form;
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::plan::{Action, Edit, Plan};
use crate::contract::ActionName;

/// The plan for a request, and its reasons.
#[napi(object, object_from_js = false)]
pub struct Answer {
    /// JSON: sizes, the schedule's arithmetic, the edits, and the sending order by index, empty if no message moves. Null means
    /// none or infinite.
    pub plan: String,
    /// The texts that new edits insert: the short text of a tool result, or its handle if parts of it stay.
    #[napi(ts_type = "Array<string>")]
    pub texts: Vec<Utf16String>,
}

/// All edits of a plan by index. A move comes before any other edit of its message.
pub(super) fn edits_of(plan: &Plan) -> Vec<Edit> {
    let moves = plan.moves.iter().copied().map(Edit::of_move);
    let mut edits: Vec<Edit> = moves.chain(plan.edits.iter().cloned()).collect();
    edits.sort_by_key(|edit| edit.index);
    edits
}

/// The answer for a decision with these edits. `last` are edits of the last answer that may recur.
pub(super) fn answer(
    decision: &Decision,
    edits: &[Edit],
    transcript: &Transcript,
    last: &[Edit],
    first_changed: Option<usize>,
) -> Answer {
    let Decision { plan, floor, estimate, arithmetic, is_over, newly_learned, limits } = decision;
    let sticky = |of: fn(&Arithmetic) -> f64| arithmetic.as_ref().map_or(0.0, of);
    let (mut texts, mut known) = (Vec::new(), last.iter().enumerate().peekable());
    let edits: Vec<_> = edits
        .iter()
        .map(|edit| {
            while known.next_if(|(_, last)| last.index < edit.index).is_some() {}
            if let Some((at, _)) = known.next_if(|(_, last)| *last == edit) {
                return json!(at);
            }
            let text = text_of(edit, transcript);
            let described = described(edit, text.is_some());
            texts.extend(text);
            described
        })
        .collect();
    let mut order = if plan.moves.is_empty() { Vec::new() } else { transcript.sending_order() };
    order.retain(|&index| !plan.drops(index));
    let plan = json!({
        "tokensBefore": estimate.tokens(plan.before).round(),
        "tokensAfter": estimate.tokens(plan.after).round(),
        // The size that layer 4 leaves, or would leave.
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
        "edits": edits,
        "order": order,
    });
    Answer { plan: plan.to_string(), texts }
}

/// The form of the call that the tool result at `index` answers; empty where none was read.
pub(super) fn form_of(index: usize, transcript: &Transcript) -> String {
    let call = transcript.get(transcript.group_start(index));
    let target = call.and_then(|call| call.traits.targets.get(transcript.call_position(index)));
    let is_result = transcript.get(index).is_some_and(Message::is_tool_result);
    target.filter(|_| is_result).and_then(|target| target.form).map(Form::name).unwrap_or_default()
}

/// The text that an edit inserts; `None` if it only removes.
fn text_of(edit: &Edit, transcript: &Transcript) -> Option<Utf16String> {
    let result = transcript.get(edit.index)?.tool_result()?;
    let text = match edit.action {
        Action::Summarize => result.shortened.as_ref()?.text.to_vec(),
        Action::KeepLines(_) | Action::Truncate(_) => result.handle?.to_string().encode_utf16().collect(),
        _ => return None,
    };
    Some(Utf16String::from(text))
}

/// An edit by the positions in `contract.json`. `ranges` holds `text block, head, tail` of each cut, or `first line, end,
/// reason` of each kept run of lines, or the message after which a moved one is sent.
fn described(edit: &Edit, has_text: bool) -> Value {
    let ranges = match &edit.action {
        Action::Truncate(cuts) => {
            cuts.iter().map(|cut| json!([cut.text_block, cut.head.0, cut.tail.0])).collect()
        }
        Action::KeepLines(kept) => {
            kept.runs.iter().map(|(rows, why)| json!([rows.start, rows.end, *why as usize])).collect()
        }
        Action::MoveAfter(index) => json!([[index]]),
        _ => json!([]),
    };
    json!({
        "index": edit.index,
        "count": edit.count,
        "action": name_of(&edit.action) as usize,
        "layer": edit.layer as usize,
        "reason": edit.reason as usize,
        "cl100kSaved": edit.tokens_saved,
        "images": edit.images_out,
        "hasText": has_text,
        "ranges": ranges,
    })
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
