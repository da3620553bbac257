//! Cuts a JSON array into its elements, byte by byte, so that an array of any size is read one element at a time.
//! It looks at strings and brackets only: whether an element is JSON is the reader's question.

use std::io::{self, BufRead, Seek, SeekFrom};

/// An element of the array.
pub(super) struct Element<'a> {
    /// Line of the file it begins in, from 1.
    pub(super) line: usize,
    /// Bytes before it.
    pub(super) offset: u64,
    /// Its text, with blanks around it.
    pub(super) text: &'a [u8],
    /// True if the file ends within it.
    pub(super) is_cut: bool,
}

/// How the array ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With its bracket, and nothing after it.
    Whole,
    /// Something follows the array in this line.
    Trailing(usize),
    /// The file ends before the array does, in this line.
    Cut(usize),
}

/// Hands the elements of the array that the file begins with to `each`.
pub(super) fn for_each<R: BufRead + Seek>(
    reader: &mut R,
    mut each: impl FnMut(Element<'_>),
) -> io::Result<End> {
    reader.seek(SeekFrom::Start(0))?;
    let mut scan = Scan { line: 1, ..Scan::default() };
    loop {
        let buffer = reader.fill_buf()?;
        let len = buffer.len();
        if len == 0 {
            break;
        }
        for &byte in buffer {
            if scan.take(byte, &mut each) {
                return Ok(End::Trailing(scan.line));
            }
        }
        reader.consume(len);
    }
    if scan.depth == 0 {
        return Ok(End::Whole);
    }
    let line = scan.line;
    scan.emit(true, &mut each);
    Ok(End::Cut(line))
}

#[derive(Default)]
struct Scan {
    line: usize,
    /// Bytes read.
    at: u64,
    /// Brackets open, the array's own included.
    depth: usize,
    is_over: bool,
    in_string: bool,
    is_escaped: bool,
    /// The element at hand, and where it began.
    text: Vec<u8>,
    offset: u64,
    begins_in: usize,
}

impl Scan {
    /// Takes the next byte in; true where it stands behind the array.
    fn take(&mut self, byte: u8, each: &mut impl FnMut(Element<'_>)) -> bool {
        self.at += 1;
        if self.depth == 0 {
            if self.is_over && !byte.is_ascii_whitespace() {
                return true;
            }
            if byte == b'[' && !self.is_over {
                self.depth = 1;
                self.offset = self.at;
            }
        } else {
            self.inside(byte, each);
        }
        self.line += usize::from(byte == b'\n');
        false
    }

    fn inside(&mut self, byte: u8, each: &mut impl FnMut(Element<'_>)) {
        if self.in_string {
            self.in_string = byte != b'"' || self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
        } else {
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b',' if self.depth == 1 => return self.emit(false, each),
                b'}' | b']' if self.depth > 1 => self.depth -= 1,
                b'}' | b']' => {
                    self.depth = 0;
                    self.is_over = true;
                    return self.emit(false, each);
                }
                _ => {}
            }
        }
        if self.text.is_empty() {
            if byte.is_ascii_whitespace() {
                self.offset = self.at;
                return;
            }
            self.begins_in = self.line;
        }
        self.text.push(byte);
    }

    fn emit(&mut self, is_cut: bool, each: &mut impl FnMut(Element<'_>)) {
        let text = self.text.trim_ascii_end();
        if !text.is_empty() {
            each(Element { line: self.begins_in, offset: self.offset, text, is_cut });
        }
        self.text.clear();
        self.offset = self.at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Cursor};

    /// Elements with line and offset, and how it ended; read two bytes at a time.
    fn elements(file: &str) -> (Vec<(usize, u64, String, bool)>, End) {
        let mut found = Vec::new();
        let mut reader = BufReader::with_capacity(2, Cursor::new(file.as_bytes()));
        let end = for_each(&mut reader, |Element { line, offset, text, is_cut }| {
            found.push((line, offset, String::from_utf8(text.to_vec()).unwrap(), is_cut));
        });
        (found, end.unwrap())
    }

    #[test]
    fn brackets_and_commas_in_strings_separate_nothing() {
        let file = "\u{feff} [ {\"a\":\"],\\\"}\\\\\"} ,\n 3, [[1,2],{}]\n] \n";
        let (found, end) = elements(file);
        let texts: Vec<_> = found.iter().map(|(line, _, text, _)| (*line, text.as_str())).collect();
        assert_eq!(texts, [(1, r#"{"a":"],\"}\\"}"#), (2, "3"), (2, "[[1,2],{}]")]);
        assert_eq!(end, End::Whole);
        for (_, offset, text, _) in &found {
            assert!(file[*offset as usize..].starts_with(text.as_str()));
        }
    }

    #[test]
    fn a_cut_array_and_one_with_something_behind_it_say_so() {
        let (found, end) = elements("[1,\n{\"a\":");
        assert_eq!((found.len(), end), (2, End::Cut(2)));
        assert!(found.last().is_some_and(|(.., is_cut)| *is_cut));
        assert_eq!(elements("[1]\n{}").1, End::Trailing(2));
        assert_eq!(elements("[]").1, End::Whole);
    }
}
