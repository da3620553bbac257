//! Chooses the lines of an old tool result that are worth their tokens, and cuts the rest.
//!
//! A line counts only names that no kept line above it shows. A gap must save more than its marker costs.

use std::ops::Range;

use super::pieces::MessagePieces;
use super::view::View;
use crate::context::facts::traits::lines::Layout;
use crate::context::request::account::{Form, Row};
use crate::context::request::plan::{Keep, KeptLines};

/// A row of the text that is sent, and whether it stays.
struct RowChoice {
    at: usize,
    tokens: f64,
    is_kept: bool,
}

/// Chooses the lines of a result that stay at `price` a token; `None` if all stay. If none stays, only the marker line is sent.
pub fn choose(sent: &Row, pieces: &MessagePieces, view: &View<'_>, price: f64) -> Option<KeptLines> {
    let layout = sent.message.traits.layout.as_ref()?;
    let worth = pieces.whole.iter().map(|&id| view.loss(id, 1)).collect();
    let mut lines =
        worthy(layout, &sent.rows_as(sent.form()), sent.message.traits.identifiers.len(), worth, price);
    // The first cut keeps the head and tail that the host set, unless a limit demands more. A later cut keeps them if any line
    // is worth its tokens.
    if *sent.form() == Form::Whole || lines.iter().any(|line| line.is_kept) {
        for line in lines.iter_mut().filter(|_| price.is_finite()) {
            line.is_kept |= layout.is_end(line.at);
        }
        fill_gaps(&mut lines, f64::from(layout.sizes.gap));
    }
    lines.iter().any(|line| !line.is_kept).then(|| kept_lines(sent, pieces, view, layout, &lines))
}

/// Keeps the rows that are worth their tokens: by their line and the names that no kept row before shows. `worth` holds the
/// message's `names` names, then its lines.
fn worthy(layout: &Layout, rows: &[usize], names: usize, mut worth: Vec<f64>, price: f64) -> Vec<RowChoice> {
    let choose = |&at: &usize| {
        let tokens = layout.rows.get(at).map_or(0.0, |row| f64::from(row.tokens));
        let of_line: f64 = layout.places(at, names).filter_map(|place| worth.get(place)).sum();
        let is_kept = of_line >= price * tokens.max(1.0);
        for place in layout.places(at, names).filter(|_| is_kept) {
            worth.get_mut(place).into_iter().for_each(|worth| *worth = 0.0);
        }
        RowChoice { at, tokens, is_kept }
    };
    rows.iter().map(choose).collect()
}

/// Keeps the lines of gaps that save no more than their marker costs.
fn fill_gaps(lines: &mut [RowChoice], marker: f64) {
    for run in lines.chunk_by_mut(is_one_run) {
        if run.iter().map(|line| line.tokens).sum::<f64>() <= marker {
            for line in run {
                line.is_kept = true;
            }
        }
    }
}

fn is_one_run(one: &RowChoice, next: &RowChoice) -> bool {
    one.is_kept == next.is_kept && one.at + 1 == next.at
}

fn kept_lines(
    sent: &Row,
    pieces: &MessagePieces,
    view: &View<'_>,
    layout: &Layout,
    lines: &[RowChoice],
) -> KeptLines {
    let kept = lines.chunk_by(is_one_run).filter(|run| run.iter().all(|line| line.is_kept));
    let with_cause = |run: &[RowChoice]| {
        let rows = run.first()?.at as u32..run.last()?.at as u32 + 1;
        Some((rows, cause_of(view, &pieces.of_rows(sent, run.iter().map(|line| line.at)))))
    };
    let runs: Box<[(Range<u32>, Keep)]> = kept.filter_map(with_cause).collect();
    let sizes = layout.sizes;
    let shown = if runs.is_empty() {
        sizes.marker as usize
    } else {
        let tokens: f64 = lines.iter().filter(|line| line.is_kept).map(|line| line.tokens).sum();
        layout.tokens_of(tokens as usize) + marker_tokens(layout, &runs)
    };
    let beside = sent.message.tokens.saturating_sub(sizes.text as usize);
    KeptLines { runs, tokens: (beside + shown) as u32 }
}

/// The cause of the piece worth most in a run of lines.
fn cause_of(view: &View<'_>, ids: &[u32]) -> Keep {
    let worth = ids.iter().map(|&id| (view.loss(id, 1), id));
    let most = worth.filter(|(worth, _)| *worth > 0.0).max_by(|(a, _), (b, _)| a.total_cmp(b));
    most.and_then(|(_, id)| view.index.cause(id)).unwrap_or(Keep::ShortGap)
}

/// Tokens of the markers around these lines.
fn marker_tokens(layout: &Layout, kept: &[(Range<u32>, Keep)]) -> usize {
    let starts = kept.iter().map(|(run, _)| run.start).chain([layout.rows.len() as u32]);
    let ends = std::iter::once(0).chain(kept.iter().map(|(run, _)| run.end));
    let gaps = ends.zip(starts).filter(|(end, start)| end < start).count();
    gaps * layout.sizes.gap as usize + usize::from(gaps > 0) * layout.sizes.once as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::facts::traits::identifiers::Identifier;
    use crate::context::facts::traits::lines::{self, Sizes, of_texts};
    use proptest::prelude::*;

    /// The rest of a text in which a row is worth `value` for each of its code units, and a code unit costs `price`.
    fn kept(text: &str, value: impl Fn(&str) -> f64, price: f64) -> Vec<bool> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let lines_of_text = of_texts([&*units].into_iter());
        let no_names: [Identifier; 0] = [];
        let layout = Layout::of(&units, &lines_of_text, &no_names, Sizes::default(), <[u16]>::len)
            .expect("has several rows");
        let mut worth = vec![0.0; lines_of_text.len()];
        for row in text.lines() {
            let row_units: Vec<u16> = row.encode_utf16().collect();
            if let Some(at) =
                lines::Line::of(&row_units).and_then(|line| lines_of_text.binary_search(&line).ok())
            {
                worth[at] = value(row) * row_units.len() as f64;
            }
        }
        let rows: Vec<usize> = (0..layout.rows.len()).collect();
        worthy(&layout, &rows, 0, worth, price).iter().map(|line| line.is_kept).collect()
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
