//! What a provider's prompt cache costs: learned from what the transcript was billed, else looked up in one dated table.
//!
//! Prices are relative to input. What is absurd (nothing, less than nothing, a cache dearer than three times the input)
//! teaches nothing.

use super::economy::Prices;
use super::tariff::{self, Tariff};
use crate::context::transcript::{Source, Usage};

/// Prices as published in November 2026, by what the provider's or the model's name contains; the first that fits.
const TABLE: [(&str, Prices); 6] = [
    ("claude", Prices { read: 0.1, write: 1.25, ttl_seconds: 300.0 }),
    ("anthropic", Prices { read: 0.1, write: 1.25, ttl_seconds: 300.0 }),
    ("gpt", Prices { read: 0.1, write: 1.0, ttl_seconds: 1800.0 }),
    ("openai", Prices { read: 0.1, write: 1.0, ttl_seconds: 1800.0 }),
    ("gemini", Prices { read: 0.1, write: 1.0, ttl_seconds: 300.0 }),
    ("deepseek", Prices { read: 0.03, write: 1.0, ttl_seconds: 300.0 }),
];
/// From this version of GPT on, writing to the cache costs more than input.
const DEAR_WRITES_FROM: f64 = 5.6;
const DEAR_WRITE: f64 = 1.25;

/// Relative prices beyond these are mistakes of whoever priced the call.
const READ_RANGE: (f64, f64) = (0.001, 1.0);
const WRITE_RANGE: (f64, f64) = (0.5, 3.0);

/// Where neither names of provider and model nor bills say anything.
#[must_use]
pub fn listed(source: &Source, otherwise: Prices) -> Prices {
    let model = source.model.to_lowercase();
    let provider = source.provider.to_lowercase();
    let found = TABLE.iter().find(|(name, _)| model.contains(name));
    let found = found.or_else(|| TABLE.iter().find(|(name, _)| provider.contains(name)));
    let prices = found.map_or(otherwise, |(_, prices)| *prices);
    if gpt_version(&model).is_some_and(|version| version >= DEAR_WRITES_FROM) {
        return Prices { write: DEAR_WRITE, ..prices };
    }
    prices
}

/// The `5.6` of `gpt-5.6-mini`.
fn gpt_version(model: &str) -> Option<f64> {
    let (_, after) = model.split_once("gpt-")?;
    let end =
        after.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(after.len());
    after.get(..end)?.trim_end_matches('.').parse().ok()
}

/// What was billed so far, by model.
#[derive(Clone, Debug, Default)]
pub struct Bills(Vec<(Source, Bill)>);

/// Tokens and dollars of one model.
#[derive(Clone, Copy, Debug, Default)]
struct Bill {
    input: Sum,
    read: Sum,
    write: Sum,
    output: Sum,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    tokens: f64,
    dollars: f64,
}

impl Bills {
    /// Takes in what a call of `source` cost.
    pub fn note(&mut self, source: &Source, usage: &Usage) {
        let at = self.0.iter().position(|(of, _)| of == source).unwrap_or(self.0.len());
        if at == self.0.len() {
            self.0.push((source.clone(), Bill::default()));
        }
        let Some((_, bill)) = self.0.get_mut(at) else { return };
        bill.input.add(usage.input, usage.cost_input);
        bill.read.add(usage.cache_read, usage.cost_cache_read);
        bill.write.add(usage.cache_write, usage.cost_cache_write);
        bill.output.add(usage.output, usage.cost_output);
    }

    /// What a token of `source` costs in dollars: as billed where that says it, else as listed; `None` where neither does.
    #[must_use]
    pub fn tariff(&self, source: &Source) -> Option<Tariff> {
        let relative = self.prices(source, Prices::default());
        let listed = tariff::listed(source, relative);
        let Some((_, bill)) = self.0.iter().find(|(of, _)| of == source) else { return listed };
        let believed = |sum: Sum| sum.price().filter(|price| *price <= tariff::MAX_PRICE);
        let from_read = believed(bill.read).map(|price| price / relative.read);
        let from_write = believed(bill.write).map(|price| price / relative.write);
        let Some(input) = believed(bill.input).or(from_write).or(from_read) else { return listed };
        Some(Tariff {
            input,
            read: input * relative.read,
            write: input * relative.write,
            output: believed(bill.output).or(listed.map(|of| of.output)).unwrap_or(0.0),
        })
    }

    /// The prices of `source`: as billed where that says it, else as listed, else `otherwise`.
    #[must_use]
    pub fn prices(&self, source: &Source, otherwise: Prices) -> Prices {
        let listed = listed(source, otherwise);
        let Some((_, bill)) = self.0.iter().find(|(of, _)| of == source) else { return listed };
        let Some(input) = bill.input.price() else { return listed };
        let relative = |sum: Sum, (least, most): (f64, f64)| {
            sum.price().map(|price| price / input).filter(|price| (least..=most).contains(price))
        };
        Prices {
            read: relative(bill.read, READ_RANGE).unwrap_or(listed.read),
            write: relative(bill.write, WRITE_RANGE).unwrap_or(listed.write),
            ttl_seconds: listed.ttl_seconds,
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

    const OTHERWISE: Prices = Prices { read: 0.2, write: 1.5, ttl_seconds: 60.0 };

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
    fn prices_are_listed_by_model_then_by_provider() {
        let bills = Bills::default();
        let of = |provider, model| bills.prices(&source(provider, model), OTHERWISE);
        assert!(close(of("openrouter", "claude-opus-4-5").write, 1.25));
        assert!(close(of("openai", "o4-mini").write, 1.0) && close(of("openai", "gpt-5.5").write, 1.0));
        assert!(close(of("openai", "gpt-5.6-codex").write, 1.25) && close(of("x", "gpt-5.6.").read, 0.1));
        assert_eq!(of("mine", "own-model"), OTHERWISE);
    }

    #[test]
    fn bills_teach_each_model_its_own_prices() {
        let (one, other) = (source("anthropic", "claude-next"), source("anthropic", "claude-opus-4-5"));
        let mut bills = Bills::default();
        bills.note(&one, &billed(0.025, 1.25));
        bills.note(&other, &billed(0.1, 2.0));
        bills.note(&one, &billed(0.025, 1.25));
        assert!(close(bills.prices(&one, OTHERWISE).read, 0.025));
        assert!(
            close(bills.prices(&other, OTHERWISE).read, 0.1)
                && close(bills.prices(&other, OTHERWISE).write, 2.0)
        );
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
            let mut bills = Bills::default();
            bills.note(&claude, &usage);
            let prices = bills.prices(&claude, OTHERWISE);
            assert!(close(prices.read, 0.1) && close(prices.write, 1.25), "{usage:?}");
        }
    }
}
