//! The handle in a marker line, by which the model can ask for the original of a shortened tool result.

use std::fmt;

use bytemuck::cast_slice;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Name of the tool that returns the original of a shortened result.
pub const RECALL_TOOL: &str = "recall";

/// The handle of a tool result, the same for the same call and text. It reads as eight hexadecimal digits.
///
/// ```
/// use pi_strata::context::facts::handle::Handle;
///
/// let utf16 = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
/// let handle = Handle::of(&utf16("call_1"), &utf16("src/lib.rs\nsrc/main.rs"));
/// assert_eq!(handle.to_string().len(), 8);
/// assert_ne!(handle, Handle::of(&utf16("call_2"), &utf16("src/lib.rs\nsrc/main.rs")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u32);

impl Handle {
    /// The handle of the result `text` of the call `call_id`.
    pub fn of(call_id: &[u16], text: &[u16]) -> Self {
        let seed = xxh3_64_with_seed(cast_slice(call_id), 0);
        Self(xxh3_64_with_seed(cast_slice(text), seed) as u32)
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}", self.0)
    }
}
