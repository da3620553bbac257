//! Which lines of an old tool result are worth their tokens: the rest is cut, word for word and in order.
//!
//! Lines overlap in what they show, so the best for their tokens choose first and the others count only what is new in
//! them. A gap costs a marker: short gaps are not worth one, nor are lone lines between two.

use std::ops::Range;

use super::held::Held;
use super::ledger::Ledger;
use super::lines::Lines;
use crate::account::{Form, Row as Sent};
use crate::plan::{Keep, KeptLines};
use crate::traits::lines::Layout;

/// Gaps of fewer tokens than this many markers are left open: they save next to nothing and cost the sense around them.
const SHORT_GAP: f64 = 1.8;

/// A row while it is being decided about.
struct Row {
    at: usize,
    tokens: f64,
    /// What it alone would lose.
    value: f64,
    is_kept: bool,
}

/// Chooses what stays of a result where a token is worth `price`; `None` if nothing goes.
#[must_use]
pub fn choose(sent: &Sent, held: &Held, ledger: &Ledger, lines: &Lines, price: f64) -> Option<KeptLines> {
    let layout = sent.message.traits.layout.as_ref()?;
    let whole = layout.rows().len() as u32;
    let standing = match (sent.form(), &sent.kept_lines) {
        (Form::Lines(_), Some(kept)) => kept.rows.to_vec(),
        _ => std::iter::once(0..whole).collect(),
    };
    let identifier_worth: Vec<f64> = held.numbers.iter().map(|&number| ledger.loss(number, 1)).collect();
    let line_worth: Vec<f64> = held.lines.iter().map(|&number| lines.loss(number, 1)).collect();
    let worth = Worth { identifiers: &identifier_worth, lines: &line_worth };
    let causes = Causes { held, ledger, lines };
    let mut rows: Vec<Row> = standing
        .iter()
        .cloned()
        .flatten()
        .map(|at| at as usize)
        .map(|at| Row {
            at,
            tokens: layout.rows().get(at).map_or(0.0, |row| f64::from(row.tokens)),
            value: worth.of(layout, at, |_| true),
            is_kept: false,
        })
        .collect();
    keep_the_best(&mut rows, layout, &worth, price);
    mend(&mut rows, layout, price);
    if rows.iter().all(|row| row.is_kept) {
        return None;
    }
    Some(finish(sent, &causes, layout, &rows, &worth))
}

/// What the things a message shows are worth, by their positions in it; nothing where others show them too.
struct Worth<'a> {
    identifiers: &'a [f64],
    lines: &'a [f64],
}

impl Worth<'_> {
    fn of(&self, layout: &Layout, at: usize, counts: impl Fn(usize) -> bool) -> f64 {
        let identifiers = layout.identifiers(at).iter().map(|&place| place as usize);
        let worth =
            identifiers.filter(|&place| counts(place)).filter_map(|place| self.identifiers.get(place));
        let line = layout.rows().get(at).and_then(|row| self.lines.get(row.line? as usize));
        worth.sum::<f64>() + line.copied().unwrap_or(0.0)
    }
}

fn keep_the_best(rows: &mut [Row], layout: &Layout, worth: &Worth<'_>, price: f64) {
    let mut order: Vec<usize> =
        (0..rows.len()).filter(|&i| rows.get(i).is_some_and(|row| row.value > 0.0)).collect();
    let density = |i: usize| rows.get(i).map_or(0.0, |row| row.value / row.tokens.max(1.0));
    order.sort_by(|&a, &b| density(b).total_cmp(&density(a)).then(a.cmp(&b)));
    let mut is_covered = vec![false; worth.identifiers.len()];
    for i in order {
        let Some(row) = rows.get_mut(i) else { continue };
        let new = worth.of(layout, row.at, |place| is_covered.get(place).is_some_and(|covered| !covered));
        if new < price * row.tokens {
            continue;
        }
        row.is_kept = true;
        row.value = new;
        for &place in layout.identifiers(row.at) {
            if let Some(covered) = is_covered.get_mut(place as usize) {
                *covered = true;
            }
        }
    }
}

/// Fills gaps that save less than their marker costs, and lets go of lone lines worth less than one more marker.
fn mend(rows: &mut [Row], layout: &Layout, price: f64) {
    let marker = f64::from(layout.gap_tokens());
    let runs = |rows: &[Row]| -> Vec<Range<usize>> {
        let mut start = 0;
        let chunks = rows.chunk_by(|a, b| a.is_kept == b.is_kept && a.at + 1 == b.at);
        chunks
            .map(|chunk| {
                start += chunk.len();
                start - chunk.len()..start
            })
            .collect()
    };
    for run in runs(rows) {
        let Some(run) = rows.get_mut(run) else { continue };
        let net: f64 = run.iter().map(|row| row.value - price * row.tokens).sum();
        if run.first().is_some_and(|row| row.is_kept) && net < price * marker {
            set_kept(run, false);
        }
    }
    for run in runs(rows) {
        let Some(run) = rows.get_mut(run) else { continue };
        let tokens: f64 = run.iter().map(|row| row.tokens).sum();
        if tokens <= marker * SHORT_GAP {
            set_kept(run, true);
        }
    }
}

fn set_kept(run: &mut [Row], is_kept: bool) {
    for row in run {
        row.is_kept = is_kept;
    }
}

/// What the worth of a line comes from.
struct Causes<'a> {
    held: &'a Held,
    ledger: &'a Ledger,
    lines: &'a Lines,
}

impl Causes<'_> {
    /// What most of the worth of these lines comes from.
    fn of(&self, layout: &Layout, run: Range<u32>, worth: &Worth<'_>) -> Keep {
        let mut sums =
            [(0.0, Keep::OwnLines), (0.0, Keep::FileLines), (0.0, Keep::UsedNames), (0.0, Keep::NewNames)];
        let mut add = |keep: Keep, value: f64| {
            if let Some((sum, _)) = sums.iter_mut().find(|(_, of)| *of == keep) {
                *sum += value;
            }
        };
        for at in run.map(|at| at as usize) {
            for place in layout.identifiers(at).iter().map(|&place| place as usize) {
                let is_used = self.held.numbers.get(place).is_some_and(|&number| self.ledger.is_used(number));
                let value = worth.identifiers.get(place).copied().unwrap_or(0.0);
                add(if is_used { Keep::UsedNames } else { Keep::NewNames }, value);
            }
            if let Some(line) = layout.rows().get(at).and_then(|row| row.line) {
                let is_own =
                    self.held.lines.get(line as usize).is_some_and(|&number| self.lines.is_own(number));
                let value = worth.lines.get(line as usize).copied().unwrap_or(0.0);
                add(if is_own { Keep::OwnLines } else { Keep::FileLines }, value);
            }
        }
        let most = sums.into_iter().filter(|(sum, _)| *sum > 0.0).max_by(|(a, _), (b, _)| a.total_cmp(b));
        most.map_or(Keep::ShortGap, |(_, keep)| keep)
    }
}

fn finish(sent: &Sent, causes: &Causes<'_>, layout: &Layout, rows: &[Row], worth: &Worth<'_>) -> KeptLines {
    let held = causes.held;
    let mut kept: Vec<Range<u32>> = Vec::new();
    let mut places: Vec<u32> = Vec::new();
    let mut lines: Vec<u32> = Vec::new();
    let mut tokens = 0;
    for row in rows.iter().filter(|row| row.is_kept) {
        let at = row.at as u32;
        match kept.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => kept.push(at..at + 1),
        }
        places.extend_from_slice(layout.identifiers(row.at));
        if let Some(row) = layout.rows().get(row.at) {
            tokens += row.tokens as usize;
            lines.extend(row.line.and_then(|line| held.lines.get(line as usize)));
        }
    }
    places.sort_unstable();
    places.dedup();
    lines.sort_unstable();
    lines.dedup();
    let numbers = places.iter().filter_map(|&place| held.numbers.get(place as usize)).copied().collect();
    let rest = sent.message.tokens.saturating_sub(layout.tokens());
    KeptLines {
        tokens: (rest + tokens + marker_tokens(layout, &kept)) as u32,
        keeps: kept.iter().map(|run| causes.of(layout, run.clone(), worth)).collect(),
        rows: kept.into(),
        numbers,
        lines: lines.into(),
    }
}

/// Tokens of the markers around these lines.
fn marker_tokens(layout: &Layout, kept: &[Range<u32>]) -> usize {
    let mut gaps = 0;
    let mut end = 0;
    for run in kept {
        gaps += usize::from(run.start > end);
        end = run.end;
    }
    gaps += usize::from((end as usize) < layout.rows().len());
    gaps * layout.gap_tokens() as usize + usize::from(gaps > 0) * layout.first_gap_tokens() as usize
}
