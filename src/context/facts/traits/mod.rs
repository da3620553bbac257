//! The traits of a message as plain data: the identifiers and lines it shows, and the targets of its tool calls. They are
//! made once, when a message is measured. Nothing here knows roles or decides.

pub mod calls;
pub mod forms;
pub mod identifiers;
pub mod keep;
pub mod lines;
mod patch;
pub mod paths;
mod script;
mod shell;
pub mod target;
mod words;

use std::hash::{BuildHasherDefault, Hasher};

use self::identifiers::Identifier;
use self::lines::{Layout, Line};
use self::target::Target;

/// Builds the hasher of tables whose keys are hashes already.
pub type ByHash = BuildHasherDefault<HashMixer>;

/// Mixes the bits of keys that are hashes: tables look at few bits of a hash, and a key may say something else in these.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashMixer(u64);

impl Hasher for HashMixer {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        /// The golden ratio, as 64 bits behind the point.
        const FACTOR: u128 = 0x9E37_79B9_7F4A_7C15;
        let product = u128::from(self.0 ^ key) * FACTOR;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn write_u128(&mut self, key: u128) {
        self.write_u64((key >> 64) as u64 ^ key as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

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
