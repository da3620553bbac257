//! Old images: the newest of those that old tool results brought stay, and no request holds more than the provider takes.
//!
//! A marker takes the place of each. Images in user messages always stay.

use super::{Limits, tool_results};
use crate::context::account::{Account, ImageSize};
use crate::context::plan::{Layer, Reason};
use crate::context::transcript::Assistant;

/// Most images of a request and most of its characters, by protocol: as published in November 2026. The size is that of the
/// whole request, so an eighth of it is left to texts.
const PROVIDER_LIMITS: [(&str, ImageSize); 6] = [
    ("anthropic-messages", megabytes(100, 32)),
    ("bedrock-converse-stream", megabytes(20, 20)),
    ("mistral-conversations", megabytes(8, 20)),
    ("google-generative-ai", megabytes(3000, 20)),
    ("google-vertex", megabytes(3000, 20)),
    ("google-gemini-cli", megabytes(3000, 20)),
];
/// OpenAI's, and of protocols that are not known.
const OTHER_LIMITS: ImageSize = megabytes(500, 50);
/// Claude takes more images where the window is larger than this.
const CLAUDE_LARGE_WINDOW: f64 = 200_000.0;
const CLAUDE_LARGE_COUNT: usize = 600;
/// Of what the provider takes, how much is left when images had to go: else they would have to at the next call again.
const ROOM_SHARE: (usize, usize) = (9, 10);

const fn megabytes(count: usize, megabytes: usize) -> ImageSize {
    ImageSize { count, chars: megabytes * 1024 * 1024 / 8 * 7 }
}

/// The limits of the provider of the newest answer.
fn provider_limits(account: &Account, limits: &Limits) -> ImageSize {
    let newest = account.rows().newest_first().find_map(|(_, row)| row.message.assistant());
    let api = newest.map_or("", |Assistant { source, .. }| &source.api);
    let listed = PROVIDER_LIMITS.iter().find(|(name, _)| *name == api).map_or(OTHER_LIMITS, |(_, of)| *of);
    if api == "anthropic-messages" && limits.context_window > CLAUDE_LARGE_WINDOW {
        return ImageSize { count: CLAUDE_LARGE_COUNT, ..listed };
    }
    listed
}

/// Leaves out the old ones, also of what the window passes by: it may let that in again, without them.
pub fn omit_old(account: &mut Account, limits: &Limits) {
    let Some(&newest) = tool_results::old(account, limits).last() else { return };
    let mut left = limits.keep_recent_images;
    let pictured: Vec<usize> = account.pictured().iter().copied().filter(|&index| index <= newest).collect();
    for index in pictured.into_iter().rev() {
        let Some(row) = account.row(index) else { continue };
        let (standing, all) = (row.images_as(row.edit.0).count, row.message.images.lens.len());
        let out = standing.saturating_sub(left);
        left = left.saturating_sub(standing);
        if out > 0 && may_lose(account, index) {
            account.omit_images(index, (all - standing + out) as u32, Layer::ToolResults, Reason::OldImage);
        }
    }
}

/// Returns `true` if a request would hold more than the provider takes, and some of it may go.
pub fn is_over(account: &Account, limits: &Limits) -> bool {
    exceeds(account.images(), provider_limits(account, limits))
        && account.pictured().iter().any(|&index| count(account, index).0 > 0 && may_lose(account, index))
}

/// Leaves out the oldest of what tools brought until the request holds no more than the provider takes.
pub fn fit(account: &mut Account, limits: &Limits) {
    let ImageSize { count: most, chars } = provider_limits(account, limits);
    if !exceeds(account.images(), ImageSize { count: most, chars }) {
        return;
    }
    let (part, whole) = ROOM_SHARE;
    let room = ImageSize { count: most * part / whole, chars: chars / whole * part };
    for index in account.pictured().to_vec() {
        if !may_lose(account, index) {
            continue;
        }
        let (sent, all) = count(account, index);
        for out in all - sent + 1..=all {
            if !exceeds(account.images(), room) {
                return;
            }
            account.omit_images(index, out as u32, Layer::Shrink, Reason::TooManyImages);
        }
    }
}

fn exceeds(images: ImageSize, most: ImageSize) -> bool {
    images.count > most.count || images.chars > most.chars
}

/// Images of a message that are sent, and all of them.
fn count(account: &Account, index: usize) -> (usize, usize) {
    account.row(index).map_or((0, 0), |row| (row.images().count, row.message.images.lens.len()))
}

fn may_lose(account: &Account, index: usize) -> bool {
    let result = account.message(index).and_then(|message| message.tool_result());
    result.is_some_and(|result| !result.is_excluded)
}
