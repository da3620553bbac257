//! Chooses the lines of an old tool result that are worth their tokens: the rest is cut, word for word and in order.
//!
//! An edit quotes lines that stand together and is blind when one of them is gone, so a paragraph stays whole where that
//! pays, and else only its lines with names that are worth it. Lines overlap in the names they show, so the best for their tokens
//! choose first and the others count only what is new in them. A gap costs a marker, and gaps of less are not
//! worth one.

use std::ops::Range;

use super::held::Held;
use super::shown::Shown;
use super::weights::PARAGRAPH_ROWS;
use crate::context::account::{Form, Row as Sent};
use crate::context::plan::{Keep, KeptLines};
use crate::context::traits::lines::Layout;

/// A row while it is being decided about.
struct RowState {
    at: usize,
    tokens: f64,
    is_kept: bool,
}

/// Chooses what stays of a result where a token is worth `price`; `None` if nothing goes.
#[must_use]
pub fn choose(sent: &Sent, held: &Held, shown: &Shown, price: f64) -> Option<KeptLines> {
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
    let worth: Vec<f64> = held.numbers.iter().map(|&number| shown.loss(number, 1)).collect();
    let text = Text { layout, names: sent.message.traits.identifiers.len(), worth: &worth, price };
    Choice { text, is_covered: vec![false; text.names] }.run(&mut rows);
    mend(&mut rows, layout);
    if rows.iter().all(|row| row.is_kept) {
        return None;
    }
    Some(finish(sent, held, shown, text, &rows))
}

/// The cut that leaves nothing of a result but its marker line; `None` where it cannot be cut by line.
#[must_use]
pub fn marker_alone(sent: &Sent) -> Option<KeptLines> {
    let layout = sent.message.traits.layout.as_ref()?;
    Some(KeptLines {
        tokens: (beside(sent, layout) + layout.sizes().marker as usize) as u32,
        keeps: Box::default(),
        rows: Box::default(),
        numbers: Box::default(),
    })
}

/// A text and what its message shows, by place: names first, then lines.
#[derive(Clone, Copy)]
struct Text<'a> {
    layout: &'a Layout,
    /// Number of names that the message shows.
    names: usize,
    /// The worth of each place; nothing where others show the same.
    worth: &'a [f64],
    price: f64,
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

    fn worth_of(self, places: impl IntoIterator<Item = usize>) -> f64 {
        places.into_iter().filter_map(|place| self.worth.get(place)).sum()
    }

    fn is_blank(self, row: &RowState) -> bool {
        let has_line = self.line_of(row.at).is_some();
        !has_line && row.tokens <= 2.0 && self.layout.identifiers(row.at).is_empty()
    }
}

/// Some rows of a paragraph that might stay.
struct Pick {
    /// Their positions in it.
    rows: Vec<usize>,
    /// Names that nothing kept before shows.
    covers: Vec<usize>,
    /// Their worth beyond their tokens.
    net: f64,
}

/// The choice of rows, the paragraphs that are worth most for their tokens first.
struct Choice<'a> {
    text: Text<'a>,
    /// Names that are shown by what is kept so far.
    is_covered: Vec<bool>,
}

impl Choice<'_> {
    fn run(mut self, rows: &mut [RowState]) {
        let mut paragraphs: Vec<(f64, Range<usize>)> = Vec::new();
        for paragraph in self.paragraphs(rows) {
            let Some(of) = rows.get(paragraph.clone()) else { continue };
            let tokens: f64 = of.iter().map(|row| row.tokens).sum();
            let whole = self.whole(of);
            paragraphs.push(((whole.net + self.text.price * tokens) / tokens.max(1.0), paragraph));
        }
        paragraphs.sort_by(|(a, first), (b, second)| b.total_cmp(a).then(first.start.cmp(&second.start)));
        for (_, paragraph) in paragraphs {
            let Some(of) = rows.get_mut(paragraph) else { continue };
            let (whole, best) = (self.whole(of), self.best(of));
            let kept = if whole.net > 0.0 && whole.net >= best.net { whole } else { best };
            self.cover(&kept.covers, true);
            for at in kept.rows {
                let Some(row) = of.get_mut(at) else { continue };
                row.is_kept = true;
            }
        }
    }

    /// The runs between blank rows and earlier gaps, in order.
    fn paragraphs(&self, rows: &[RowState]) -> Vec<Range<usize>> {
        let mut paragraphs = Vec::new();
        let mut start = 0;
        for (i, row) in rows.iter().enumerate() {
            let len = i + 1 - start;
            let goes_on = rows.get(i + 1).is_some_and(|next| next.at == row.at + 1);
            let is_full = len >= PARAGRAPH_ROWS && self.text.is_blank(row);
            if !goes_on || is_full {
                paragraphs.push(start..i + 1);
                start = i + 1;
            }
        }
        paragraphs
    }

    /// All rows of a paragraph: its lines serve an edit together.
    fn whole(&mut self, rows: &[RowState]) -> Pick {
        let text = self.text;
        self.pick(rows, 0..rows.len(), |row| text.worth_of(text.line_of(row.at)), |_, _| true)
    }

    /// Those whose names are worth their tokens.
    fn best(&mut self, rows: &[RowState]) -> Pick {
        let text = self.text;
        let value = |row: &RowState| text.worth_of(text.names_of(row.at).filter(|&place| self.is_new(place)));
        let mut order: Vec<(f64, usize)> =
            rows.iter().enumerate().map(|(i, row)| (value(row) / row.tokens.max(1.0), i)).collect();
        order.retain(|(value, _)| *value > 0.0);
        order.sort_by(|(a, first), (b, second)| b.total_cmp(a).then(first.cmp(second)));
        let is_worth_it = |row: &RowState, value: f64| value >= text.price * row.tokens;
        self.pick(rows, order.into_iter().map(|(_, i)| i), |_| 0.0, is_worth_it)
    }

    /// Takes rows in this order, as they pass by their worth: what names they show that none before them does, and what else.
    fn pick(
        &mut self,
        rows: &[RowState],
        order: impl Iterator<Item = usize>,
        beside_names: impl Fn(&RowState) -> f64,
        passes: impl Fn(&RowState, f64) -> bool,
    ) -> Pick {
        let mut pick = Pick { rows: Vec::new(), covers: Vec::new(), net: 0.0 };
        for i in order {
            let Some(row) = rows.get(i) else { continue };
            let new: Vec<usize> = self.text.names_of(row.at).filter(|&place| self.is_new(place)).collect();
            let value = self.text.worth_of(new.iter().copied()) + beside_names(row);
            if !passes(row, value) {
                continue;
            }
            pick.rows.push(i);
            pick.net += value - self.text.price * row.tokens;
            self.cover(&new, true);
            pick.covers.extend(new);
        }
        self.cover(&pick.covers, false);
        pick
    }

    fn is_new(&self, place: usize) -> bool {
        self.is_covered.get(place).is_some_and(|is_covered| !is_covered)
    }

    fn cover(&mut self, places: &[usize], is_covered: bool) {
        for &place in places {
            if let Some(of) = self.is_covered.get_mut(place) {
                *of = is_covered;
            }
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

fn finish(sent: &Sent, held: &Held, shown: &Shown, text: Text<'_>, rows: &[RowState]) -> KeptLines {
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
        keeps.push(cause_of(shown, &worths));
        numbers.extend(worths.into_iter().map(|(number, _)| number));
        let tokens_of = run.iter().filter_map(|row| layout.rows().get(row.at));
        tokens += tokens_of.map(|row| row.tokens as usize).sum::<usize>();
    }
    numbers.sort_unstable();
    numbers.dedup();
    let tokens = layout.tokens_of(tokens) + marker_tokens(layout, &kept);
    KeptLines {
        tokens: (beside(sent, layout) + tokens) as u32,
        keeps: keeps.into(),
        rows: kept.into(),
        numbers: numbers.into(),
    }
}

/// The cause of most of the worth of what a run of lines shows, by number.
fn cause_of(shown: &Shown, worths: &[(u32, f64)]) -> Keep {
    let mut sums = Keep::ALL.map(|keep| (0.0, keep));
    for (number, worth) in worths {
        let sum = shown.cause(*number).and_then(|keep| sums.iter_mut().find(|(_, of)| *of == keep));
        if let Some((sum, _)) = sum {
            *sum += worth;
        }
    }
    let most = sums.into_iter().filter(|(sum, _)| *sum > 0.0).max_by(|(a, _), (b, _)| a.total_cmp(b));
    most.map_or(Keep::ShortGap, |(_, keep)| keep)
}

/// Tokens of what a message shows beside its text.
fn beside(sent: &Sent, layout: &Layout) -> usize {
    sent.message.tokens.saturating_sub(layout.sizes().text as usize)
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
    use crate::context::traits::identifiers::Identifier;
    use crate::context::traits::lines::{Line, Sizes, of_texts};
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
        let text = Text { layout: &layout, names: 0, worth: &worth, price };
        Choice { text, is_covered: Vec::new() }.run(&mut rows);
        rows.iter().map(|row| row.is_kept).collect()
    }

    fn paragraph(name: &str) -> String {
        let rows: Vec<String> = (0..12).map(|i| format!("let {name}_{i:02} = first(second);\n")).collect();
        rows.concat() + "\n"
    }

    #[test]
    fn a_paragraph_stays_or_goes_as_a_whole() {
        let text = paragraph("dear") + &paragraph("cheap");
        // Some lines of the first are worth less than their tokens, and some of the second more.
        let value = |row: &str| match (row.contains("dear"), row.contains("_03") || row.contains("_07")) {
            (true, true) => 0.5,
            (true, false) | (false, true) => 1.3,
            (false, false) => 0.2,
        };
        let kept = kept(&text, value, 1.0);
        assert_eq!(kept[..13], [true; 13], "an edit of it would be blind without any");
        assert_eq!(kept[13..], [false; 13], "two lines alone serve no edit");
        assert!(kept.len() == 26);
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
