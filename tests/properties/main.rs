//! Properties of every plan and every repair, over generated conversations of up to 400 messages.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test or bench fails where its own input is not what it must be"
)]

mod checks;
mod generator;
mod model;
mod oracle;

use checks::{Case, OF_EVERY_PLAN, OF_SOUND_ONES};
use generator::{Conversation, Dice, conversation};
use model::{Block, Message, mended, plan, problems, run, transcript};
use oracle::Fate;
use pi_strata::context::layers::{Limits, Overflow};
use pi_strata::context::plan::{Action, Plan};
use pi_strata::context::schedule::Mode;
use pi_strata::context::transcript::Transcript;
use pi_strata::context::validity::{Family, Mend, Repair, Rule, repair};
use proptest::prelude::*;

/// Most messages of a generated conversation.
const MAX_MESSAGES: usize = 400;

fn limits(seed: u64) -> Limits {
    generator::limits(&mut Dice::new(seed ^ 0x9E37_79B9_7F4A_7C15))
}

/// Either schedule: what must hold holds under both.
fn mode(seed: u64) -> Mode {
    generator::mode(&mut Dice::new(seed ^ 0x5851_F42D_4C95_7F2D))
}

/// A plan in the words of the oracle.
fn fates(plan: &Plan) -> Vec<(usize, Fate)> {
    let fate = |action: &Action| match action {
        Action::Summarize => Fate::Shortened,
        Action::StripThinking => Fate::Stripped,
        Action::Drop => Fate::Dropped,
        Action::KeepLines(_) | Action::Truncate(_) | Action::OmitImages | Action::DropCalls => {
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
        prop_assert_eq!(repair(&output.iter().map(Message::raw).collect::<Vec<_>>(), family), Repair::default());
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
            prop_assert!(grown.moves().eq(anew.moves()));
        }
    }

    #[test]
    fn repair_leaves_a_valid_transcript_alone(seed: u64, len in 1..MAX_MESSAGES) {
        let Conversation { api, messages } = sound(seed, len);
        prop_assert_eq!(repair(&messages.iter().map(Message::raw).collect::<Vec<_>>(), Family::of(api)), Repair::default());
    }

    /// A group goes for a problem in it, or because it is a reply that would open the conversation. Gemini has rules
    /// about neighbours too, so that one loss there can bring about another, but never of what the user said.
    #[test]
    fn repair_touches_nothing_sound(seed: u64, len in 20..MAX_MESSAGES) {
        let Conversation { api, messages } = broken(seed, len, 200);
        let (family, transcript) = (Family::of(api), transcript(&messages));
        let group = |index: usize| transcript.group_start(index);
        let troubled: Vec<usize> = problems(&messages, family).iter().map(|problem| group(problem.index)).collect();
        let mends = repair(&messages.iter().map(Message::raw).collect::<Vec<_>>(), family).mends;
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
