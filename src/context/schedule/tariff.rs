//! What tokens cost in dollars where no bill says it: one dated list.
//!
//! A model that is not named here has no price: a wrong one is worse than none.

use super::economy::Prices;
use crate::context::transcript::Source;

/// No provider charges this much for a token, in dollars: a bill above it is a mistake.
pub const MAX_PRICE: f64 = 1e-3;

const PER_MILLION: f64 = 1e-6;

/// Dollars for a million tokens of input and of output, as published until November 2026, by what the model's name
/// contains; the first that fits.
const LIST: [(&str, f64, f64); 27] = [
    ("opus-4-6", 5.0, 25.0),
    ("opus-4-5", 5.0, 25.0),
    ("opus-4-1", 15.0, 75.0),
    ("opus-4-20250514", 15.0, 75.0),
    ("3-opus", 15.0, 75.0),
    ("sonnet-4", 3.0, 15.0),
    ("3-7-sonnet", 3.0, 15.0),
    ("3-5-sonnet", 3.0, 15.0),
    ("haiku-4", 1.0, 5.0),
    ("3-5-haiku", 0.8, 4.0),
    ("3-haiku", 0.25, 1.25),
    ("gpt-5-mini", 0.25, 2.0),
    ("gpt-5-nano", 0.05, 0.4),
    ("gpt-5.2", 1.75, 14.0),
    ("gpt-5.1", 1.25, 10.0),
    ("gpt-5", 1.25, 10.0),
    ("gpt-4.1-mini", 0.4, 1.6),
    ("gpt-4.1-nano", 0.1, 0.4),
    ("gpt-4.1", 2.0, 8.0),
    ("gpt-4o-mini", 0.15, 0.6),
    ("gpt-4o", 2.5, 10.0),
    ("o4-mini", 1.1, 4.4),
    ("gemini-2.5-pro", 1.25, 10.0),
    ("gemini-2.5-flash-lite", 0.1, 0.4),
    ("gemini-2.5-flash", 0.3, 2.5),
    ("gemini-3-pro", 2.0, 12.0),
    ("deepseek-chat", 0.28, 0.42),
];

/// What one token costs, in dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tariff {
    /// Sent, and neither read from the cache nor written to it.
    pub input: f64,
    /// Read from the cache.
    pub read: f64,
    /// Written to it.
    pub write: f64,
    /// Of the answer.
    pub output: f64,
}

/// The listed prices of a model, its cache's as `relative` says; `None` where it is not on the list.
#[must_use]
pub fn listed(source: &Source, relative: Prices) -> Option<Tariff> {
    let model = source.model.to_lowercase();
    let model = if model.contains("claude") { model.replace('.', "-") } else { model };
    let (_, input, output) = LIST.iter().find(|(name, ..)| is_named(&model, name))?;
    let input = PER_MILLION * input;
    let (read, write) = (input * relative.read, input * relative.write);
    Some(Tariff { input, read, write, output: PER_MILLION * output })
}

/// Whether `name` stands in `model` and no version goes on there: `gpt-5` is not the name of `gpt-5.9`.
fn is_named(model: &str, name: &str) -> bool {
    let after = model.split_once(name).map(|(_, after)| after.chars().next());
    after.is_some_and(|next| next.is_none_or(|next| next != '.' && !next.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(model: &str) -> Option<f64> {
        let source = Source { api: "x".into(), provider: "y".into(), model: model.into() };
        listed(&source, Prices::default()).map(|tariff| (tariff.input / PER_MILLION * 100.0).round() / 100.0)
    }

    #[test]
    fn a_model_is_priced_by_its_own_name_only() {
        assert_eq!(input("claude-opus-4-5-20251101"), Some(5.0));
        assert_eq!(input("anthropic/claude-sonnet-4.5"), Some(3.0));
        assert_eq!(input("gpt-5-mini-2025"), Some(0.25));
        assert_eq!(input("gpt-5-codex"), Some(1.25));
        assert_eq!([input("gpt-5.9"), input("claude-opus-9"), input("")], [None; 3]);
    }
}
