//! Any conversation is repaired at once: nothing is left that can be mended, and a second repair finds nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pi_strata::context::validity::{Family, Repair, Rule, repair};

#[path = "../conversations.rs"]
mod conversations;

use conversations::{MAX_MESSAGES, generator, model};

fuzz_target!(|bytes: &[u8]| {
    let mut dice = generator::Dice::reading(bytes);
    let len = 1 + dice.below(MAX_MESSAGES);
    let generator::Conversation { api, messages } = generator::conversation(dice, len, Some(4));
    let family = Family::of(api);
    let mends = |messages: &[model::Message]| {
        repair(&messages.iter().map(model::Message::raw).collect::<Vec<_>>(), family)
    };
    let output = model::mended(&messages, &mends(&messages));
    assert_eq!(mends(&output), Repair::default());
    let left = model::problems(&output, family);
    let waits = |rule: Rule| matches!(rule, Rule::TrailingSpace | Rule::EndsOnReply);
    assert!(left.iter().all(|problem| waits(problem.rule)), "{left:?}");
});
