//! Old images: the newest stay, whoever sent them, and no request holds more than the provider accepts.
//!
//! A marker replaces each omitted image. Images of the open turn (the user's, and those of the newest results) and images without an
//! answer after them stay if the provider accepts them.

use super::{Limits, tool_results};
use crate::context::facts::transcript::{Assistant, Message};
use crate::context::request::account::{Account, ImageSize};
use crate::context::request::plan::{Layer, Reason};
use crate::contract::IMAGE_LIMITS;

/// Divisor of a limit for the room that omitting images leaves free: else the next call would have to omit some again.
const FREE_PART: usize = 10;
/// Largest limit on images of which nothing stays free.
const FEW: usize = 2;
/// Share of a request's size for images: the rest is for texts.
const SIZE_SHARE: (usize, usize) = (7, 8);
/// Number of old images that makes a batch. A batch rewrites the 8 that stay, at 1.15 of the input price more than reading;
/// carrying an old one costs 0.1 a call. The square root of 2 x 8 x 1.15 / 0.1 costs least.
const BATCH: usize = 14;

/// The limits on images: the table's for the protocol of the newest answer, or the lower ones that refusals taught. The table's
/// last row is for protocols that it does not name.
fn provider_limits(account: &Account, limits: &Limits) -> ImageSize {
    let newest = account.newest_first().find_map(|(_, row)| row.message.assistant());
    let api = newest.map_or("", |Assistant { source, .. }| &source.api);
    let holds = |&&(name, least_window, ..): &&(&str, f64, usize, usize, usize)| {
        (name == api || name.is_empty()) && limits.context_window > least_window
    };
    let Some(&(_, _, count, megabytes, largest)) = IMAGE_LIMITS.iter().find(holds) else {
        return limits.most_images;
    };
    let (part, whole) = SIZE_SHARE;
    let [chars, largest] = [megabytes, largest].map(|megabytes| megabytes * 1024 * 1024);
    ImageSize { count, chars: chars / whole * part, largest }.min(limits.most_images)
}

/// Omits old images, even of hidden messages: the window may show these again, without them.
pub fn omit_old(account: &mut Account, limits: &Limits) {
    for (index, out) in old(account, limits) {
        account.omit_images(index, out as u32, Layer::ToolResults, Reason::OldImage);
    }
}

/// Returns `true` if the request holds enough old images for a batch.
pub fn are_many(account: &Account, limits: &Limits) -> bool {
    let more = old(account, limits).into_iter().map(|(index, out)| {
        let (sent, all) = count(account, index);
        out.saturating_sub(all - sent)
    });
    more.sum::<usize>() >= BATCH
}

/// Messages with images that are too old to stay, and the number of first images to omit of each.
fn old(account: &Account, limits: &Limits) -> Vec<(usize, usize)> {
    let unanswered = account.seen_end();
    let open_turn = account.last_user().unwrap_or(0).min(unanswered);
    let newest_results = tool_results::old_before(account, limits).clamp(open_turn, unanswered);
    let mut left = limits.keep_recent_images;
    let mut old = Vec::new();
    for &index in account.pictured().iter().rev() {
        let Some(row) = account.row(index) else { continue };
        let (shown, all) = (row.images_as(&row.sent.form).count, row.message.images.lens.len());
        let out = shown.saturating_sub(left);
        left = left.saturating_sub(shown);
        let is_old = index < if row.message.is_tool_result() { newest_results } else { open_turn };
        if out > 0 && is_old && may_lose(account, index) {
            old.push((index, all - shown + out));
        }
    }
    old
}

/// Returns `true` if the images are over the provider's limits and some of them may go.
pub fn is_over(account: &Account, limits: &Limits) -> bool {
    let most = provider_limits(account, limits);
    let images = account.images();
    let may_go = |&index: &usize| count(account, index).0 > 0 && may_lose(account, index);
    exceeds(images, most) && account.pictured().iter().any(may_go)
        || images.largest > most.largest && !too_large(account, most).is_empty()
}

/// Characters of the sent images that may go.
pub fn chars_that_may_go(account: &Account) -> usize {
    let rows = account.pictured().iter().filter(|&&index| may_lose(account, index));
    rows.filter_map(|&index| account.row(index)).map(|row| row.images().chars).sum()
}

/// Messages with an image that is too large by itself and may go; the number of first images to omit of each.
fn too_large(account: &Account, most: ImageSize) -> Vec<(usize, usize)> {
    let lost = |&index: &usize| {
        let lens = &account.message(index)?.images.lens;
        let out = lens.iter().rposition(|&len| len as usize > most.largest)? + 1;
        (out > lens.len() - count(account, index).0 && may_lose(account, index)).then_some((index, out))
    };
    account.pictured().iter().filter_map(lost).collect()
}

/// Omits images that were answered, the oldest first, until the request `fits`.
pub fn omit_answered(account: &mut Account, fits: impl Fn(&Account) -> bool) {
    let open_turn = account.last_user().unwrap_or(0).min(account.seen_end());
    for index in account.pictured().to_vec() {
        if index >= open_turn || !may_lose(account, index) {
            continue;
        }
        let (sent, all) = count(account, index);
        for out in all - sent + 1..=all {
            if fits(account) {
                return;
            }
            account.omit_images(index, out as u32, Layer::Shrink, Reason::OverWindow);
        }
    }
}

/// Omits images until the request is within the provider's limits: those that are too large, then the oldest of tools, then
/// the oldest of the user, and those of the open turn last.
pub fn fit(account: &mut Account, limits: &Limits) {
    let most = provider_limits(account, limits);
    for (index, out) in too_large(account, most) {
        account.omit_images(index, out as u32, Layer::Shrink, Reason::TooManyImages);
    }
    let mut left = account.images();
    if !exceeds(left, most) {
        return;
    }
    let part = |most: usize| if most > FEW { most - most.div_ceil(FREE_PART) } else { most };
    let room = ImageSize { count: part(most.count), chars: part(most.chars), ..most };
    let last_user = account.last_user();
    let mut pictured: Vec<usize> = account.pictured().to_vec();
    pictured.sort_by_key(|&index| {
        let is_result = account.message(index).is_some_and(Message::is_tool_result);
        (Some(index) == last_user, !is_result, index)
    });
    for index in pictured {
        if !may_lose(account, index) {
            continue;
        }
        let (sent, all) = count(account, index);
        for out in all - sent + 1..=all {
            if !exceeds(left, room) {
                return;
            }
            let len = account.message(index).and_then(|message| message.images.lens.get(out - 1).copied());
            account.omit_images(index, out as u32, Layer::Shrink, Reason::TooManyImages);
            (left.count, left.chars) = (left.count - 1, left.chars - len.unwrap_or(0) as usize);
        }
    }
}

fn exceeds(images: ImageSize, most: ImageSize) -> bool {
    images.count > most.count || images.chars > most.chars
}

/// Number of images sent, and number of images in the message.
fn count(account: &Account, index: usize) -> (usize, usize) {
    account.row(index).map_or((0, 0), |row| (row.images().count, row.message.images.lens.len()))
}

fn may_lose(account: &Account, index: usize) -> bool {
    account.message(index).is_some_and(|message| {
        !message.is_protected && message.tool_result().is_none_or(|result| !result.is_excluded)
    })
}
