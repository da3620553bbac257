//! The traits of a message as plain data: the identifiers and lines it shows, and the targets of its tool calls. They are
//! read once, when a message is measured. Nothing here knows roles or decides.

pub mod calls;
pub mod forms;
pub mod identifiers;
pub mod keep;
pub mod lines;
mod operation;
mod patch;
pub mod paths;
mod script;
mod shell;
pub mod target;
mod words;

use self::identifiers::Identifier;
use self::lines::{Layout, Line};
use self::target::Target;

/// The traits of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Identifiers of the unedited message, ascending, each once.
    pub identifiers: Box<[Identifier]>,
    /// Identifiers of its edited form; `None` without one.
    pub kept: Option<Box<[Identifier]>>,
    /// Lines of the unedited message without its thinking, ascending, each once.
    pub lines: Box<[Line]>,
    /// Lines of its shortened form; `None` without one.
    pub kept_lines: Option<Box<[Line]>>,
    /// A long tool result line by line; `None` for a message without lines to cut.
    pub layout: Option<Layout>,
    /// Targets of its tool calls, in the order of the calls.
    pub targets: Box<[Target]>,
}
