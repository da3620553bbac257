//! The account of a request: the form of every message, and the sum of their tokens.
//! Both schedules decide on it, each layer reads and edits it, and the plan is made from it. It grows with the transcript
//! and holds no text.

mod edits;
mod images;
mod row;
mod sides;

use std::collections::BTreeSet;

use self::edits::Trial;
use self::images::images_of;
pub use self::row::{Form, ImageSize, Row, Sent};
use crate::context::facts::transcript::{Assistant, Body, Link, Message, Refusal, Source, Transcript};
use crate::context::request::plan::{Edit, Layer, Plan, Reason};
use crate::contract::Subject;
use crate::tokens::estimate::Size;

/// The messages of a transcript so far, and the form in which each is sent.
#[derive(Clone, Debug, Default)]
pub struct Account {
    rows: Vec<Row>,
    /// Messages that are sent in some form.
    live: BTreeSet<usize>,
    raw: Size,
    sent: Size,
    results: Vec<usize>,
    /// Messages that came with images.
    pictured: Vec<usize>,
    thinkers: Vec<usize>,
    /// After a refusal of images: the other models, each with its last accepted answer before it.
    accepted_by: Vec<(Source, usize)>,
    /// The model that said that it takes no images, until another one answers.
    blind: Option<Source>,
    /// True if the host says that the model takes no images.
    is_blind: bool,
    /// The first message that a provider sees as a turn.
    first_turn: Option<usize>,
    first_user: Option<usize>,
    last_user: Option<usize>,
    /// The last user message before each protected message. Without it two answers would be side by side.
    questions: BTreeSet<usize>,
    /// True if an answer is from a provider that wants the user's side and the answers to alternate.
    alternates: bool,
    /// True if two messages of one side may be adjacent since [`Self::restore_sides`].
    is_unsettled: bool,
    /// First message whose form changed since the last `take_changed`, trials included.
    changed: Option<usize>,
    trial: Option<Trial>,
    /// The oldest message changed since the last `take_oldest_touched`. The end of a trial resets it.
    oldest_touched: Option<usize>,
    /// The edits of the last plan, and the first row changed since: in a long conversation few rows change.
    planned: Vec<Edit>,
    unplanned: usize,
}

impl Account {
    /// The account of a whole transcript, unedited but for orphan results.
    pub fn of(transcript: &Transcript) -> Self {
        let mut account = Self::default();
        for index in 0..transcript.messages().len() {
            account.enter(transcript, index);
        }
        account
    }

    /// Adds the message at `index`, the next one of `transcript`. An orphan result is dropped.
    pub fn enter(&mut self, transcript: &Transcript, index: usize) {
        let Some(message) = transcript.messages().get(index) else { return };
        let group = transcript.group_start(index);
        let (layer, reason) = (Layer::Repair, Reason::LeastUseful);
        let whole = Sent { form: Form::Whole, layer, reason, images_out: 0 };
        let (sent, is_hidden) = match self.rows.get_mut(group) {
            _ if transcript.link(index) == Link::Orphan => {
                (Sent { form: Form::Gone, reason: Reason::OrphanResult, ..whole }, false)
            }
            Some(opener) => {
                opener.newest_in_group = index;
                // A late result is dropped if its call was.
                let is_gone = opener.sent.form == Form::Gone;
                (
                    if is_gone { Sent { images_out: 0, ..opener.sent.clone() } } else { whole },
                    opener.is_hidden,
                )
            }
            None => (whole, false),
        };
        let row = Row {
            message: message.clone(),
            group,
            call: transcript.call_position(index),
            sent,
            whole_tokens: message.whole_tokens() as u32,
            is_hidden,
            newest_in_group: index,
            is_closed: false,
            refused_images: None,
            has_refused_thinking: false,
        };
        self.raw = self.raw.plus(Size { cl100k: message.whole_tokens(), ..row.size_as(&Form::Whole) });
        self.sent = self.sent.plus(row.size());
        if *row.form() != Form::Gone {
            self.live.insert(index);
        }
        self.rows.push(row);
        self.note(index, message);
    }

    fn note(&mut self, index: usize, message: &Message) {
        if self.first_turn.is_none() && self.rows.get(index).is_some_and(Row::is_turn) {
            self.first_turn = Some(index);
        }
        if message.is_protected {
            self.questions.extend(self.last_user);
        }
        if !message.images.lens.is_empty() {
            self.pictured.push(index);
            if self.is_blind {
                self.raw = self.raw.minus(images_of(message));
            }
            if self.is_blind || (message.is_tool_result() && self.blind.is_some()) {
                self.leave_out_images(index);
            }
        }
        match &message.body {
            Body::User => {
                self.first_user.get_or_insert(index);
                self.close_turn();
                self.last_user = Some(index);
            }
            Body::ToolResult(_) => self.results.push(index),
            Body::Assistant(assistant) => {
                let alternates = self.alternates || assistant.source.alternates();
                self.is_unsettled |= alternates != self.alternates;
                self.alternates = alternates;
                self.thinkers.extend(assistant.thinking.map(|_| index));
                match assistant.usage.refused {
                    Some(refusal) if refusal.is_of_images() => {
                        self.refuse_images(&assistant.source, refusal.images == Some(0));
                    }
                    Some(Refusal { subject: Some(Subject::Thinking), .. }) => {
                        self.refuse_thinking(&assistant.source);
                    }
                    _ if message.is_sent && !self.is_blind => self.show_images_again(&assistant.source),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Marks the answers with thinking since the last user message.
    fn close_turn(&mut self) {
        let opens = self.last_user.unwrap_or(0);
        for &index in self.thinkers.iter().rev().take_while(|&&index| index >= opens) {
            let Some(row) = self.rows.get_mut(index) else { continue };
            let before = row.size();
            row.is_closed = true;
            self.sent = self.sent.minus(before).plus(row.size());
            let old_thinking = row.size_as(&Form::Whole).old_thinking;
            self.raw = self.raw.plus(Size { old_thinking, ..Size::default() });
        }
    }

    /// Strips all thinking that a model made and refused.
    fn refuse_thinking(&mut self, source: &Source) {
        for index in self.thinkers.clone() {
            let Some(row) = self.rows.get_mut(index) else { continue };
            let is_its = |of: &Assistant| of.source == *source;
            if row.message.may_lose_thinking() && row.message.sent_assistant().is_some_and(is_its) {
                row.has_refused_thinking = true;
                self.set(index, Form::Edited, Layer::Thinking, Reason::ThinkingRefused);
            }
        }
    }

    /// Replaces the facts of these messages: the content is the same, but reports came in.
    pub fn renew(&mut self, transcript: &Transcript, indices: &[usize]) {
        for &index in indices {
            if let (Some(row), Some(message)) = (self.rows.get_mut(index), transcript.messages().get(index)) {
                row.message = message.clone();
            }
        }
    }

    /// All rows, oldest first.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// All rows with their positions, the newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = (usize, &Row)> {
        self.rows.iter().enumerate().rev()
    }

    /// The row at `index`.
    pub fn row(&self, index: usize) -> Option<&Row> {
        self.rows.get(index)
    }

    /// The message at `index`.
    pub fn message(&self, index: usize) -> Option<&Message> {
        self.rows.get(index).map(|row| &*row.message)
    }

    /// The size of all messages as they came.
    pub fn raw(&self) -> Size {
        self.raw
    }

    /// The size of what is sent.
    pub fn sent(&self) -> Size {
        self.sent
    }

    /// Positions of the messages that are sent in some form, ascending.
    pub fn live(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.live.iter().copied()
    }

    /// The same before `end`.
    pub fn live_before(&self, end: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.live.range(..end).copied()
    }

    /// Positions of all tool results, ascending.
    pub fn results(&self) -> &[usize] {
        &self.results
    }

    /// Positions of the messages that came with images, ascending.
    pub fn pictured(&self) -> &[usize] {
        &self.pictured
    }

    /// The images of what is sent.
    pub fn images(&self) -> ImageSize {
        let rows = self.pictured.iter().filter_map(|&index| self.row(index));
        rows.map(Row::images).fold(ImageSize::default(), ImageSize::plus)
    }

    /// Positions of the assistant messages that came with thinking, ascending.
    pub fn thinkers(&self) -> &[usize] {
        &self.thinkers
    }

    /// The opening of the conversation: the first turn that a provider sees, unless that is a reply.
    pub fn opening(&self) -> Option<usize> {
        self.first_turn.filter(|&index| self.message(index).is_some_and(|turn| turn.assistant().is_none()))
    }

    /// The last user message: what follows it is the open turn.
    pub fn last_user(&self) -> Option<usize> {
        self.last_user
    }

    /// Returns `true` for messages that no layer drops: protected ones, system messages, the opening, the first and the last
    /// user message, and summaries before the first.
    pub fn is_protected(&self, index: usize) -> bool {
        let Some(message) = self.message(index).filter(|message| !message.is_system()) else { return true };
        let is_summary = matches!(message.body, Body::Summary);
        self.group(index).any(|member| self.message(member).is_some_and(|of| of.is_protected))
            || (is_summary && self.first_user.is_none_or(|first| index < first))
            || [self.opening(), self.first_user, self.last_user].contains(&Some(index))
            || self.questions.contains(&index)
    }

    /// Returns `true` if the model recalled the message at `index` in the open turn.
    pub fn is_recalled_now(&self, index: usize) -> bool {
        let is_open = self.last_user.is_none_or(|last| index > last);
        let result = self.message(index).filter(|_| is_open).and_then(|message| message.tool_result());
        result.is_some_and(|result| result.is_recalled)
    }

    /// The index at which the last group opens: the group of the newest sent message, system ones aside. Results without an
    /// answer count as newest, even if a reminder follows them.
    pub fn last_group(&self) -> usize {
        let newest = self.newest_group();
        let unseen = self.newest_answer().filter(|(index, row)| row.newest_in_group > *index);
        unseen.map_or(newest, |(index, _)| newest.min(index))
    }

    /// The index after the newest sent answer: what follows is new to the model.
    pub fn seen_end(&self) -> usize {
        self.newest_answer().map_or(0, |(index, _)| index + 1)
    }

    /// The newest sent answer, with its position.
    pub fn newest_answer(&self) -> Option<(usize, &Row)> {
        self.newest_first().find(|(_, row)| row.message.sent_assistant().is_some())
    }

    /// The index at which the last exchange opens: at the newest answer, since the question may be about it, if all from it on has
    /// at most `most` cl100k tokens; else after it.
    pub fn last_exchange(&self, most: f64) -> usize {
        let last = self.last_group();
        let answer = self.newest_answer().map_or(last, |(index, row)| row.group.min(index)).min(last);
        if self.tokens_from(answer) as f64 <= most { answer } else { last.min(self.seen_end()) }
    }

    /// cl100k tokens of what is sent from `start` on.
    pub fn tokens_from(&self, start: usize) -> usize {
        self.live.range(start..).filter_map(|&index| self.rows.get(index)).map(Row::tokens).sum()
    }

    /// The index at which the group of the newest message opens.
    pub fn newest_group(&self) -> usize {
        let newest = self.newest_first().find(|(_, row)| row.is_turn() && row.message.tokens > 0);
        newest.map_or(0, |(_, row)| row.group)
    }

    /// The group of the message at `index`: the message that opens it and the results that answer it.
    pub fn group(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let opener = self.rows.get(index).map_or(index, |row| row.group);
        let newest = self.rows.get(opener).map_or(index, |row| row.newest_in_group);
        (opener..=newest).filter(move |&index| self.rows.get(index).is_some_and(|row| row.group == opener))
    }

    /// Edited messages that the next request needs whole: all from the last group on, the current step, the newest tool
    /// results with their calls, and messages that no layer drops.
    pub fn needed_whole(&self, newest_results: usize, tail: usize, step: Option<usize>) -> Vec<usize> {
        let results =
            self.results.get(self.results.len().saturating_sub(newest_results)..).unwrap_or_default();
        let is_edited = |index: &usize| {
            let sent = self.rows.get(*index).map(|row| &row.sent);
            sent.is_some_and(|sent| sent.reason != Reason::OrphanResult && sent.is_edited())
        };
        let gone = |index: usize| self.rows.get(index).is_none_or(|row| *row.form() == Form::Gone);
        let mut needed: Vec<usize> = (self.last_group()..self.rows.len()).chain(step).collect();
        needed.extend((tail..self.rows.len()).filter(|&index| self.group(index).count() == 1));
        for &result in results {
            needed.push(result);
            needed.extend(self.rows.get(result).filter(|row| gone(row.group)).map(|row| row.group));
        }
        let protected = [self.opening(), self.first_user, self.last_user].into_iter().flatten();
        needed.extend(protected.chain(self.questions.iter().copied()).filter(|&index| gone(index)));
        // A group comes back as a whole.
        let groups: Vec<usize> = needed.iter().copied().filter(|&index| gone(index)).collect();
        needed.extend(groups.into_iter().flat_map(|index| self.group(index).collect::<Vec<_>>()));
        needed.retain(is_edited);
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// The index after the group of the message at `index`.
    pub fn group_end(&self, index: usize) -> usize {
        let opens = self.rows.get(index).and_then(|row| self.rows.get(row.group));
        opens.map_or(index, |row| row.newest_in_group) + 1
    }

    /// The newest answer.
    pub fn last_answer(&self) -> Option<usize> {
        self.rows.iter().rposition(|row| row.message.assistant().is_some())
    }

    /// The sent size if the window shows these hidden messages again.
    pub fn sent_with(&self, hidden: &[usize]) -> Size {
        let members = hidden.iter().filter_map(|&index| self.rows.get(index));
        members.fold(self.sent, |sent, row| sent.plus(row.size_as(&row.sent.form)))
    }

    /// Returns and resets the oldest changed message. No trial is under way.
    pub fn take_oldest_touched(&mut self) -> Option<usize> {
        self.oldest_touched.take()
    }

    /// The edits of all messages, oldest first.
    pub fn plan(&mut self) -> Plan {
        let kept = self.planned.partition_point(|edit| edit.end() <= self.unplanned);
        let from = self.planned.get(kept).map_or(self.unplanned, |edit| edit.index.min(self.unplanned));
        self.planned.truncate(kept);
        let rows = self.rows.iter().enumerate().skip(from);
        for edit in rows.filter_map(|(index, row)| row.edit(index)) {
            if !self.planned.last_mut().is_some_and(|last| last.merges(&edit)) {
                self.planned.push(edit);
            }
        }
        self.unplanned = self.rows.len();
        Plan { moves: Vec::new(), edits: self.planned.clone(), before: self.raw, after: self.sent }
    }
}
