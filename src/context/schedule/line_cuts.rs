//! Chooses the lines of an old tool result that are worth their tokens: the rest is cut, word for word and in order.
//!
//! An edit quotes lines that stand together and is blind when one of them is gone, so a paragraph stays whole where that
//! pays, and else only for its best lines. Lines overlap in what they show, so the best for their tokens choose first and
//! the others count only what is new in them. A gap costs a marker: short gaps are not worth one, nor are lone lines
//! between two.

use std::ops::Range;

use super::held::Held;
use super::ledger::Ledger;
use super::lines::Lines;
use super::weights::{LONE_LINE_SHARE, PARAGRAPH_ROWS, SHORT_GAP};
use crate::context::account::{Form, Row as Sent};
use crate::context::plan::{Keep, KeptLines};
use crate::context::traits::lines::Layout;

/// A row while it is being decided about.
struct Row {
    at: usize,
    tokens: f64,
    /// The worth it adds to those kept before it.
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
            value: 0.0,
            is_kept: false,
        })
        .collect();
    Choice { layout, worth: &worth, price, is_covered: vec![false; identifier_worth.len()] }.run(&mut rows);
    mend(&mut rows, layout, price);
    if rows.iter().all(|row| row.is_kept) {
        return None;
    }
    Some(finish(sent, &causes, layout, &rows, &worth))
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
        lines: Box::default(),
    })
}

/// What the things a message shows are worth, by their positions in it; nothing where others show them too.
struct Worth<'a> {
    identifiers: &'a [f64],
    lines: &'a [f64],
}

impl Worth<'_> {
    /// The worth of the identifiers of a row, those that do not count left out.
    fn of_identifiers(&self, layout: &Layout, at: usize, counts: impl Fn(usize) -> bool) -> f64 {
        let places = layout.identifiers(at).iter().map(|&place| place as usize);
        places.filter(|&place| counts(place)).filter_map(|place| self.identifiers.get(place)).sum()
    }

    /// The worth of a row to edits.
    fn of_line(&self, layout: &Layout, at: usize) -> f64 {
        let line = layout.rows().get(at).and_then(|row| self.lines.get(row.line? as usize));
        line.copied().unwrap_or(0.0)
    }
}

/// Some rows of a paragraph that might stay.
struct Pick {
    /// Their positions in it, with what each adds.
    rows: Vec<(usize, f64)>,
    /// Identifiers that nothing kept before shows.
    covers: Vec<usize>,
    /// Their worth beyond their tokens.
    net: f64,
}

/// The choice of rows, the paragraphs that are worth most for their tokens first.
struct Choice<'a> {
    layout: &'a Layout,
    worth: &'a Worth<'a>,
    price: f64,
    /// Identifiers that are shown by what is kept so far.
    is_covered: Vec<bool>,
}

impl Choice<'_> {
    fn run(mut self, rows: &mut [Row]) {
        let mut paragraphs: Vec<(f64, Range<usize>)> = Vec::new();
        for paragraph in self.paragraphs(rows) {
            let Some(of) = rows.get(paragraph.clone()) else { continue };
            let tokens: f64 = of.iter().map(|row| row.tokens).sum();
            let whole = self.whole(of);
            paragraphs.push(((whole.net + self.price * tokens) / tokens.max(1.0), paragraph));
        }
        paragraphs.sort_by(|(a, first), (b, second)| b.total_cmp(a).then(first.start.cmp(&second.start)));
        for (_, paragraph) in paragraphs {
            let Some(of) = rows.get_mut(paragraph) else { continue };
            let (whole, best) = (self.whole(of), self.best(of));
            let kept = if whole.net > 0.0 && whole.net >= best.net { whole } else { best };
            self.cover(&kept.covers, true);
            for (at, value) in kept.rows {
                let Some(row) = of.get_mut(at) else { continue };
                (row.is_kept, row.value) = (true, value);
            }
        }
    }

    /// The runs between blank rows and earlier gaps, in order.
    fn paragraphs(&self, rows: &[Row]) -> Vec<Range<usize>> {
        let is_blank = |row: &Row| {
            let line = self.layout.rows().get(row.at).and_then(|row| row.line);
            line.is_none() && row.tokens <= 2.0 && self.layout.identifiers(row.at).is_empty()
        };
        let mut paragraphs = Vec::new();
        let mut start = 0;
        for (i, row) in rows.iter().enumerate() {
            let len = i + 1 - start;
            let goes_on = rows.get(i + 1).is_some_and(|next| next.at == row.at + 1);
            let is_full = len >= PARAGRAPH_ROWS.end || (len >= PARAGRAPH_ROWS.start && is_blank(row));
            if !goes_on || is_full {
                paragraphs.push(start..i + 1);
                start = i + 1;
            }
        }
        paragraphs
    }

    /// All rows of a paragraph.
    fn whole(&mut self, rows: &[Row]) -> Pick {
        self.pick(rows, 0..rows.len(), 1.0, |_, _| true)
    }

    /// Those that are worth their tokens by themselves.
    fn best(&mut self, rows: &[Row]) -> Pick {
        let mut order: Vec<(f64, usize)> = Vec::with_capacity(rows.len());
        for (i, row) in rows.iter().enumerate() {
            let names = self.worth.of_identifiers(self.layout, row.at, |place| self.is_new(place));
            let value = names + LONE_LINE_SHARE * self.worth.of_line(self.layout, row.at);
            if value > 0.0 {
                order.push((value / row.tokens.max(1.0), i));
            }
        }
        order.sort_by(|(a, first), (b, second)| b.total_cmp(a).then(first.cmp(second)));
        let price = self.price;
        let is_worth_it = |row: &Row, value: f64| value >= price * row.tokens;
        self.pick(rows, order.into_iter().map(|(_, i)| i), LONE_LINE_SHARE, is_worth_it)
    }

    /// Takes rows in this order, as they pass; each counts only what none before it shows.
    fn pick(
        &mut self,
        rows: &[Row],
        order: impl Iterator<Item = usize>,
        line_share: f64,
        passes: impl Fn(&Row, f64) -> bool,
    ) -> Pick {
        let mut pick = Pick { rows: Vec::new(), covers: Vec::new(), net: 0.0 };
        for i in order {
            let Some(row) = rows.get(i) else { continue };
            let names = self.worth.of_identifiers(self.layout, row.at, |place| self.is_new(place));
            let value = names + line_share * self.worth.of_line(self.layout, row.at);
            if !passes(row, value) {
                continue;
            }
            pick.rows.push((i, value));
            pick.net += value - self.price * row.tokens;
            let places = self.layout.identifiers(row.at).iter().map(|&place| place as usize);
            let new: Vec<usize> = places.filter(|&place| self.is_new(place)).collect();
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

/// Fills gaps that save less than their marker costs, and lets go of lone lines worth less than one more marker.
fn mend(rows: &mut [Row], layout: &Layout, price: f64) {
    let marker = f64::from(layout.sizes().gap);
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

/// The source of a line's worth.
struct Causes<'a> {
    held: &'a Held,
    ledger: &'a Ledger,
    lines: &'a Lines,
}

impl Causes<'_> {
    /// The source of most of the worth of these lines.
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
    let tokens = layout.tokens_of(tokens) + marker_tokens(layout, &kept);
    KeptLines {
        tokens: (beside(sent, layout) + tokens) as u32,
        keeps: kept.iter().map(|run| causes.of(layout, run.clone(), worth)).collect(),
        rows: kept.into(),
        numbers,
        lines: lines.into(),
    }
}

/// Tokens of what a message shows beside its text.
fn beside(sent: &Sent, layout: &Layout) -> usize {
    sent.message.tokens.saturating_sub(layout.sizes().text as usize)
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
        let mut rows: Vec<Row> = (layout.rows().iter().enumerate())
            .map(|(at, row)| Row { at, tokens: f64::from(row.tokens), value: 0.0, is_kept: false })
            .collect();
        let worth = Worth { identifiers: &[], lines: &worth };
        Choice { layout: &layout, worth: &worth, price, is_covered: Vec::new() }.run(&mut rows);
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

    #[test]
    fn a_lone_line_stays_where_it_is_worth_its_tokens_by_itself() {
        let kept = kept(&paragraph("cheap"), |row| if row.contains("_03") { 4.0 } else { 0.0 }, 1.0);
        assert_eq!(kept.iter().filter(|kept| **kept).count(), 1);
        assert!(kept[3]);
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
