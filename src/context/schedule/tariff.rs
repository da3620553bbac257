//! Prices of tokens in dollars where no bill tells them: one dated list, made from a published catalogue by `npm run
//! build:prices`.
//!
//! A model that is not named there has no price: a wrong one is worse than none.

use crate::context::transcript::Source;

/// No provider charges this much for a token, in dollars: a bill above it is a mistake.
pub const MAX_PRICE: f64 = 1e-3;

const PER_MILLION: f64 = 1e-6;
/// Sorted lines of tab-separated cells, after one that says what they were made from: a name, or `name@provider` where that
/// provider asks something else, the four prices, and the price steps. Dollars for a million tokens.
const LIST: &str = include_str!("catalogue.tsv");
/// Price steps of one model: no model has more.
const MAX_STEPS: usize = 2;
/// Digits of a number that is a date, or a part of one, rather than a version.
const MIN_DATE_DIGITS: usize = 4;

/// The prices of one token, in dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize)]
pub struct Tariff {
    /// Sent, and neither read from the cache nor written to it.
    pub input: f64,
    /// Read from the cache; 0 where that has no price of its own.
    pub read: f64,
    /// Written to it; as input where that has no price of its own.
    pub write: f64,
    /// Of the answer.
    pub output: f64,
    /// The prices of longer prompts, the shortest first.
    #[serde(skip)]
    pub steps: [Option<Step>; MAX_STEPS],
}

/// The prices of every token in a request above some size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Prompt tokens above which it holds.
    pub above: f64,
    /// Factor of the prompt's prices.
    pub prompt: f64,
    /// Factor of the answer's.
    pub answer: f64,
}

impl Tariff {
    /// The factors of prices in a request of so many prompt tokens, the prompt's and the answer's.
    #[must_use]
    pub fn factors(&self, prompt: f64) -> (f64, f64) {
        let passed = self.steps.iter().rev().flatten().find(|step| prompt > step.above);
        passed.map_or((1.0, 1.0), |step| (step.prompt, step.answer))
    }

    /// The prices of a request of so many prompt tokens.
    #[must_use]
    pub fn at(self, prompt: f64) -> Self {
        let (factor, answer) = self.factors(prompt);
        Self {
            input: factor * self.input,
            read: factor * self.read,
            write: factor * self.write,
            output: answer * self.output,
            ..self
        }
    }
}

/// The listed prices of a model; `None` where it is not on the list.
///
/// ```
/// use pi_strata::context::schedule::tariff::listed;
/// use pi_strata::context::transcript::Source;
///
/// let source = |model: &str| Source { api: "x".into(), provider: "openrouter".into(), model: model.into() };
/// assert_eq!(listed(&source("anthropic/claude-haiku-5.5")).map(|of| of.at(150_000.0).input * 1e6), Some(0.25));
/// assert_eq!(listed(&source("own-model")), None);
/// ```
#[must_use]
pub fn listed(source: &Source) -> Option<Tariff> {
    let name = bare_name(&source.model);
    let mut name = name.as_str();
    loop {
        let own = format!("{name}@{}", source.provider.to_lowercase());
        if let Some(cells) = row(&own).or_else(|| row(name)) {
            return parsed(cells);
        }
        let (shorter, last) = name.rsplit_once('-')?;
        let is_version = last.len() < MIN_DATE_DIGITS && last.bytes().all(|byte| byte.is_ascii_digit());
        if is_version && !is_dated(shorter) {
            return None;
        }
        name = shorter;
    }
}

/// True if a name ends in a year, or in a year and a month: what follows is no version.
fn is_dated(name: &str) -> bool {
    let is_year = |cell: &str| cell.len() == MIN_DATE_DIGITS && cell.starts_with("20");
    name.rsplit('-').take(2).any(is_year)
}

/// The name alone, of an id that begins with a market place's or a region's: `claude-opus-5-5` of
/// `us.anthropic.claude-opus-5-5-v1:0`, and of `anthropic/claude-opus-5.5`.
fn bare_name(model: &str) -> String {
    let model = model.to_lowercase();
    let name = model.rsplit('/').next().unwrap_or_default().split(':').next().unwrap_or_default();
    let name = name
        .strip_suffix(|last: char| last.is_ascii_digit())
        .and_then(|cut| cut.strip_suffix("-v"))
        .unwrap_or(name);
    let vendor = name.rmatch_indices('.').find(|(at, _)| {
        name.get(at + 1..).is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_lowercase()))
    });
    let name = vendor.and_then(|(at, _)| name.get(at + 1..)).unwrap_or(name);
    if name.starts_with("claude") { name.replace('.', "-") } else { name.to_owned() }
}

/// The cells after this very key.
fn row(key: &str) -> Option<&'static str> {
    LIST.lines()
        .filter_map(|line| line.split_once('\t'))
        .find_map(|(name, cells)| (name == key).then_some(cells))
}

fn parsed(cells: &str) -> Option<Tariff> {
    let mut cells = cells.split('\t');
    let mut price = || Some(PER_MILLION * cells.next()?.parse::<f64>().ok()?);
    let (input, read, write, output) = (price()?, price()?, price()?, price()?);
    let mut steps = [None; MAX_STEPS];
    for (step, cell) in steps.iter_mut().zip(cells) {
        let mut numbers = cell.split(':').map(|number| number.parse().ok());
        *step = Some(Step { above: numbers.next()??, prompt: numbers.next()??, answer: numbers.next()?? });
    }
    let write = if write > 0.0 { write } else { input };
    Some(Tariff { input, read, write, output, steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(provider: &str, model: &str) -> Option<Tariff> {
        listed(&Source { api: "x".into(), provider: provider.into(), model: model.into() })
    }

    fn input(model: &str) -> Option<f64> {
        of("y", model).map(|tariff| (tariff.input / PER_MILLION * 100.0).round() / 100.0)
    }

    #[test]
    fn a_model_is_priced_by_its_own_name_only() {
        assert_eq!(input("claude-opus-4-5-20251101"), Some(5.0));
        assert_eq!(input("anthropic/claude-sonnet-4.5"), Some(3.0));
        assert_eq!(input("us.anthropic.claude-haiku-5-5-v1:0"), Some(0.1));
        assert_eq!([input("gpt-5-mini-2025-08-07"), input("gpt-5-mini-2025")], [Some(0.25); 2]);
        assert_eq!(input("gpt-5-codex"), Some(1.25));
        assert_eq!(
            [input("gpt-5.99"), input("claude-opus-9"), input("claude-opus-4-99"), input("")],
            [None; 4]
        );
        assert_eq!([input("a\tb"), input("\n"), input("@"), input("# @earendil-works")], [None; 4]);
    }

    #[test]
    fn every_line_is_found_by_its_key_and_has_its_prices() {
        for line in LIST.lines().skip(1) {
            let (key, cells) = line.split_once('\t').unwrap_or_default();
            assert_eq!(row(key), Some(cells), "{line}");
            let tariff = parsed(cells).unwrap_or_default();
            assert!(tariff.input > 0.0 && tariff.input < MAX_PRICE, "{line}");
            let (name, provider) = key.split_once('@').unwrap_or((key, "y"));
            assert_eq!(of(provider, name), Some(tariff), "{line}");
            assert!(cells.split('\t').count() <= 4 + MAX_STEPS, "{line}");
        }
    }

    #[test]
    fn a_step_holds_for_the_whole_request_above_it() {
        let haiku = of("anthropic", "claude-haiku-5-5").unwrap_or_default();
        assert_eq!((haiku.factors(100_000.0), haiku.factors(100_001.0)), ((1.0, 1.0), (5.0, 5.0)));
        let gpt = of("openai", "gpt-6.1-sol").unwrap_or_default();
        assert_eq!(gpt.factors(272_001.0), (2.0, 1.5));
        let steps = [
            Some(Step { above: 10.0, prompt: 2.0, answer: 1.0 }),
            Some(Step { above: 20.0, prompt: 3.0, answer: 2.0 }),
        ];
        let both = Tariff { input: 1.0, output: 1.0, steps, ..Tariff::default() };
        assert_eq!((both.factors(15.0), both.factors(21.0)), ((2.0, 1.0), (3.0, 2.0)));
        assert!((both.at(21.0).output - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_provider_that_asks_something_else_is_asked_first() {
        let price = |provider| of(provider, "claude-haiku-5-5").map(|tariff| tariff.input);
        assert_ne!(of("amazon-bedrock", "eu.anthropic.claude-haiku-5-5"), None);
        assert_eq!(price("anthropic"), price("no-such-provider"));
    }
}
