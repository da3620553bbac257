//! Chooses the lines of an old tool result that are worth their tokens: the rest is cut, word for word and in order.
//!
//! Lines overlap in the names they show: each counts only what no kept line before it shows. A gap costs a marker, and gaps
//! of less are not worth one.

use std::ops::Range;

use super::held::Held;
use super::index::CoverageIndex;
use crate::context::facts::traits::lines::Layout;
use crate::context::request::account::{Form, Row as Sent};
use crate::context::request::plan::{Keep, KeptLines};

/// A row while it is being decided about.
struct RowState {
    at: usize,
    tokens: f64,
    is_kept: bool,
}

/// Chooses what stays of a result where a token is worth `price`; `None` if nothing goes. Where nothing is worth it, the marker
/// line stays alone.
#[must_use]
pub fn choose(sent: &Sent, held: &Held, index: &CoverageIndex, price: f64) -> Option<KeptLines> {
    let layout = sent.message.traits.layout.as_ref()?;
    let standing = match (sent.form(), &sent.kept_lines) {
        (Form::Lines(_), Some(kept)) => kept.rows.to_vec(),
        _ => std::iter::once(0..layout.rows().len() as u32).collect(),
    };
    let mut rows: Vec<RowState> = (standing.into_iter().flatten().map(|at| at as usize))
        .map(|at| RowState {
            at,
            tokens: layout.rows().get(at).map_or(0.0, |row| f64::from(row.tokens)),
            is_kept: false,
        })
        .collect();
    let worth: Vec<f64> = held.numbers.iter().map(|&number| index.loss(number, 1)).collect();
    let text = Text { layout, names: sent.message.traits.identifiers.len(), worth: &worth };
    text.keep(&mut rows, price);
    // The host's own head and tail are shown once before they go, unless a limit demands more.
    if sent.form() == Form::Whole && price.is_finite() {
        text.keep_ends(&mut rows);
    }
    mend(&mut rows, layout);
    rows.iter().any(|row| !row.is_kept).then(|| finish(sent, held, index, text, &rows))
}

/// A text and what its message shows, by place: names first, then lines.
#[derive(Clone, Copy)]
struct Text<'a> {
    layout: &'a Layout,
    /// Number of names that the message shows.
    names: usize,
    /// The worth of each place; nothing where others show the same.
    worth: &'a [f64],
}

impl<'a> Text<'a> {
    /// The places of the names in a row.
    fn names_of(self, at: usize) -> impl Iterator<Item = usize> + 'a {
        self.layout.identifiers(at).iter().map(|&place| place as usize)
    }

    /// The place of a row as a line.
    fn line_of(self, at: usize) -> Option<usize> {
        Some(self.names + self.layout.rows().get(at)?.line? as usize)
    }

    /// Keeps the rows whose line and names, as far as no kept row before shows them, are worth their tokens.
    fn keep(self, rows: &mut [RowState], price: f64) {
        let mut left = self.worth.to_vec();
        for row in rows {
            let places = || self.names_of(row.at).chain(self.line_of(row.at));
            let worth: f64 = places().filter_map(|place| left.get(place)).sum();
            row.is_kept = worth >= price * row.tokens.max(1.0);
            if row.is_kept {
                places().for_each(|place| left.get_mut(place).into_iter().for_each(|worth| *worth = 0.0));
            }
        }
    }

    /// Keeps the least head and tail.
    fn keep_ends(self, rows: &mut [RowState]) {
        let (count, sizes) = (self.layout.rows().len(), self.layout.sizes());
        for row in rows {
            row.is_kept |= row.at < sizes.least_head as usize || row.at + sizes.least_tail as usize >= count;
        }
    }
}

/// Fills gaps that save less than their marker costs.
fn mend(rows: &mut [RowState], layout: &Layout) {
    let marker = f64::from(layout.sizes().gap);
    for run in rows.chunk_by_mut(|a, b| a.is_kept == b.is_kept && a.at + 1 == b.at) {
        if run.iter().map(|row| row.tokens).sum::<f64>() <= marker {
            for row in run {
                row.is_kept = true;
            }
        }
    }
}

fn finish(sent: &Sent, held: &Held, index: &CoverageIndex, text: Text<'_>, rows: &[RowState]) -> KeptLines {
    let layout = text.layout;
    let mut kept: Vec<Range<u32>> = Vec::new();
    let mut numbers: Vec<u32> = Vec::new();
    let mut keeps: Vec<Keep> = Vec::new();
    let mut tokens = 0;
    for run in rows.chunk_by(|a, b| a.is_kept == b.is_kept && a.at + 1 == b.at) {
        let (Some(first), Some(last)) = (run.first().filter(|row| row.is_kept), run.last()) else { continue };
        kept.push(first.at as u32..last.at as u32 + 1);
        let places = run.iter().flat_map(|row| text.names_of(row.at).chain(text.line_of(row.at)));
        let of_places = places.filter_map(|place| Some((*held.numbers.get(place)?, *text.worth.get(place)?)));
        let worths: Vec<(u32, f64)> = of_places.collect();
        keeps.push(cause_of(index, &worths));
        numbers.extend(worths.into_iter().map(|(number, _)| number));
        let tokens_of = run.iter().filter_map(|row| layout.rows().get(row.at));
        tokens += tokens_of.map(|row| row.tokens as usize).sum::<usize>();
    }
    numbers.sort_unstable();
    numbers.dedup();
    let sizes = layout.sizes();
    let shown = if kept.is_empty() {
        sizes.marker as usize
    } else {
        layout.tokens_of(tokens) + marker_tokens(layout, &kept)
    };
    let beside = sent.message.tokens.saturating_sub(sizes.text as usize);
    KeptLines {
        tokens: (beside + shown) as u32,
        keeps: keeps.into(),
        rows: kept.into(),
        numbers: numbers.into(),
    }
}

/// The cause of most of the worth of what a run of lines shows, by number.
fn cause_of(index: &CoverageIndex, worths: &[(u32, f64)]) -> Keep {
    let mut sums = Keep::ALL.map(|keep| (0.0, keep));
    for (number, worth) in worths {
        let sum = index.cause(*number).and_then(|keep| sums.iter_mut().find(|(_, of)| *of == keep));
        if let Some((sum, _)) = sum {
            *sum += worth;
        }
    }
    let most = sums.into_iter().filter(|(sum, _)| *sum > 0.0).max_by(|(a, _), (b, _)| a.total_cmp(b));
    most.map_or(Keep::ShortGap, |(_, keep)| keep)
}

/// Tokens of the markers around these lines.
fn marker_tokens(layout: &Layout, kept: &[Range<u32>]) -> usize {
    let starts = kept.iter().map(|run| run.start).chain([layout.rows().len() as u32]);
    let ends = std::iter::once(0).chain(kept.iter().map(|run| run.end));
    let gaps = ends.zip(starts).filter(|(end, start)| end < start).count();
    gaps * layout.sizes().gap as usize + usize::from(gaps > 0) * layout.sizes().once as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::facts::traits::identifiers::Identifier;
    use crate::context::facts::traits::lines::{Line, Sizes, of_texts};
    use proptest::prelude::*;

    /// The rest of a text in which a row is worth `value` for each of its code units, and a code unit costs `price`.
    fn kept(text: &str, value: impl Fn(&str) -> f64, price: f64) -> Vec<bool> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let lines = of_texts([&*units].into_iter());
        let no_names: [Identifier; 0] = [];
        let layout =
            Layout::of(&units, &lines, &no_names, Sizes::default(), <[u16]>::len).expect("has several rows");
        let mut worth = vec![0.0; lines.len()];
        for row in text.lines() {
            let row_units: Vec<u16> = row.encode_utf16().collect();
            if let Some(at) = Line::of(&row_units).and_then(|line| lines.binary_search(&line).ok()) {
                worth[at] = value(row) * row_units.len() as f64;
            }
        }
        let mut rows: Vec<RowState> = (layout.rows().iter().enumerate())
            .map(|(at, row)| RowState { at, tokens: f64::from(row.tokens), is_kept: false })
            .collect();
        Text { layout: &layout, names: 0, worth: &worth }.keep(&mut rows, price);
        rows.iter().map(|row| row.is_kept).collect()
    }

    fn paragraph(name: &str) -> String {
        let rows: Vec<String> = (0..12).map(|i| format!("let {name}_{i:02} = first(second);\n")).collect();
        rows.concat() + "\n"
    }

    #[test]
    fn a_line_stays_if_it_is_worth_its_tokens_and_once() {
        let text = paragraph("dear") + &paragraph("cheap") + &paragraph("dear");
        let kept = kept(&text, |row| if row.contains("dear") { 1.4 } else { 0.2 }, 1.0);
        assert_eq!(kept[..12], [true; 12]);
        assert_eq!(kept[13..], [false; 26], "the cheap ones, and those shown before");
    }

    proptest! {
        #[test]
        fn a_dearer_token_keeps_no_more(
            values in prop::collection::vec(0.0f64..3.0, 12),
            price in 0.1f64..2.0,
        ) {
            let value = |row: &str| values[row[row.len() - 19..row.len() - 17].parse::<usize>().unwrap_or(0) % 12];
            let count = |price: f64| kept(&paragraph("some"), value, price).iter().filter(|kept| **kept).count();
            prop_assert!(count(2.0 * price) <= count(price));
        }
    }
}
