//! A plan as JavaScript gets it: one array of numbers, in a single copy whatever their number, and the texts it puts in.
//! `lib/hook/plan.js` reads them back by the names that `contract.json` lists: the sizes and the schedule's arithmetic, then
//! the edits. Behind an edit stand as many ranges as it says: `text block, head, tail` of a cut each, or `first
//! line, line after the last, why they stay` where lines are kept, or the message that one is sent behind.

use napi::bindgen_prelude::Utf16String;
use napi_derive::napi;

use super::blocking::Numbers;
use crate::context::decide::Decision;
use crate::context::facts::traits::forms::Form;
use crate::context::facts::transcript::Transcript;
use crate::context::request::layers::keep::States;
use crate::context::request::layers::{Keeping, Limits};
use crate::context::request::plan::{Action, Edit};
use crate::contract::{ActionName, ArithmeticField, EditField, SizeField};

/// The plan for a request, and its reasons.
#[napi(object, object_from_js = false)]
pub struct Answer {
    /// Sizes, arithmetic and edits; not a number where there is none.
    #[napi(ts_type = "Float64Array")]
    pub numbers: Numbers,
    /// The texts that new edits put in: the shorter text of a tool result, or the handle where parts of it stay.
    #[napi(ts_type = "Array<string>")]
    pub texts: Vec<Utf16String>,
    /// The order in which the messages are sent, by index; empty where it is theirs.
    pub order: Vec<u32>,
    /// Of each edit of a dry run, the form of the call that its message answers; empty where none was read.
    pub forms: Vec<String>,
    /// Of a dry run, the tool results that stay whole as the newest state of something.
    pub kept: Vec<KeptState>,
}

/// A tool result that stays whole.
#[napi(object, object_from_js = false)]
pub struct KeptState {
    /// Its position.
    pub index: u32,
    /// The file or tool whose newest state it shows.
    pub name: String,
}

/// The last request of a conversation beside the next one.
#[derive(Default)]
pub(super) struct Last<'a> {
    /// Its edits whose texts JavaScript has.
    pub told: &'a [Edit],
    /// The first message that the next request sends otherwise.
    pub first_changed: Option<usize>,
}

/// The answer for `decision`, with an edit for each message if `by_message`.
pub(super) fn answer(
    decision: &Decision,
    transcript: &Transcript,
    last: &Last<'_>,
    by_message: bool,
) -> Answer {
    let Decision { plan, floor, estimate, arithmetic, is_refused, learned, is_news, limits } = decision;
    let each = if by_message { plan.by_message(transcript) } else { Vec::new() };
    let edits = if by_message { &each } else { &plan.edits };
    let moves: Vec<Edit> = plan.moves.iter().copied().map(Edit::of_move).collect();
    // A move goes before any other edit of its message.
    let mut edits: Vec<&Edit> = moves.iter().chain(edits).collect();
    edits.sort_by_key(|edit| edit.index);
    let flag = |is: bool| f64::from(u8::from(is));
    let sizes = SizeField::ALL.map(|field| match field {
        SizeField::TokensBefore => estimate.tokens(plan.before).round(),
        SizeField::TokensAfter => estimate.tokens(plan.after).round(),
        // The same after layer 4, or as layer 4 would leave it.
        SizeField::FloorTokens => estimate.tokens(*floor).round(),
        SizeField::Budget => limits.budget(),
        SizeField::Threshold => limits.threshold(),
        SizeField::Scale => estimate.scale,
        SizeField::IsRefused => flag(*is_refused),
        SizeField::LearnedWindow => learned.map_or(f64::NAN, |of| of.tokens.round()),
        SizeField::IsNews => flag(*is_news),
        SizeField::FirstChanged => last.first_changed.map_or(f64::NAN, |index| index as f64),
        SizeField::EditCount => edits.len() as f64,
    });
    let arithmetic = ArithmeticField::ALL.map(|field| {
        arithmetic.map_or(f64::NAN, |of| match field {
            ArithmeticField::Verdict => of.verdict as usize as f64,
            ArithmeticField::CacheCold => flag(of.is_cold),
            ArithmeticField::RemovableTokens => of.removable,
            ArithmeticField::CarriedCost => of.carried,
            ArithmeticField::RewriteCost => of.rewrite,
            ArithmeticField::PaybackCalls => of.payback_calls,
            ArithmeticField::Frontier => of.frontier as f64,
        })
    });
    let mut numbers = [&sizes[..], &arithmetic].concat();
    let (mut texts, mut told) = (Vec::new(), last.told.iter().peekable());
    for &edit in &edits {
        while told.next_if(|last| last.index < edit.index).is_some() {}
        let is_new = told.peek().is_none_or(|last| *last != edit);
        let before = texts.len();
        if is_new {
            texts.extend(text_of(edit, transcript));
        }
        encode(edit, estimate.scale, (is_new, texts.len() - before), &mut numbers);
    }
    let (mut forms, mut kept) = (Vec::new(), Vec::new());
    if by_message {
        forms.extend(edits.iter().map(|edit| form_of(edit.index, transcript)));
        kept = kept_states(transcript, limits, estimate.scale);
    }
    let order = if plan.moves.is_empty() { Vec::new() } else { transcript.sending_order() };
    let order = order.into_iter().map(|index| index as u32).collect();
    Answer { numbers: Numbers(numbers), texts, order, forms, kept }
}

/// The states that the ladder keeps, or the layers where the host asked for it.
fn kept_states(transcript: &Transcript, limits: &Limits, scale: f64) -> Vec<KeptState> {
    let is_reported = || transcript.messages().iter().any(|message| message.reported_tokens().is_some());
    if limits.keeping != Keeping::Layers && !is_reported() {
        return Vec::new();
    }
    let kept = States::in_transcript(transcript, limits, scale).kept.into_iter();
    kept.map(|of| KeptState { index: of.index as u32, name: of.name.into() }).collect()
}

/// The form of the call that the tool result at `index` answers.
fn form_of(index: usize, transcript: &Transcript) -> String {
    let result = transcript.get(index).filter(|message| message.tool_result().is_some());
    let call = result.and_then(|_| transcript.get(transcript.group_start(index)));
    let target = call.and_then(|call| call.traits.targets.get(transcript.call_position(index)));
    target.and_then(|target| target.form).map(Form::name).unwrap_or_default()
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
        Action::MoveAfter(index) => vec![[*index as f64, 0.0, 0.0]],
        _ => Vec::new(),
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
        Action::OmitImages => ActionName::OmitImages,
        Action::DropCalls => ActionName::DropCalls,
        Action::Drop => ActionName::Drop,
        Action::Truncate(_) => ActionName::Truncate,
        Action::MoveAfter(_) => ActionName::MoveAfter,
    }
}
