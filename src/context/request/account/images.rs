//! Images that a model does not get: those that it refused, and all of them where the host or a refusal says that it takes none.

use super::{Account, Row};
use crate::context::facts::transcript::{Message, Source};
use crate::context::request::plan::{Layer, Reason};
use crate::tokens::estimate::Size;

impl Account {
    /// Leaves out the images that a model refused: those behind the last accepted request, or all if these were refused before,
    /// or if the model takes none.
    pub(super) fn refuse_images(&mut self, source: &Source, is_blind: bool) {
        let accepted = self.rows.iter().rposition(|row| row.message.sent_assistant().is_some()).unwrap_or(0);
        let may_be = |row: &Row| row.refused_images.is_none() || row.message.is_protected;
        let is_new = |&index: &usize| index >= accepted && self.row(index).is_some_and(may_be);
        let first = if !is_blind && self.pictured.iter().any(is_new) { accepted } else { 0 };
        for index in self.pictured.clone().into_iter().filter(|&index| index >= first) {
            self.leave_out_images(index);
        }
        self.blind = is_blind.then(|| source.clone());
        self.accepted_by.clear();
        for (index, row) in self.rows.iter().enumerate().rev() {
            let Some(of) = row.message.sent_assistant().map(|answer| &answer.source) else { continue };
            if of != source && self.accepted_by.iter().all(|(known, _)| known != of) {
                self.accepted_by.push((of.clone(), index));
            }
        }
    }

    /// Leaves out all images if the next requests go to a model that takes none, else shows them again.
    pub fn send_to(&mut self, is_blind: bool) {
        if is_blind == self.is_blind {
            return;
        }
        self.is_blind = is_blind;
        for index in self.pictured.clone() {
            let size = self.message(index).map_or(Size::default(), images_of);
            if is_blind {
                self.raw = self.raw.minus(size);
                self.leave_out_images(index);
            } else {
                self.raw = self.raw.plus(size);
                self.show_images(index);
            }
        }
    }

    /// Leaves out refused images, unless the host protects the message.
    pub(super) fn leave_out_images(&mut self, index: usize) {
        let Some(row) = self.rows.get_mut(index).filter(|row| !row.message.is_protected) else { return };
        let all = row.message.images.lens.len() as u32;
        row.refused_images.get_or_insert(row.sent.images_out);
        self.omit_images(index, all, Layer::Shrink, Reason::TooManyImages);
    }

    /// Shows refused images again after an answer: those that its model had accepted, or all if another model takes none.
    pub(super) fn show_images_again(&mut self, source: &Source) {
        let is_other = self.blind.as_ref().is_some_and(|blind| blind != source);
        let accepted = self.accepted_by.iter().find(|(of, _)| of == source).map(|(_, index)| *index);
        let Some(end) = accepted.max(is_other.then_some(self.rows.len())) else { return };
        self.accepted_by.retain(|(_, index)| *index > end);
        self.blind.take_if(|_| is_other);
        for index in self.pictured.clone().into_iter().take_while(|&index| index < end) {
            self.show_images(index);
        }
    }

    fn show_images(&mut self, index: usize) {
        let refused = self.rows.get_mut(index).and_then(|row| row.refused_images.take());
        if let Some(before) = refused {
            self.change(index, |row| row.sent.images_out = before);
        }
    }
}

/// The tokens saved by a marker in place of each image of a message; 0 if the host protects it.
pub(super) fn images_of(message: &Message) -> Size {
    let count = if message.is_protected { 0 } else { message.images.lens.len() };
    Size { cl100k: message.images.tokens_saved as usize * count, ..Size::default() }
}
