//! Reads JSON in one pass, without a copy: of a vocabulary's file nearly all is two lists with a million short strings.
//! What is small is left to serde.

use std::borrow::Cow;

use serde::Deserialize;

use super::LoadError;

/// Values within one another, as serde has it.
const DEEPEST: usize = 127;

/// The same byte eight times.
const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The top bits of bytes that are less than `limit`, which is 128 at most. All below the lowest one are right.
const fn less(bytes: u64, limit: u8) -> u64 {
    bytes.wrapping_sub(eight(limit)) & !bytes & eight(0x80)
}

/// A text and how far it is read. Only strings that are asked for are UTF-8 for certain.
pub(super) struct Json<'a> {
    text: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Json<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// The next eight bytes, the first of them the lowest.
    #[inline(always)]
    fn next_eight(&self) -> Option<u64> {
        self.rest().first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// The next byte that is no white space, and stays.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> Result<u8, LoadError> {
        while let Some(&byte) = self.text.get(self.at) {
            let spaces = |bytes: u64| (bytes ^ eight(b' ')).trailing_zeros() as usize / 8;
            self.at += match byte {
                b' ' => self.next_eight().map_or(1, spaces),
                b'\n' | b'\r' | b'\t' => 1,
                _ => return Ok(byte),
            };
        }
        Err(self.error("EOF before the end of a value"))
    }

    /// Whether the next byte is this one, which is then read.
    #[inline(always)]
    fn takes(&mut self, byte: u8) -> Result<bool, LoadError> {
        let is_next = self.peek()? == byte;
        self.at += usize::from(is_next);
        Ok(is_next)
    }

    #[inline(always)]
    fn take(&mut self, byte: u8) -> Result<(), LoadError> {
        if self.takes(byte)? { Ok(()) } else { Err(self.expected(byte)) }
    }

    #[cold]
    fn expected(&self, byte: u8) -> LoadError {
        self.error(&format!("expected `{}`", char::from(byte)))
    }

    /// Gives each key of an object to `read`, which reads its value.
    pub(super) fn object(
        &mut self,
        mut read: impl FnMut(&mut Self, &[u8]) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        self.take(b'{')?;
        if self.takes(b'}')? {
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.take(b':')?;
            read(self, &key)?;
            if !self.takes(b',')? {
                return self.take(b'}');
            }
        }
    }

    /// Calls `read` for each value of an array.
    pub(super) fn array(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        self.take(b'[')?;
        if self.takes(b']')? {
            return Ok(());
        }
        loop {
            read(self)?;
            if !self.takes(b',')? {
                return self.take(b']');
            }
        }
    }

    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<Cow<'a, [u8]>, LoadError> {
        let start = self.at;
        let (quoted, is_escaped) = self.quoted()?;
        if !is_escaped {
            return Ok(Cow::Borrowed(quoted));
        }
        self.at = start;
        self.value().map(|text: String| Cow::Owned(text.into_bytes()))
    }

    /// What stands between the next quotes, and whether something in it is escaped.
    #[inline(always)]
    fn quoted(&mut self) -> Result<(&'a [u8], bool), LoadError> {
        self.take(b'"')?;
        let (start, mut is_escaped) = (self.at, false);
        loop {
            if let Some(bytes) = self.next_eight() {
                let is = |byte| less(bytes ^ eight(byte), 1);
                let ends = is(b'"') | is(b'\\') | less(bytes, b' ');
                self.at += ends.trailing_zeros() as usize / 8;
                if ends == 0 {
                    continue;
                }
            }
            match *self.text.get(self.at).ok_or_else(|| self.error("EOF in a string"))? {
                b'"' => {
                    let quoted = self.text.get(start..self.at).unwrap_or_default();
                    self.at += 1;
                    return Ok((quoted, is_escaped));
                }
                b'\\' => {
                    is_escaped = true;
                    self.at += 2;
                }
                0..0x20 => return Err(self.error("a control character in a string")),
                _ => self.at += 1,
            }
        }
    }

    /// A whole number.
    #[inline(always)]
    pub(super) fn number(&mut self) -> Result<u64, LoadError> {
        self.peek()?;
        let (start, mut number) = (self.at, 0_u64);
        while let Some(&byte @ b'0'..=b'9') = self.text.get(self.at) {
            number = number.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
            self.at += 1;
        }
        let is_whole = self.at > start && !matches!(self.text.get(self.at), Some(b'.' | b'e' | b'E'));
        if is_whole { Ok(number) } else { Err(self.error("expected a whole number")) }
    }

    /// The next value by serde.
    pub(super) fn value<T: Deserialize<'a>>(&mut self) -> Result<T, LoadError> {
        let text = self.skip()?;
        serde_json::from_slice(text).map_err(|error| {
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            let (line, column) = self.place(self.at - text.len());
            let column = if error.line() == 1 { column + error.column() } else { error.column() };
            LoadError::new(format!("line {}, column {column}", line + error.line()), what)
        })
    }

    /// The next value as it is written. It is balanced, and no more is known of it.
    fn skip(&mut self) -> Result<&'a [u8], LoadError> {
        self.peek()?;
        let (start, mut depth) = (self.at, 0_usize);
        loop {
            match self.peek()? {
                b'"' => {
                    self.quoted()?;
                }
                b'{' | b'[' if depth == DEEPEST => return Err(self.error("recursion limit exceeded")),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth == 0 => return Err(self.error("expected a value")),
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' | b':' if depth > 0 => self.at += 1,
                _ => {
                    let ends =
                        |&byte: &u8| matches!(byte, b',' | b':' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t');
                    let rest = self.rest();
                    self.at += rest.iter().position(ends).unwrap_or(rest.len()).max(1);
                }
            }
            if depth == 0 {
                return Ok(self.text.get(start..self.at).unwrap_or_default());
            }
        }
    }

    /// The same text from here on, where the next value is passed by.
    pub(super) fn fork(&mut self) -> Result<Self, LoadError> {
        let fork = Self { text: self.text, at: self.at };
        self.skip()?;
        Ok(fork)
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// An error if anything but white space follows.
    pub(super) fn end(&mut self) -> Result<(), LoadError> {
        if self.rest().trim_ascii().is_empty() { Ok(()) } else { Err(self.error("trailing characters")) }
    }

    /// Lines before a place, and bytes before it in its own.
    fn place(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let lines = memchr::memchr_iter(b'\n', before).count();
        (lines, before.len() - before.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1))
    }

    /// The number of the line of a place.
    pub(super) fn line(&self, at: usize) -> usize {
        self.place(at).0 + 1
    }

    #[cold]
    pub(super) fn error(&self, what: &str) -> LoadError {
        let (lines, column) = self.place(self.at);
        LoadError::new(format!("line {}, column {}", lines + 1, column + 1), what)
    }
}
