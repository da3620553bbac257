//! Any conversation, any limits: what was valid stays valid, orphans go, and the plan's arithmetic is right.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pi_strata::context::validity::{Family, Rule};

#[path = "../conversations.rs"]
mod conversations;

use conversations::{MAX_MESSAGES, generator, model};

fuzz_target!(|bytes: &[u8]| {
    let mut dice = generator::Dice::reading(bytes);
    let limits = generator::limits(&mut dice);
    let mode = generator::mode(&mut dice);
    let len = 1 + dice.below(MAX_MESSAGES);
    let noise = [None, Some(3), Some(20)][dice.below(3)];
    let generator::Conversation { api, messages } = generator::conversation(dice, len, noise);
    let family = Family::of(api);
    let (plan, output) = model::run(&messages, &limits, mode);
    let output: Vec<model::Message> = output.into_iter().map(|(_, message)| message).collect();
    assert_eq!(plan.before.cl100k, model::tokens(&messages));
    let (there, (less, more)) = (model::tokens(&output), model::most_miscounted(&plan));
    assert!((there.saturating_sub(less)..=there + more).contains(&plan.after.cl100k));
    let left = model::problems(&output, family);
    assert!(left.is_empty() || !model::problems(&messages, family).is_empty(), "{left:?}");
    assert!(!left.iter().any(|problem| problem.rule == Rule::OrphanResult), "{left:?}");
});
