//! What holds for every plan: checks of one conversation and what became of it.

use pi_strata::context::account::Account;
use pi_strata::context::cuts::{MIN_CUT_TOKENS, cut_marker};
use pi_strata::context::layers::{Limits, Overflow};
use pi_strata::context::plan::{Action, Layer, Plan, Reason};
use pi_strata::context::schedule::Mode;
use pi_strata::context::validity::{Family, Rule};
use pi_strata::text::{Utf16Len, has_lone_surrogate, is_blank};
use pi_strata::tokens;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::generator::Conversation;
use crate::model::{Block, Message, Role, most_miscounted, plan, problems, run, tokens, transcript};
use crate::{limits, mode, without_origins};

/// A conversation and what became of it.
pub(crate) struct Case {
    api: &'static str,
    messages: Vec<Message>,
    limits: Limits,
    mode: Mode,
    plan: Plan,
    output: Vec<(usize, Message)>,
}

impl Case {
    pub(crate) fn of(Conversation { api, messages }: Conversation, seed: u64) -> Self {
        let (limits, mode) = (limits(seed), mode(seed));
        let (plan, output) = run(&messages, &limits, mode);
        Self { api, messages, limits, mode, plan, output }
    }
}

pub(crate) const OF_EVERY_PLAN: &[fn(&Case) -> TestCaseResult] = &[
    no_orphan_leaves_whatever_came_in,
    nothing_new_breaks_in_a_broken_transcript,
    the_output_is_a_subsequence_with_the_allowed_edits_only,
    system_messages_and_the_first_and_the_last_user_stay,
    the_tokens_said_are_the_tokens_there,
    it_fits_or_nothing_is_left_to_take,
    the_same_input_gives_the_same_plan,
    edits_name_their_layer,
];

pub(crate) const OF_SOUND_ONES: &[fn(&Case) -> TestCaseResult] = &[
    generated_conversations_are_sound_without_noise,
    a_valid_transcript_stays_valid,
    no_text_is_emptied_and_no_surrogate_pair_split,
    bound_thinking_stays,
];

fn no_orphan_leaves_whatever_came_in(case: &Case) -> TestCaseResult {
    let Case { output, .. } = case;
    let left = problems(&without_origins(output), Family::Any);
    let is_orphan = |rule| matches!(rule, Rule::OrphanResult | Rule::LateResult | Rule::DuplicateResult);
    prop_assert!(!left.iter().any(|problem| is_orphan(problem.rule)), "{left:?}");
    Ok(())
}

fn nothing_new_breaks_in_a_broken_transcript(case: &Case) -> TestCaseResult {
    let Case { api, messages, output, .. } = case;
    let family = Family::of(api);
    let before: Vec<_> = problems(messages, family).iter().map(|problem| problem.rule).collect();
    let after: Vec<_> = problems(&without_origins(output), family).iter().map(|p| p.rule).collect();
    // A transcript that opens with orphans opens with something else once they are gone.
    let opens_broken = |rule: &Rule| *rule == Rule::StartsWithReply || *rule == Rule::CallAfterReply;
    let is_new = |rule: &Rule| !before.contains(rule) && (!opens_broken(rule) || before.is_empty());
    prop_assert_eq!(after.into_iter().filter(is_new).collect::<Vec<_>>(), []);
    Ok(())
}

fn the_output_is_a_subsequence_with_the_allowed_edits_only(case: &Case) -> TestCaseResult {
    let Case { messages, limits, plan, output, .. } = case;
    let moved = |index: usize| plan.moves.iter().any(|step| step.index == index);
    prop_assert!(output.iter().filter(|(index, _)| !moved(*index)).is_sorted_by(|a, b| a.0 < b.0));
    let kept: Vec<usize> =
        (0..messages.len()).filter(|&at| output.iter().any(|(index, _)| *index == at)).collect();
    prop_assert_eq!(kept.len(), output.len());
    for (index, message) in output {
        let original = &messages[*index];
        prop_assert_eq!(&message.role, &original.role);
        if message == original {
            continue;
        }
        let edit = plan.edits.iter().find(|edit| edit.index == *index);
        let is_cut = edit.is_some_and(|edit| matches!(edit.action, Action::Truncate(_)));
        let loses_images = edit.is_some_and(|edit| edit.images_out > 0);
        prop_assert!(!is_cut || limits.overflow == Overflow::Shrink);
        let same_but = |ignored: fn(&Block) -> bool| {
            let rest = |message: &Message| -> Vec<Block> {
                message.without_repeated_calls().into_iter().filter(|block| !ignored(block)).collect()
            };
            rest(message) == rest(original)
        };
        match original.role {
            Role::ToolResult { .. } => {
                prop_assert!(same_but(|block| matches!(block, Block::Text(_) | Block::Image)));
            }
            Role::Assistant { .. } => {
                prop_assert!(same_but(is_thinking));
                let is_repaired = message.blocks == original.without_repeated_calls();
                prop_assert!(is_repaired || !message.blocks.iter().any(is_thinking));
            }
            Role::User | Role::Custom | Role::Other => {
                prop_assert!(is_cut || loses_images);
                prop_assert!(same_but(|block| matches!(block, Block::Text(_) | Block::Image)));
                prop_assert!(loses_images || images(message) == images(original));
                prop_assert!(is_cut || original.texts().all(|text| message.texts().any(|left| left == text)));
            }
            Role::System | Role::Summary => prop_assert!(false, "edited a system message or a summary"),
        }
    }
    Ok(())
}

fn system_messages_and_the_first_and_the_last_user_stay(case: &Case) -> TestCaseResult {
    let Case { messages, output, .. } = case;
    let is_kept = |index: usize| output.iter().any(|(at, _)| *at == index);
    let users: Vec<usize> = (0..messages.len()).filter(|&at| messages[at].role == Role::User).collect();
    for index in (0..messages.len()).filter(|&at| messages[at].role == Role::System) {
        prop_assert!(is_kept(index));
    }
    prop_assert!(users.first().is_none_or(|&at| is_kept(at)) && users.last().is_none_or(|&at| is_kept(at)));
    Ok(())
}

fn the_tokens_said_are_the_tokens_there(case: &Case) -> TestCaseResult {
    let Case { messages, plan, output, .. } = case;
    prop_assert_eq!(plan.before.cl100k, tokens(messages));
    let (there, (less, more)) = (tokens(&without_origins(output)), most_miscounted(plan));
    prop_assert!((there.saturating_sub(less)..=there + more).contains(&plan.after.cl100k));
    prop_assert!(plan.after.cl100k <= plan.before.cl100k);
    let saved: usize = plan.edits.iter().map(|edit| edit.tokens_saved).sum();
    prop_assert_eq!(plan.before.cl100k - saved, plan.after.cl100k);
    Ok(())
}

fn it_fits_or_nothing_is_left_to_take(case: &Case) -> TestCaseResult {
    let Case { messages, limits, plan, output, .. } = case;
    if plan.after.cl100k as f64 <= limits.budget() || limits.overflow == Overflow::Keep {
        return Ok(());
    }
    let account = Account::of(&transcript(messages));
    let least = MIN_CUT_TOKENS as usize;
    let floor = least.max(tokens::count_utf16(&cut_marker(Utf16Len(1_000_000))));
    for (index, message) in output {
        let group = account.row(*index).map_or(0, |row| row.group);
        let is_irreducible = account.is_protected(*index) || group >= account.last_group();
        prop_assert!(is_irreducible, "message {index} could go");
        let may_be_cut =
            message.is_result() || matches!(message.role, Role::User | Role::Custom | Role::Other);
        if !message.is_sent || !may_be_cut {
            continue;
        }
        // A summary may be shorter than each block cut by itself, and a cut may not make a text longer.
        let blocks = messages[*index].texts().count();
        let long = message.texts().filter(|text| text.0.len() > least);
        let words: usize = long.map(|text| tokens::count_utf16(&text.0)).sum();
        prop_assert!(words <= floor * blocks, "the texts of message {index} could be cut");
    }
    Ok(())
}

fn the_same_input_gives_the_same_plan(case: &Case) -> TestCaseResult {
    let again = plan(&case.messages, &case.limits, case.mode);
    prop_assert_eq!(&again.edits, &case.plan.edits);
    Ok(())
}

fn edits_name_their_layer(case: &Case) -> TestCaseResult {
    let Case { plan, .. } = case;
    prop_assert!(plan.edits.is_sorted_by(|a, b| a.index < b.index));
    for edit in &plan.edits {
        let allowed = match edit.layer {
            Layer::Repair => matches!(edit.action, Action::Drop | Action::DropCalls),
            Layer::Window => edit.action == Action::Drop,
            Layer::ToolResults => {
                matches!(edit.action, Action::Summarize | Action::KeepLines(_) | Action::OmitImages)
            }
            Layer::Thinking => edit.action == Action::StripThinking,
            Layer::Shrink => edit.action != Action::StripThinking,
        };
        prop_assert!(allowed && Reason::ALL.contains(&edit.reason), "{edit:?}");
    }
    Ok(())
}

fn generated_conversations_are_sound_without_noise(case: &Case) -> TestCaseResult {
    let Case { api, messages, .. } = case;
    prop_assert_eq!(problems(messages, Family::of(api)), []);
    Ok(())
}

fn a_valid_transcript_stays_valid(case: &Case) -> TestCaseResult {
    let Case { api, output, .. } = case;
    prop_assert_eq!(problems(&without_origins(output), Family::of(api)), []);
    Ok(())
}

fn no_text_is_emptied_and_no_surrogate_pair_split(case: &Case) -> TestCaseResult {
    let Case { messages, output, .. } = case;
    for (index, message) in output.iter().filter(|(index, message)| *message != messages[*index]) {
        prop_assert!(!message.blocks.is_empty());
        for text in message.texts() {
            prop_assert!(!is_blank(&text.0) && !has_lone_surrogate(&text.0), "message {index}");
        }
    }
    Ok(())
}

fn bound_thinking_stays(case: &Case) -> TestCaseResult {
    let Case { api, messages, output, .. } = case;
    let thinks = |message: &Message| message.blocks.iter().any(is_thinking);
    let calls = |message: &Message| message.blocks.iter().any(|block| matches!(block, Block::Call { .. }));
    let is_field = |block: &Block| matches!(block, Block::Thinking { signature, .. } if *signature == "reasoning_content".into());
    let names_field = |message: &Message| message.blocks.iter().any(is_field);
    for (index, message) in output {
        let original = &messages[*index];
        let is_bound = *api == "openai-responses" || (*api == "openai-completions" && names_field(original));
        if is_bound && calls(original) && thinks(original) {
            prop_assert_eq!(message, original);
        }
    }
    Ok(())
}

fn images(message: &Message) -> usize {
    message.blocks.iter().filter(|block| matches!(block, Block::Image)).count()
}

fn is_thinking(block: &Block) -> bool {
    matches!(block, Block::Thinking { .. })
}
