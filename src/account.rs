//! The one account of what is sent: every message with the form it goes out in, and the sum of their tokens.
//!
//! Both schedules and the guard decide on it, each layer reads it and edits it, and the plan is read off it. It grows with
//! the transcript and holds no text.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cuts::Level;
use crate::plan::{Action, Edit, KeptLines, Layer, Plan, Reason};
use crate::tokens::estimate::Size;
use crate::transcript::{Body, Link, Message, Transcript};

/// How a message is sent. An edit only ever goes on to a later form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As it came.
    Whole,
    /// A tool result of which some lines stay, and so many cl100k tokens of the whole message.
    Lines(u32),
    /// A tool result with its shortened text, an assistant message without its thinking.
    Edited,
    /// With its texts cut to this level.
    Cut(Level),
    /// Not at all.
    Gone,
}

impl Form {
    /// Whether `later` takes more away.
    #[must_use]
    fn precedes(self, later: Self) -> bool {
        let rank = |form| match form {
            Self::Whole => (0, 0),
            Self::Lines(tokens) => (1, u32::MAX - tokens),
            Self::Edited => (2, 0),
            Self::Cut(Level(level)) => (3, u32::from(u8::MAX - level)),
            Self::Gone => (4, 0),
        };
        rank(self) < rank(later)
    }
}

/// A form, and the layer and rule that asked for it.
pub type Mark = (Form, Layer, Reason);

/// A message and what became of it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its facts.
    pub message: Arc<Message>,
    /// The message that opens its group.
    pub group: usize,
    /// Its position among the calls of the message it answers.
    pub call: usize,
    /// How it is sent, and by which rule of which layer where it is not whole.
    pub edit: Mark,
    /// The lines that stay, where it was ever cut by line.
    pub kept_lines: Option<Arc<KeptLines>>,
    /// So many of its images, the first ones, are left out.
    images_out: u32,
    /// Whether the sliding window passed it by: then it is not sent, whatever its form.
    is_slid: bool,
    next_in_group: Option<usize>,
    newest_in_group: usize,
}

impl Row {
    /// How the message is sent.
    #[must_use]
    pub fn form(&self) -> Form {
        if self.is_slid { Form::Gone } else { self.edit.0 }
    }

    /// By which layer and rule it is not whole.
    fn cause(&self) -> (Layer, Reason) {
        if self.is_slid { (Layer::Window, Reason::OverThreshold) } else { (self.edit.1, self.edit.2) }
    }

    /// cl100k tokens as it is sent.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens_as(self.form())
    }

    /// cl100k tokens it would have in this form.
    #[must_use]
    pub fn tokens_as(&self, form: Form) -> usize {
        let images = self.images_out as usize * self.message.images.tokens_saved as usize;
        self.message.tokens_as(form).saturating_sub(if form == Form::Gone { 0 } else { images })
    }

    /// Its images that are left out.
    #[must_use]
    pub fn images_out(&self) -> u32 {
        if self.form() == Form::Gone { 0 } else { self.images_out }
    }

    /// How many images are sent of it, and how many characters those take.
    #[must_use]
    pub fn images(&self) -> ImageSize {
        let is_in = self.message.is_sent && self.form() != Form::Gone;
        let sent = self.message.images.lens.get(self.images_out as usize..).filter(|_| is_in);
        let sent = sent.unwrap_or_default();
        ImageSize { count: sent.len(), chars: sent.iter().map(|&len| len as usize).sum() }
    }

    /// Its size as it is sent: nothing where it is not.
    fn size(&self) -> Size {
        self.size_as(self.form())
    }

    fn size_as(&self, form: Form) -> Size {
        let is_message = self.message.is_sent && form != Form::Gone;
        Size { cl100k: self.tokens_as(form), messages: usize::from(is_message) }
    }

    /// What brings the message into its form; `None` where it is sent as it came.
    #[must_use]
    pub fn action(&self) -> Option<Action> {
        match self.form() {
            Form::Lines(_) => self.kept_lines.clone().map(Action::KeepLines),
            Form::Whole if self.images_out > 0 => Some(Action::OmitImages),
            form => self.message.action(form),
        }
    }

    /// Whether it is a tool result that answers no call.
    #[must_use]
    pub fn is_orphan(&self) -> bool {
        self.edit.2 == Reason::OrphanResult
    }

    /// Whether a provider sees it as a turn.
    #[must_use]
    pub fn is_turn(&self) -> bool {
        self.message.is_turn() && !self.is_orphan()
    }

    /// Whether it opens a group: it is no result of another message.
    #[must_use]
    pub fn opens_group(&self, index: usize) -> bool {
        self.group == index
    }
}

/// Images of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageSize {
    /// How many.
    pub count: usize,
    /// Characters they take.
    pub chars: usize,
}

/// What a conversation opens with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Opening {
    #[default]
    Unknown,
    /// The first turn is a reply: nothing keeps it.
    Reply,
    At(usize),
}

/// All messages of a transcript so far, and what is sent of them.
#[derive(Clone, Debug, Default)]
pub struct Account {
    rows: Vec<Row>,
    /// Messages that are sent in some form.
    live: BTreeSet<usize>,
    raw: Size,
    sent: Size,
    images: ImageSize,
    results: Vec<usize>,
    /// Tool results that came with images.
    pictured: Vec<usize>,
    thinkers: Vec<usize>,
    opening: Opening,
    first_user: Option<usize>,
    last_user: Option<usize>,
    bytes: usize,
    /// User messages that what the host protects follows: without them an answer would come right after another.
    asked: BTreeSet<usize>,
    /// The first message that is sent otherwise since that was last asked.
    changed: Option<usize>,
    /// Edits since a trial began, each as it was before.
    trial: Option<Vec<(usize, Decision, u32)>>,
    /// The oldest message that was brought into another form since that was last asked.
    oldest_touched: Option<usize>,
    /// The same as it was when the trial began.
    touched_before_trial: Option<usize>,
}

/// What a row adds to the sums.
#[derive(Clone, Copy)]
struct Sent {
    size: Size,
    images: ImageSize,
}

impl Sent {
    fn of(row: &Row) -> Self {
        Self { size: row.size(), images: row.images() }
    }
}

impl ImageSize {
    fn plus(self, more: Self) -> Self {
        Self { count: self.count + more.count, chars: self.chars + more.chars }
    }

    fn minus(self, part: Self) -> Self {
        Self { count: self.count.saturating_sub(part.count), chars: self.chars.saturating_sub(part.chars) }
    }
}

/// How a message is sent, which layer asked for it, and why.
type Decision = Mark;

impl Account {
    /// The account of a whole transcript, nothing edited but what no provider takes.
    #[must_use]
    pub fn of(transcript: &Transcript) -> Self {
        let mut account = Self::default();
        for index in 0..transcript.len() {
            account.enter(transcript, index);
        }
        account
    }

    /// Takes in the message at `index`, the next one of `transcript`. A tool result that answers no call is left out.
    pub fn enter(&mut self, transcript: &Transcript, index: usize) {
        let Some(message) = transcript.messages().get(index) else { return };
        let link = transcript.link(index);
        let group = if let Link::ResultOf(call) = link { call } else { index };
        let row = Row {
            message: message.clone(),
            group,
            call: transcript.call_position(index),
            edit: (Form::Whole, Layer::Repair, Reason::LeastUseful),
            kept_lines: None,
            images_out: 0,
            is_slid: false,
            next_in_group: None,
            newest_in_group: index,
        };
        if group != index
            && let Some(newest) =
                self.rows.get_mut(group).map(|opens| std::mem::replace(&mut opens.newest_in_group, index))
            && let Some(newest) = self.rows.get_mut(newest)
        {
            newest.next_in_group = Some(index);
        }
        let size = message.size_as(Form::Whole);
        (self.raw, self.sent) = (self.raw.plus(size), self.sent.plus(size));
        self.images = self.images.plus(row.images());
        self.rows.push(row);
        self.bytes += size_of::<Row>() + size_of::<usize>() + message.heap_bytes();
        self.live.insert(index);
        if link == Link::Orphan {
            self.set(index, Form::Gone, Layer::Repair, Reason::OrphanResult);
        }
        self.note(index, message);
    }

    fn note(&mut self, index: usize, message: &Message) {
        if self.opening == Opening::Unknown && self.rows.get(index).is_some_and(Row::is_turn) {
            self.opening = if message.assistant().is_some() { Opening::Reply } else { Opening::At(index) };
        }
        if message.is_protected {
            self.asked.extend(self.last_user);
        }
        match &message.body {
            Body::User => {
                self.first_user.get_or_insert(index);
                self.last_user = Some(index);
            }
            Body::ToolResult(_) => {
                self.results.push(index);
                if !message.images.lens.is_empty() {
                    self.pictured.push(index);
                }
            }
            Body::Assistant(assistant) if assistant.thinking.is_some() => self.thinkers.push(index),
            _ => {}
        }
    }

    /// Takes the facts of these messages anew: their content is the same, but reports came in.
    pub fn renew(&mut self, transcript: &Transcript, indices: &[usize]) {
        for &index in indices {
            if let (Some(row), Some(message)) = (self.rows.get_mut(index), transcript.messages().get(index)) {
                row.message = message.clone();
            }
        }
    }

    /// How many messages were taken in.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True before any message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All rows, oldest first.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row at `index`.
    #[must_use]
    pub fn row(&self, index: usize) -> Option<&Row> {
        self.rows.get(index)
    }

    /// The message at `index`.
    #[must_use]
    pub fn message(&self, index: usize) -> Option<&Message> {
        self.rows.get(index).map(|row| &*row.message)
    }

    /// How the message at `index` is sent; a message that is not there is not sent.
    #[must_use]
    pub fn form(&self, index: usize) -> Form {
        self.rows.get(index).map_or(Form::Gone, Row::form)
    }

    /// The size of all messages as they came.
    #[must_use]
    pub fn raw(&self) -> Size {
        self.raw
    }

    /// The size of what is sent.
    #[must_use]
    pub fn sent(&self) -> Size {
        self.sent
    }

    /// Positions of the messages that are sent in some form, ascending.
    #[must_use]
    pub fn live(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.live.iter().copied()
    }

    /// Those of them before `end`.
    #[must_use]
    pub fn live_before(&self, end: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.live.range(..end).copied()
    }

    /// Positions of all tool results, ascending.
    #[must_use]
    pub fn results(&self) -> &[usize] {
        &self.results
    }

    /// Positions of the tool results that came with images, ascending.
    #[must_use]
    pub fn pictured(&self) -> &[usize] {
        &self.pictured
    }

    /// The images of what is sent.
    #[must_use]
    pub fn images(&self) -> ImageSize {
        self.images
    }

    /// Positions of the assistant messages that came with thinking, ascending.
    #[must_use]
    pub fn thinkers(&self) -> &[usize] {
        &self.thinkers
    }

    /// What the conversation opens with: the first of what a provider sees as turns, unless that is a reply.
    #[must_use]
    pub fn opening(&self) -> Option<usize> {
        if let Opening::At(index) = self.opening { Some(index) } else { None }
    }

    /// The first user message.
    #[must_use]
    pub fn first_user(&self) -> Option<usize> {
        self.first_user
    }

    /// The last user message: what follows it is the open turn.
    #[must_use]
    pub fn last_user(&self) -> Option<usize> {
        self.last_user
    }

    /// True for what no layer drops, however old it is: what the host protects, system messages, the opening, the first and the last user
    /// message and the summaries before the first.
    #[must_use]
    pub fn is_protected(&self, index: usize) -> bool {
        match self.message(index).map(|message| &message.body) {
            Some(Body::System) | None => true,
            Some(_)
                if self.group(index).any(|member| self.message(member).is_some_and(|of| of.is_protected)) =>
            {
                true
            }
            Some(Body::Summary) if self.first_user.is_none_or(|first| index < first) => true,
            Some(_) => {
                let ends = [self.opening(), self.first_user, self.last_user];
                ends.contains(&Some(index)) || self.asked.contains(&index)
            }
        }
    }

    /// Whether the message at `index` was read back in the open turn: it is there because the model asked for it.
    #[must_use]
    pub fn is_recalled_now(&self, index: usize) -> bool {
        let is_open = self.last_user.is_none_or(|last| index > last);
        let result = self.message(index).filter(|_| is_open).and_then(|message| message.tool_result());
        result.is_some_and(|result| result.is_recalled)
    }

    /// Where the last group opens: the newest message that is sent and no system one, with its call.
    #[must_use]
    pub fn last_group(&self) -> usize {
        let newest = self
            .rows
            .iter()
            .rev()
            .find(|row| !row.message.is_system() && row.message.tokens > 0 && !row.is_orphan());
        newest.map_or(0, |row| row.group)
    }

    /// The group that opens at `start`: that message and the results that answer it.
    pub fn group(&self, start: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(start), |&index| self.rows.get(index)?.next_in_group)
    }

    /// Index after the last message that is not whole.
    #[must_use]
    pub fn frontier(&self) -> usize {
        self.rows
            .iter()
            .rposition(|row| row.form() != Form::Whole || row.images_out > 0)
            .map_or(0, |last| last + 1)
    }

    /// Brings a message into a later form; what is in that form or a later one stays as it is.
    pub fn set(&mut self, index: usize, form: Form, layer: Layer, reason: Reason) {
        if self.rows.get(index).is_some_and(|row| row.edit.0.precedes(form)) {
            self.put(index, (form, layer, reason));
        }
    }

    /// Leaves of a tool result only these lines, if that is less than is sent of it now.
    pub fn keep_lines(&mut self, index: usize, kept: KeptLines, layer: Layer, reason: Reason) {
        let form = Form::Lines(kept.tokens);
        let Some(row) = self.rows.get_mut(index).filter(|row| row.edit.0.precedes(form)) else { return };
        row.kept_lines = Some(Arc::new(kept));
        self.put(index, (form, layer, reason));
    }

    /// Leaves the first `count` images of a tool result out, by a marker each.
    pub fn omit_images(&mut self, index: usize, count: u32, layer: Layer, reason: Reason) {
        let Some(row) = self.rows.get_mut(index).filter(|row| row.images_out < count) else { return };
        let before = Sent::of(row);
        if let Some(trial) = &mut self.trial {
            trial.push((index, row.edit, row.images_out));
        }
        row.images_out = count;
        if row.edit.0 == Form::Whole {
            (row.edit.1, row.edit.2) = (layer, reason);
        }
        self.settle(index, before);
    }

    /// Brings a whole group out of the request.
    pub fn drop_group(&mut self, start: usize, layer: Layer, reason: Reason) {
        let mut member = Some(start);
        while let Some(index) = member {
            self.set(index, Form::Gone, layer, reason);
            member = self.rows.get(index).and_then(|row| row.next_in_group);
        }
    }

    /// Lets the window pass a group by, or takes that back.
    pub fn slide_group(&mut self, start: usize, is_slid: bool) {
        let mut member = Some(start);
        while let Some(index) = member {
            let Some(row) = self.rows.get_mut(index) else { return };
            let before = Sent::of(row);
            row.is_slid = is_slid;
            member = row.next_in_group;
            self.settle(index, before);
        }
    }

    /// The size of what is sent from the first message on that `before`, the account it grew from, sends in another form.
    #[must_use]
    pub fn size_after_change(&self, before: &Self) -> Size {
        let differs =
            |(row, was): (&Row, &Row)| row.form() != was.form() || row.images_out() != was.images_out();
        let first = self.rows.iter().zip(&before.rows).position(differs).unwrap_or(self.rows.len());
        let after = self.rows.iter().skip(first);
        after.fold(Size::default(), |size, row| size.plus(row.size()))
    }

    /// The size of what is sent if the window takes a group back that it passed by.
    #[must_use]
    pub fn sent_with(&self, start: usize) -> Size {
        let members = self.group(start).filter_map(|index| self.rows.get(index));
        members.fold(self.sent, |sent, row| sent.plus(row.size_as(row.edit.0)))
    }

    /// From here on edits can be taken back by [`Self::end_trial`].
    pub fn begin_trial(&mut self) {
        self.trial = Some(Vec::new());
        self.touched_before_trial = self.oldest_touched;
    }

    /// Takes back every edit since the trial began.
    pub fn end_trial(&mut self) {
        for (index, edit, images_out) in self.trial.take().unwrap_or_default().into_iter().rev() {
            let Some(row) = self.rows.get_mut(index) else { continue };
            let before = Sent::of(row);
            (row.edit, row.images_out) = (edit, images_out);
            self.settle(index, before);
        }
        self.oldest_touched = self.touched_before_trial.take();
    }

    /// The first message whose form changed since this was last asked, trials included.
    pub fn take_changed(&mut self) -> Option<usize> {
        self.changed.take()
    }

    fn put(&mut self, index: usize, edit: Mark) {
        let Some(row) = self.rows.get_mut(index) else { return };
        let before = Sent::of(row);
        let replaced = std::mem::replace(&mut row.edit, edit);
        if let Some(trial) = &mut self.trial {
            trial.push((index, replaced, row.images_out));
        }
        self.settle(index, before);
    }

    /// Brings sum and live messages up to date with a row that was of size `before`.
    fn settle(&mut self, index: usize, before: Sent) {
        self.oldest_touched = Some(self.oldest_touched.map_or(index, |oldest| oldest.min(index)));
        let Some(row) = self.rows.get(index) else { return };
        self.sent = self.sent.plus(row.size()).minus(before.size);
        self.images = self.images.plus(row.images()).minus(before.images);
        self.changed = Some(self.changed.map_or(index, |first| first.min(index)));
        if row.form() == Form::Gone {
            self.live.remove(&index);
        } else {
            self.live.insert(index);
        }
    }

    /// The oldest message that was brought into another form since this was last asked, one on trial too.
    pub fn take_oldest_touched(&mut self) -> Option<usize> {
        self.touched_before_trial = None;
        self.oldest_touched.take()
    }

    /// The size of what is sent of the messages before `end`.
    #[must_use]
    pub fn sent_before(&self, end: usize) -> Size {
        let rows = self.live_before(end).filter_map(|index| self.rows.get(index));
        rows.fold(Size::default(), |sum, row| sum.plus(row.size()))
    }

    /// Everything that is not sent as it came, oldest message first.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let edits = self.rows.iter().enumerate().filter_map(|(index, row)| {
            let action = row.action()?;
            let (layer, reason) = row.cause();
            Some(Edit {
                index,
                layer,
                action,
                reason,
                tokens_saved: row.message.tokens.saturating_sub(row.tokens()),
                images_out: row.images_out(),
            })
        });
        Plan { edits: edits.collect(), before: self.raw, after: self.sent }
    }

    /// Bytes it keeps from being freed, the messages' own among them, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Message {
    /// Its size in this form: nothing where it is not sent.
    fn size_as(&self, form: Form) -> Size {
        Size { cl100k: self.tokens_as(form), messages: usize::from(self.is_sent && form != Form::Gone) }
    }

    /// cl100k tokens in this form; 0 for what is never sent.
    #[must_use]
    pub fn tokens_as(&self, form: Form) -> usize {
        match (form, &self.body) {
            (Form::Gone, _) => 0,
            (Form::Edited, Body::ToolResult(result)) => {
                let shortened = result.shortened.as_ref();
                shortened.map_or(self.tokens, |shortened| shortened.message_tokens.min(self.tokens))
            }
            (Form::Edited, Body::Assistant(assistant)) => {
                self.tokens.saturating_sub(assistant.thinking.map_or(0, |thinking| thinking.tokens))
            }
            (Form::Lines(tokens), _) => self.tokens.min(tokens as usize),
            (Form::Cut(level), _) => self.tokens.saturating_sub(self.cuts.saved_at(level)),
            (Form::Whole | Form::Edited, _) => self.tokens,
        }
    }

    /// What brings it into this form; `None` where it is sent as it came.
    #[must_use]
    pub fn action(&self, form: Form) -> Option<Action> {
        match form {
            Form::Whole | Form::Lines(_) => None,
            Form::Edited if self.assistant().is_some() => Some(Action::StripThinking),
            Form::Edited => Some(Action::Summarize),
            Form::Cut(level) => Some(Action::Truncate(self.cuts.at(level).collect())),
            Form::Gone => Some(Action::Drop),
        }
    }
}
