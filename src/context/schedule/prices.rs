//! Prices of a provider's prompt cache: learned from what the transcript was billed, else looked up in one dated table.
//!
//! Prices are relative to input. What is absurd (nothing, less than nothing, a cache dearer than three times the input)
//! teaches nothing.

use super::economy::Prices;
use super::tariff::{self, Tariff};
use crate::context::transcript::{Source, Usage};
use crate::contract::{CACHE_READ, CACHE_TTL_SECONDS};

/// The prices of a model that is neither listed nor billed: a write costs more only where a bill says so.
const UNKNOWN: Prices = Prices { read: CACHE_READ, write: 1.0, ttl_seconds: CACHE_TTL_SECONDS };
/// The life of entries and the least price of writing, by what the provider's or the model's name contains, as published
/// in November 2026; the first that fits.
static FAMILIES: [(&str, f64, f64); 4] =
    [("claude", 300.0, 1.25), ("anthropic", 300.0, 1.25), ("gpt", 1800.0, 1.0), ("openai", 1800.0, 1.0)];

/// Relative prices beyond these are mistakes of whoever priced the call.
const READ_RANGE: (f64, f64) = (0.001, 1.0);
const WRITE_RANGE: (f64, f64) = (0.5, 3.0);

/// The prices without any bill.
#[must_use]
pub fn listed(source: &Source) -> Prices {
    let family =
        family(source).map_or(UNKNOWN, |&(_, ttl_seconds, write)| Prices { write, ttl_seconds, ..UNKNOWN });
    let Some(tariff) = tariff::listed(source) else { return family };
    let (read, write) = (tariff.read / tariff.input, tariff.write / tariff.input);
    Prices {
        read: if within(read, READ_RANGE) { read } else { family.read },
        write: if within(write, WRITE_RANGE) { write.max(1.0) } else { 1.0 },
        ..family
    }
}

/// True if the life of entries is published for `source`, not guessed: for models of Anthropic and OpenAI, unless others serve
/// their weights.
#[must_use]
pub fn has_published_life(source: &Source) -> bool {
    !source.model.to_lowercase().contains("oss") && family(source).is_some()
}

/// The entry of [`FAMILIES`] for a model: by its own name, else by its provider's.
fn family(source: &Source) -> Option<&'static (&'static str, f64, f64)> {
    let of = |text: &str| {
        let text = text.to_lowercase();
        FAMILIES.iter().find(|(name, ..)| text.contains(name))
    };
    of(&source.model).or_else(|| of(&source.provider))
}

fn within(price: f64, (least, most): (f64, f64)) -> bool {
    (least..=most).contains(&price)
}

/// The bill of one model so far, beside what is listed for it.
#[derive(Clone, Copy, Debug)]
pub struct Bill {
    /// The prices without any bill.
    pub listed: Prices,
    tariff: Option<Tariff>,
    input: Sum,
    read: Sum,
    write: Sum,
    output: Sum,
}

/// Tokens and dollars.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    tokens: f64,
    dollars: f64,
}

impl Bill {
    /// That of a model that nothing was billed of yet.
    #[must_use]
    pub fn of(source: &Source) -> Self {
        let (listed, tariff, none) = (listed(source), tariff::listed(source), Sum::default());
        Self { listed, tariff, input: none, read: none, write: none, output: none }
    }

    /// Takes in what a call cost, as it would have cost below every price step.
    pub fn note(&mut self, usage: &Usage) {
        let tariff = self.tariff.unwrap_or_default();
        let (factor, answer) = tariff.factors(usage.prompt_tokens().unwrap_or(0.0));
        let base = |dollars: Option<f64>| dollars.map(|dollars| dollars / factor);
        self.input.add(usage.input, base(usage.cost_input));
        self.read.add(usage.cache_read, base(usage.cost_cache_read));
        self.write.add(usage.cache_write, base(usage.cost_cache_write));
        self.output.add(usage.output, usage.cost_output.map(|dollars| dollars / answer));
    }

    /// The price of a token in dollars: as billed where that says it, else as listed; `None` where neither does.
    #[must_use]
    pub fn tariff(&self) -> Option<Tariff> {
        let (relative, listed) = (self.prices(), self.tariff);
        let believed = |sum: Sum| sum.price().filter(|price| *price <= tariff::MAX_PRICE);
        let from_read = believed(self.read).map(|price| price / relative.read);
        let from_write = believed(self.write).map(|price| price / relative.write);
        let Some(input) = believed(self.input).or(from_write).or(from_read) else { return listed };
        Some(Tariff {
            input,
            read: input * relative.read,
            write: input * relative.write,
            output: believed(self.output).or(listed.map(|of| of.output)).unwrap_or(0.0),
            steps: listed.map(|of| of.steps).unwrap_or_default(),
        })
    }

    /// Its prices relative to input: as billed where that says it, else as listed.
    #[must_use]
    pub fn prices(&self) -> Prices {
        let Some(input) = self.input.price() else { return self.listed };
        let relative =
            |sum: Sum, range| sum.price().map(|price| price / input).filter(|price| within(*price, range));
        Prices {
            read: relative(self.read, READ_RANGE).unwrap_or(self.listed.read),
            write: relative(self.write, WRITE_RANGE).unwrap_or(self.listed.write),
            ttl_seconds: self.listed.ttl_seconds,
        }
    }
}

impl Sum {
    fn add(&mut self, tokens: Option<f64>, dollars: Option<f64>) {
        let usable = |amount: &f64| amount.is_finite() && *amount > 0.0;
        if let (Some(tokens), Some(dollars)) = (tokens.filter(usable), dollars.filter(usable)) {
            self.tokens += tokens;
            self.dollars += dollars;
        }
    }

    fn price(self) -> Option<f64> {
        let price = self.dollars / self.tokens;
        (price.is_finite() && price > 0.0).then_some(price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(provider: &str, model: &str) -> Source {
        Source { api: "x".into(), provider: provider.into(), model: model.into() }
    }

    fn billed(read: f64, write: f64) -> Usage {
        Usage {
            input: Some(100.0),
            cache_read: Some(1000.0),
            cache_write: Some(200.0),
            cost_input: Some(100.0 * 5e-6),
            cost_cache_read: Some(1000.0 * 5e-6 * read),
            cost_cache_write: Some(200.0 * 5e-6 * write),
            ..Usage::default()
        }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn prices_are_listed_by_model_then_by_family() {
        let of = |provider, model| listed(&source(provider, model));
        let close_to = |prices: Prices, read, write| close(prices.read, read) && close(prices.write, write);
        assert!(close_to(of("openrouter", "claude-opus-4-5"), 0.1, 1.25));
        assert!(close_to(of("anthropic", "claude-fable-5-1"), 0.025, 1.25));
        assert!(close_to(of("anthropic", "claude-nobody-knows"), 0.1, 1.25));
        assert!(
            close_to(of("openai", "gpt-5.5"), 0.1, 1.0) && close_to(of("openai", "gpt-6.1-sol"), 0.05, 1.25)
        );
        assert!(close_to(of("zai", "glm-5.3"), 0.26 / 1.4, 1.0) && close_to(of("zai", "glm-99"), 0.1, 1.0));
        assert_eq!(of("mine", "own-model"), UNKNOWN);
        assert!(close(of("x", "gpt-99").ttl_seconds, 1800.0));
    }

    #[test]
    fn bills_above_a_price_step_teach_the_prices_below_it() {
        let haiku = source("anthropic", "claude-haiku-5-5");
        let call = |read: f64, factor: f64| Usage {
            input: Some(1000.0),
            cache_read: Some(read),
            cost_input: Some(1000.0 * 1e-7 * factor),
            cost_cache_read: Some(read * 1e-8 * factor),
            ..Usage::default()
        };
        let mut bill = Bill::of(&haiku);
        bill.note(&call(50_000.0, 1.0));
        bill.note(&call(150_000.0, 5.0));
        let tariff = bill.tariff().unwrap_or_default();
        assert!(close(tariff.input * 1e6, 0.1) && close(tariff.at(100_001.0).read * 1e6, 0.05));
    }

    #[test]
    fn bills_teach_more_than_a_list() {
        let mut next = Bill::of(&source("anthropic", "claude-next"));
        next.note(&billed(0.025, 1.25));
        next.note(&billed(0.025, 1.25));
        assert!(close(next.prices().read, 0.025));
        let mut listed = Bill::of(&source("anthropic", "claude-opus-4-5"));
        listed.note(&billed(0.1, 2.0));
        assert!(close(listed.prices().read, 0.1) && close(listed.prices().write, 2.0));
    }

    #[test]
    fn costs_of_zero_or_absurd_ones_teach_nothing() {
        let claude = source("anthropic", "claude-opus-4-5");
        for usage in [
            billed(0.0, 0.0),
            billed(40.0, 90.0),
            billed(f64::NAN, -1.0),
            billed(f64::INFINITY, 1e300),
            Usage::default(),
        ] {
            let mut bill = Bill::of(&claude);
            bill.note(&usage);
            let prices = bill.prices();
            assert!(close(prices.read, 0.1) && close(prices.write, 1.25), "{usage:?}");
        }
    }
}
