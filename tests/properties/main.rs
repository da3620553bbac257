//! Properties of every plan and every repair, over generated conversations of up to 400 messages.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test or bench fails where its own input is not what it must be"
)]

mod generator;
mod model;
mod oracle;

use generator::{Conversation, Dice, conversation};
use model::{
    Block, Message, Role, mended, most_miscounted, plan, problems, run, tokens, transcript, transcript_by,
};
use oracle::Fate;
use pi_strata::context::account::Account;
use pi_strata::context::cuts::{MIN_CUT_TOKENS, cut_marker};
use pi_strata::context::guard::guard;
use pi_strata::context::layers::{Limits, Overflow};
use pi_strata::context::measure::Rules;
use pi_strata::context::plan::{Action, Layer, Plan, Reason};
use pi_strata::context::schedule::Mode;
use pi_strata::context::shorten::{Cap, Shortening};
use pi_strata::context::transcript::Transcript;
use pi_strata::context::validity::{Family, Mend, Rule, repair};
use pi_strata::text::{Utf16Len, has_lone_surrogate, is_blank};
use pi_strata::tokens;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

/// Most messages of a generated conversation.
const MAX_MESSAGES: usize = 400;

fn limits(seed: u64) -> Limits {
    generator::limits(&mut Dice::new(seed ^ 0x9E37_79B9_7F4A_7C15))
}

/// Either schedule: what must hold holds under both.
fn mode(seed: u64) -> Mode {
    generator::mode(&mut Dice::new(seed ^ 0x5851_F42D_4C95_7F2D))
}

fn is_thinking(block: &Block) -> bool {
    matches!(block, Block::Thinking { .. })
}

/// A plan in the words of the oracle.
fn fates(plan: &Plan) -> Vec<(usize, Fate)> {
    let fate = |action: &Action| match action {
        Action::Summarize => Fate::Shortened,
        Action::StripThinking => Fate::Stripped,
        Action::Drop => Fate::Dropped,
        Action::KeepLines(_) | Action::Truncate(_) | Action::OmitImages | Action::ClearInputs => {
            panic!("neither layer 1 to 3 nor the guard does {action:?}")
        }
    };
    plan.edits.iter().map(|edit| (edit.index, fate(&edit.action))).collect()
}

/// The messages with no more images than every provider takes: what is done about others has tests of its own.
fn with_few_images(mut messages: Vec<Message>) -> Vec<Message> {
    const TAKEN_BY_ALL: usize = 8;
    let mut count = 0;
    for message in &mut messages {
        message.blocks.retain(|block| {
            count += usize::from(matches!(block, Block::Image));
            !matches!(block, Block::Image) || count <= TAKEN_BY_ALL
        });
    }
    messages
}

fn without_origins(output: &[(usize, Message)]) -> Vec<Message> {
    output.iter().map(|(_, message)| message.clone()).collect()
}

fn sound(seed: u64, len: usize) -> Conversation {
    conversation(Dice::new(seed), len, None)
}

fn broken(seed: u64, len: usize, noise: usize) -> Conversation {
    conversation(Dice::new(seed), len, Some(noise))
}

/// A conversation and what became of it.
struct Case {
    api: &'static str,
    messages: Vec<Message>,
    limits: Limits,
    mode: Mode,
    plan: Plan,
    output: Vec<(usize, Message)>,
}

impl Case {
    fn of(Conversation { api, messages }: Conversation, seed: u64) -> Self {
        let (limits, mode) = (limits(seed), mode(seed));
        let (plan, output) = run(&messages, &limits, mode);
        Self { api, messages, limits, mode, plan, output }
    }
}

const OF_EVERY_PLAN: [fn(&Case) -> TestCaseResult; 8] = [
    no_orphan_leaves_whatever_came_in,
    nothing_new_breaks_in_a_broken_transcript,
    the_output_is_a_subsequence_with_the_allowed_edits_only,
    system_messages_and_the_first_and_the_last_user_stay,
    the_tokens_said_are_the_tokens_there,
    it_fits_or_nothing_is_left_to_take,
    the_same_input_gives_the_same_plan,
    edits_name_their_layer,
];

const OF_SOUND_ONES: [fn(&Case) -> TestCaseResult; 4] = [
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
    prop_assert!(output.is_sorted_by(|a, b| a.0 < b.0));
    for (index, message) in output {
        let original = &messages[*index];
        prop_assert_eq!(&message.role, &original.role);
        if message == original {
            continue;
        }
        let is_cut =
            plan.edits.iter().any(|edit| edit.index == *index && matches!(edit.action, Action::Truncate(_)));
        prop_assert!(!is_cut || limits.overflow == Overflow::Shrink);
        let same_but = |ignored: fn(&Block) -> bool| {
            let rest = |message: &Message| -> Vec<Block> {
                message.blocks.iter().filter(|block| !ignored(block)).cloned().collect()
            };
            rest(message) == rest(original)
        };
        match original.role {
            Role::ToolResult { .. } => {
                prop_assert!(same_but(|block| matches!(block, Block::Text(_) | Block::Image)));
            }
            Role::Assistant { .. } => {
                prop_assert!(same_but(is_thinking));
                prop_assert!(!message.blocks.iter().any(is_thinking));
            }
            Role::User | Role::Other => {
                prop_assert!(is_cut && same_but(|block| matches!(block, Block::Text(_))));
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
    prop_assert!(plan.after.cl100k.abs_diff(tokens(&without_origins(output))) <= most_miscounted(plan));
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
    let floor = MIN_CUT_TOKENS.max(tokens::count_utf16(&cut_marker(Utf16Len(1_000_000))));
    for (index, message) in output {
        let group = account.row(*index).map_or(0, |row| row.group);
        let is_irreducible = account.is_protected(*index) || group >= account.last_group();
        prop_assert!(is_irreducible, "message {index} could go");
        let may_be_cut = message.is_result() || matches!(message.role, Role::User | Role::Other);
        if !message.is_sent || !may_be_cut {
            continue;
        }
        // A summary may be shorter than each block cut by itself, and a cut may not make a text longer.
        let blocks = messages[*index].texts().count();
        let long = message.texts().filter(|text| text.0.len() > MIN_CUT_TOKENS);
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
            Layer::Repair | Layer::Window => edit.action == Action::Drop,
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
    let names_field = |message: &Message| {
        message.blocks.iter().any(
        |block| matches!(block, Block::Thinking { signature, .. } if *signature == "reasoning_content".into()),
    )
    };
    for (index, message) in output {
        let original = &messages[*index];
        let is_bound = *api == "openai-responses" || (*api == "openai-completions" && names_field(original));
        if is_bound && calls(original) && thinks(original) {
            prop_assert_eq!(message, original);
        }
    }
    Ok(())
}

proptest! {
    // Half of what proptest would do, 128 or PROPTEST_CASES / 2: the conversations are long.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn every_plan_keeps_the_rules(seed: u64, len in 1..MAX_MESSAGES, noise in 2usize..60) {
        let case = Case::of(broken(seed, len, noise), seed);
        OF_EVERY_PLAN.iter().try_for_each(|check| check(&case))?;
    }

    #[test]
    fn a_sound_transcript_stays_sound(seed: u64, len in 1..MAX_MESSAGES) {
        let case = Case::of(sound(seed, len), seed);
        OF_SOUND_ONES.iter().try_for_each(|check| check(&case))?;
    }
}

proptest! {
    // A quarter of what proptest would do, 64 or PROPTEST_CASES / 4: the conversations are long.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn recomputed_layers_do_what_the_rules_say(seed: u64, len in 1..MAX_MESSAGES) {
        let messages = with_few_images(sound(seed, len).messages);
        let limits = Limits { overflow: Overflow::Keep, keep_recent_images: usize::MAX, ..limits(seed) };
        prop_assert_eq!(fates(&plan(&messages, &limits, Mode::EveryCall)), oracle::every_call(&messages, &limits));
    }

    #[test]
    fn the_guard_does_what_its_rules_say(seed: u64, len in 1..MAX_MESSAGES, max in 0usize..3000, ends in 0usize..900) {
        let messages = sound(seed, len).messages;
        let cap = Cap { max_len: Utf16Len(max), head: Utf16Len(ends), tail: Utf16Len(ends / 2) };
        let rules = Rules { shortening: Shortening::Ends(cap), ..Rules::default() };
        let limits = limits(seed);
        let transcript = transcript_by(&messages, &rules);
        let plan = guard(&transcript, &limits).plan();
        let plan = Plan { edits: plan.by_message(&transcript), ..plan };
        prop_assert_eq!(fates(&plan), oracle::guarded(&messages, &limits, [max, ends, ends / 2]));
    }

    /// Under everyCall, a second pass over what was sent drops nothing more and strips nothing more; it may only find a still shorter
    /// summary of a summary or cut the rest of a text that is over the window even so.
    #[test]
    fn a_second_pass_finds_nothing_to_drop(seed: u64, len in 1..MAX_MESSAGES) {
        let messages = sound(seed, len).messages;
        let limits = limits(seed);
        let (first, output) = run(&messages, &limits, Mode::EveryCall);
        let edited: Vec<usize> = first.edits.iter().map(|edit| edit.index).collect();
        let second = plan(&without_origins(&output), &limits, Mode::EveryCall);
        for edit in &second.edits {
            let origin = output[edit.index].0;
            prop_assert!(matches!(edit.action, Action::Summarize | Action::Truncate(_)), "{edit:?}");
            prop_assert!(edited.contains(&origin), "{edit:?} is new");
        }
    }

    #[test]
    fn repair_leaves_nothing_to_repair(seed: u64, len in 1..MAX_MESSAGES, noise in 1usize..60) {
        let Conversation { api, messages } = broken(seed, len, noise);
        let family = Family::of(api);
        let mends = repair(&messages.iter().map(Message::raw).collect::<Vec<_>>(), family);
        let output = mended(&messages, &mends);
        let ends = |rule: Rule| matches!(rule, Rule::TrailingSpace | Rule::EndsOnReply);
        let left: Vec<_> = problems(&output, family).into_iter().filter(|problem| !ends(problem.rule)).collect();
        prop_assert_eq!(left, []);
        prop_assert_eq!(repair(&output.iter().map(Message::raw).collect::<Vec<_>>(), family), []);
    }

    #[test]
    fn a_transcript_that_goes_on_is_the_one_made_anew(seed: u64, len in 1..MAX_MESSAGES, other: u64) {
        let whole = transcript(&broken(seed, len, 30).messages);
        let elsewhere = transcript(&broken(other, len, 30).messages);
        let mut dice = Dice::new(other);
        let mut grown = elsewhere;
        grown.splice(0..grown.len(), std::iter::empty(), std::iter::empty());
        while grown.len() < len {
            // Each step takes some of what was there back: a message read anew, an answer that replaces another.
            let kept = grown.len().saturating_sub(dice.below(4));
            let end = (kept + 1 + dice.below(9)).min(len);
            grown.splice(kept..grown.len(), std::iter::empty(), whole.messages()[kept..end].iter().cloned());
            let anew = Transcript::new(whole.messages()[..end].to_vec());
            for index in 0..end {
                prop_assert_eq!(grown.link(index), anew.link(index), "message {}", index);
                prop_assert_eq!(grown.call_position(index), anew.call_position(index));
                prop_assert!(grown.group(index).eq(anew.group(index)), "group of {}", index);
            }
        }
    }

    #[test]
    fn repair_leaves_a_valid_transcript_alone(seed: u64, len in 1..MAX_MESSAGES) {
        let Conversation { api, messages } = sound(seed, len);
        prop_assert_eq!(repair(&messages.iter().map(Message::raw).collect::<Vec<_>>(), Family::of(api)), []);
    }

    /// A group goes for a problem in it, or because it is a reply that would open the conversation. Gemini has rules
    /// about neighbours too, so that one loss there can bring about another, but never of what the user said.
    #[test]
    fn repair_touches_nothing_sound(seed: u64, len in 20..MAX_MESSAGES) {
        let Conversation { api, messages } = broken(seed, len, 200);
        let (family, transcript) = (Family::of(api), transcript(&messages));
        let group = |index: usize| transcript.group_start(index);
        let troubled: Vec<usize> = problems(&messages, family).iter().map(|problem| group(problem.index)).collect();
        let mends = repair(&messages.iter().map(Message::raw).collect::<Vec<_>>(), family);
        let is_dropped = |index: &usize| mends.contains(&(*index, Mend::Drop));
        let opening = (0..len).filter(|index| !is_dropped(index)).find(|&index| messages[index].is_spoken());
        let opens = |index: usize| messages[index].is_reply() && opening.is_none_or(|opening| index < opening);
        for &(index, _) in &mends {
            let group = group(index);
            let is_neighbour = family == Family::Google && messages[group].is_reply();
            prop_assert!(opens(group) || is_neighbour || troubled.contains(&group), "message {index} of {api}");
        }
    }
}
