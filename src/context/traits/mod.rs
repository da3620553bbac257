//! The subjects of a message as plain data: the identifiers and lines it shows, and what its tool
//! calls act on. Made once, when a message is measured. Nothing here knows of roles or decides.

pub mod identifiers;
pub mod lines;
mod patch;
pub mod paths;
mod shell;
pub mod target;

use self::identifiers::Identifier;
use self::lines::{Layout, Line};
use self::target::Target;

/// The traits of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Identifiers the unedited message shows, ascending, each once.
    pub identifiers: Box<[Identifier]>,
    /// Those its edited form still shows; `None` where it has no edited form.
    pub kept: Option<Box<[Identifier]>>,
    /// Lines the unedited message shows, thinking aside: ascending, each once.
    pub lines: Box<[Line]>,
    /// Those its shortened form still shows; `None` where it has none.
    pub kept_lines: Option<Box<[Line]>>,
    /// The rest of a message without thinking whose calls' long arguments are cleared; `None` where they may not be.
    pub cleared: Option<Box<Cleared>>,
    /// A long tool result line by line; `None` for other messages, and where no cut between lines makes sense.
    pub layout: Option<Layout>,
    /// Targets of its tool calls, in the order of the calls.
    pub targets: Box<[Target]>,
}

/// The traits of a message whose calls' long arguments are cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Tokens that this saves, those of thinking aside.
    pub tokens_saved: u32,
    /// Identifiers that are still shown.
    pub identifiers: Box<[Identifier]>,
    /// Lines that are still shown.
    pub lines: Box<[Line]>,
}

impl Traits {
    /// Bytes they take, for caches that are bounded by them.
    pub fn heap_bytes(&self) -> usize {
        let kept = self.kept.as_deref().map_or(0, size_of_val);
        let kept_lines = self.kept_lines.as_deref().map_or(0, size_of_val);
        let layout = self.layout.as_ref().map_or(0, Layout::heap_bytes);
        let targets = self.targets.iter().map(Target::heap_bytes).sum::<usize>();
        let sets = size_of_val(&*self.identifiers) + size_of_val(&*self.lines) + size_of_val(&*self.targets);
        let of_cleared =
            |left: &Cleared| size_of_val(left) + size_of_val(&*left.identifiers) + size_of_val(&*left.lines);
        let cleared = self.cleared.as_deref().map_or(0, of_cleared);
        sets + kept + kept_lines + cleared + layout + targets
    }
}
