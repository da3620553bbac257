//! Cuts a file into its non-blank lines, says where each stands, and collects what is wrong with them.

use super::{Object, UnreadLine, json};
use serde_json::Value;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::num::NonZeroU32;

/// The byte order mark some recorders begin with.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Where one JSON value stands in the file, so that it can be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// Bytes before it.
    offset: u64,
    /// Its bytes.
    len: u32,
    /// In a line that holds several records, which of them, from 1.
    record: Option<NonZeroU32>,
}

impl Place {
    /// `None` for what is too long to be read at once.
    pub(super) fn new(offset: u64, len: usize) -> Option<Self> {
        Some(Self { offset, len: u32::try_from(len).ok()?, record: None })
    }

    /// Reads the object that stood here.
    pub(super) fn read<R: Read + Seek>(self, reader: &mut R) -> io::Result<Object> {
        reader.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = vec![0; self.len as usize];
        reader.read_exact(&mut bytes)?;
        let value = json::read(&bytes).map_err(|_| changed())?;
        let value = match (value, self.record) {
            (Value::Array(records), Some(number)) => records.into_iter().nth(number.get() as usize - 1),
            (value, None) => Some(value),
            _ => None,
        };
        match value {
            Some(Value::Object(object)) => Ok(object),
            _ => Err(changed()),
        }
    }
}

/// What stands where something was read before is something else now.
pub(super) fn changed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file was changed while it was read")
}

/// A line of the file: its number from 1 as an editor counts, where its text begins, and the text without blanks
/// around it.
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) offset: u64,
    pub(super) text: &'a [u8],
}

/// Hands every line with something on it to `each`, until that says to stop.
pub(super) fn for_each<R: BufRead + Seek>(
    reader: &mut R,
    mut each: impl FnMut(Line<'_>) -> bool,
) -> io::Result<()> {
    reader.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    let mut offset = 0;
    for number in 1.. {
        bytes.clear();
        let len = reader.read_until(b'\n', &mut bytes)?;
        if len == 0 {
            break;
        }
        let line = if number == 1 { bytes.strip_prefix(BOM).unwrap_or(&bytes) } else { &bytes };
        let begins = line.trim_ascii_start();
        let text = begins.trim_ascii_end();
        let before = (len - begins.len()) as u64;
        if !text.is_empty() && !each(Line { number, offset: offset + before, text }) {
            break;
        }
        offset += len as u64;
        // One huge line must not keep its room for the rest of the file.
        bytes.shrink_to(LINE_ROOM);
    }
    Ok(())
}

/// Bytes that stay reserved for the next line.
const LINE_ROOM: usize = 1 << 20;

/// Hands every line that is a JSON object to `each`, with its place; what `each` objects to is reported too.
pub(super) fn for_each_object<R: BufRead + Seek>(
    reader: &mut R,
    mut each: impl FnMut(Place, Object) -> Result<(), String>,
) -> io::Result<Vec<UnreadLine>> {
    let mut problems = Vec::new();
    for_each(reader, |Line { number, offset, text }| {
        let used = Place::new(offset, text.len()).ok_or_else(|| TOO_LONG.to_owned()).and_then(|place| {
            match json::read(text)? {
                Value::Object(object) => each(place, object),
                // pi's version 4 writes several records of one transaction as one array.
                Value::Array(records) => (1..).zip(records).try_for_each(|(number, record)| match record {
                    Value::Object(object) => each(Place { record: NonZeroU32::new(number), ..place }, object),
                    _ => Err(NOT_AN_OBJECT.to_owned()),
                }),
                _ => Err(NOT_AN_OBJECT.to_owned()),
            }
        });
        if let Err(message) = used {
            problems.push(UnreadLine { line: number, message });
        }
        true
    })?;
    Ok(problems)
}

const NOT_AN_OBJECT: &str = "The line is JSON, but not an object.";
pub(super) const TOO_LONG: &str = "It is longer than 4 GiB.";

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn numbers_count_blank_lines_and_places_leave_out_what_is_around() {
        let file = b"\xef\xbb\xbf a\r\n\r\n  \n  b\n";
        let mut found = Vec::new();
        for_each(&mut Cursor::new(file), |line| {
            found.push((line.number, line.offset, line.text.to_vec()));
            true
        })
        .unwrap();
        assert_eq!(found, [(1, 4, b"a".to_vec()), (4, 14, b"b".to_vec())]);
        assert_eq!(file.get(14), Some(&b'b'));
    }

    #[test]
    fn each_bad_line_is_reported_by_number() {
        let file = b"{}\n{\"a\":\n7\n[{},{}]\nnull\n{\"x\":1}";
        let mut seen = 0;
        let problems = for_each_object(&mut Cursor::new(file), |_, object| {
            seen += 1;
            if object.contains_key("x") { Err("no".to_owned()) } else { Ok(()) }
        })
        .unwrap();
        let numbers: Vec<_> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!((seen, numbers), (4, vec![2, 3, 5, 6]));
    }

    #[test]
    fn what_was_found_is_found_again_and_what_changed_is_an_error() {
        let file = b" {\"a\":1}\n[{\"b\":2},{\"c\":3}]\n".to_vec();
        let mut places = Vec::new();
        for_each_object(&mut Cursor::new(&file), |place, object| {
            places.push((place, object));
            Ok(())
        })
        .unwrap();
        assert_eq!(places.len(), 3);
        for (place, object) in &places {
            assert_eq!(place.read(&mut Cursor::new(&file)).unwrap(), *object);
        }
        let other = vec![b'7'; file.len()];
        for (place, _) in &places {
            assert!(place.read(&mut Cursor::new(&other)).is_err());
            assert!(place.read(&mut Cursor::new(&file[..3])).is_err());
        }
    }
}
