//! Reads JavaScript's flat description of messages as the core's `Raw` messages.
//!
//! `lib/hook/snapshot.js` writes one row of numbers and strings per message. Texts cross once, as UTF-16 into one arena: V8's
//! two-byte strings are copied, its one-byte strings widened.

use std::ops::Range;

use bytemuck::cast_slice;
use napi::bindgen_prelude::{Array, Float64ArraySlice};
use napi::{JsString, JsValue, sys};
use napi_derive::napi;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

use super::failure::{Failure, Result};
use crate::context::facts::measure::{Part, Raw, RawRole, Rules, measure};
use crate::context::facts::transcript::{Refusal, Usage};
use crate::context::request::validity::{self, Family};
use crate::contract::{Block, Role, Subject};
use crate::fault;

/// Numbers of a usage report, the first fields of an assistant message.
const USAGE_NUMBERS: usize = 14;
/// The flags of a message in one number, as `lib/hook/snapshot.js` writes them.
const SENT: usize = 1;
const PROTECTED: usize = 2;
const ERROR: usize = 4;

/// Descriptions of messages in JavaScript.
#[napi(object, object_to_js = false)]
pub struct Rows<'a> {
    /// The rows.
    pub numbers: Float64ArraySlice<'a>,
    /// The strings that the rows refer to, in order.
    pub strings: Array<'a>,
}

/// Descriptions of messages.
pub(super) struct Batch {
    numbers: Vec<f64>,
    units: Vec<u16>,
    /// End of each string in `units`.
    ends: Vec<usize>,
}

impl Batch {
    /// Copies everything out of JavaScript, on its thread.
    pub(super) fn take(Rows { numbers, strings }: &Rows<'_>) -> Result<Self> {
        let value = strings.value();
        let mut batch = Self { numbers: numbers.to_vec(), units: Vec::new(), ends: Vec::new() };
        for index in 0..strings.len() {
            let mut element = std::ptr::null_mut();
            // SAFETY: `value` is a live handle of this scope's environment; `element` is a valid place to write.
            check(unsafe { sys::napi_get_element(value.env, value.value, index, &raw mut element) })?;
            append_string(value.env, element, &mut batch.units)?;
            batch.ends.push(batch.units.len());
        }
        Ok(batch)
    }

    /// The messages of the batch, in order.
    pub(super) fn messages(&self) -> Result<Vec<Raw<'_>>> {
        let mut cursor = Cursor { batch: self, number: 0, string: 0 };
        let mut messages = Vec::new();
        while cursor.number < self.numbers.len() {
            fault::step();
            messages.push(cursor.message()?);
        }
        Ok(messages)
    }
}

/// Reads any numbers and strings as messages, then checks, repairs and measures them. For the fuzz targets.
pub fn read_anything(numbers: Vec<f64>, units: Vec<u16>, ends: Vec<usize>) {
    let batch = Batch { numbers, units, ends };
    let Ok(raws) = batch.messages() else { return };
    for raw in &raws {
        measure(raw, &Rules::default());
    }
    validity::check(&raws, Family::Anthropic);
    validity::repair(&raws, Family::Google);
}

pub(super) fn units(text: &JsString<'_>) -> Result<Vec<u16>> {
    let value = text.value();
    let mut units = Vec::new();
    append_string(value.env, value.value, &mut units)?;
    Ok(units)
}

/// Appends a JavaScript string to `units`.
fn append_string(env: sys::napi_env, string: sys::napi_value, units: &mut Vec<u16>) -> Result<()> {
    let mut len = 0;
    // SAFETY: a null buffer asks for the length only; napi checks that `string` is one.
    check(unsafe { sys::napi_get_value_string_utf16(env, string, std::ptr::null_mut(), 0, &raw mut len) })?;
    // napi ends the string with a zero.
    units.reserve(len + 1);
    let start = units.len();
    let mut written = 0;
    // SAFETY: `reserve` made room for `len + 1` units after `start`, and napi writes no more than it is told.
    unsafe {
        let place = units.as_mut_ptr().add(start);
        check(sys::napi_get_value_string_utf16(env, string, place, len + 1, &raw mut written))?;
        units.set_len(start + written);
    }
    Ok(())
}

fn check(status: sys::napi_status) -> Result<()> {
    if status == sys::Status::napi_ok { Ok(()) } else { Err(malformed()) }
}

fn malformed() -> Failure {
    Failure::internal("the description of a message is malformed")
}

/// Reads the rows one field after the other.
struct Cursor<'a> {
    batch: &'a Batch,
    number: usize,
    string: usize,
}

impl<'a> Cursor<'a> {
    fn message(&mut self) -> Result<Raw<'a>> {
        let (first_number, first_string) = (self.number, self.string);
        let role = Role::at(self.count()?).ok_or_else(malformed)?;
        let flags = self.count()?;
        let [is_sent, is_protected, is_error] = [SENT, PROTECTED, ERROR].map(|flag| flags & flag != 0);
        let timestamp_ms = finite(self.number()?);
        let part_count = self.count()?;
        let usage =
            self.number..self.number + if matches!(role, Role::Assistant) { USAGE_NUMBERS } else { 0 };
        let role = self.role(role)?;
        let parts = (0..part_count).map(|_| self.part()).collect::<Result<Vec<_>>>()?;
        let identity = self.hash(first_string, [first_number..usage.start, usage.end..self.number]);
        let reported = self.batch.numbers.get(usage).unwrap_or_default();
        let fingerprint = identity ^ xxh3_128_with_seed(cast_slice(reported), 0);
        Ok(Raw { role, timestamp_ms, is_sent, is_protected, is_error, parts, fingerprint, identity })
    }

    fn role(&mut self, role: Role) -> Result<RawRole<'a>> {
        Ok(match role {
            Role::System => RawRole::System,
            Role::User => RawRole::User,
            Role::Assistant => RawRole::Assistant {
                usage: self.usage()?,
                has_text_id: self.number()? != 0.0,
                api: self.text()?,
                provider: self.text()?,
                model: self.text()?,
            },
            Role::ToolResult => {
                let has_marker = self.number()? != 0.0;
                let (call_id, tool_name) = (self.text()?, self.text()?);
                let marker = if has_marker { Some(self.text()?) } else { None };
                RawRole::ToolResult { call_id, tool_name, marker }
            }
            Role::Summary => RawRole::Summary,
            Role::Custom => RawRole::Custom,
            Role::Other => RawRole::Other,
        })
    }

    fn usage(&mut self) -> Result<Usage> {
        let mut amounts = [None; USAGE_NUMBERS];
        for amount in &mut amounts {
            *amount = finite(self.number()?).filter(|&number| number >= 0.0);
        }
        let [input, cache_read, cache_write, cache_write_1h, more @ ..] = amounts;
        let [
            cost_input,
            cost_cache_read,
            cost_cache_write,
            prompt,
            limit,
            output,
            excess,
            images,
            image_chars,
            subject,
        ] = more;
        let refused = prompt.map(|tokens| Refusal {
            // 0 means a refusal that does not name its prompt.
            prompt: Some(tokens).filter(|&tokens| tokens > 0.0),
            limit,
            output,
            excess,
            images: images.map(|count| count as u32),
            image_chars: image_chars.map(|chars| chars as u32),
            subject: subject.and_then(|number| Subject::at(number as usize)),
        });
        Ok(Usage {
            input,
            cache_read,
            cache_write,
            cache_write_1h,
            cost_input,
            cost_cache_read,
            cost_cache_write,
            refused,
        })
    }

    fn part(&mut self) -> Result<Part<'a>> {
        Ok(match Block::at(self.count()?).ok_or_else(malformed)? {
            Block::Text => Part::Text(self.text()?),
            Block::Thinking => Part::Thinking { text: self.text()?, signature: self.text()? },
            Block::ToolCall => Part::Call {
                is_signed: self.number()? != 0.0,
                id: self.text()?,
                name: self.text()?,
                arguments: self.text()?,
            },
            Block::Image => Part::Image { len: self.count()? },
            Block::Counted => Part::Counted(self.text()?),
            Block::Unknown => Part::Unknown,
        })
    }

    /// Hash of the texts since `first_string`, of their ends, and of `numbers`.
    fn hash(&self, first_string: usize, numbers: [Range<usize>; 2]) -> u128 {
        let start = self.text_start(first_string);
        let ends = self.batch.ends.get(first_string..self.string).unwrap_or_default();
        let of_numbers = numbers.into_iter().fold(0, |seed, range| {
            xxh3_64_with_seed(cast_slice(self.batch.numbers.get(range).unwrap_or_default()), seed)
        });
        let seed =
            ends.iter().fold(of_numbers, |seed, end| xxh3_64_with_seed(&(end - start).to_le_bytes(), seed));
        let units = self.batch.units.get(start..self.text_start(self.string)).unwrap_or_default();
        xxh3_128_with_seed(cast_slice(units), seed)
    }

    fn text(&mut self) -> Result<&'a [u16]> {
        let start = self.text_start(self.string);
        let end = *self.batch.ends.get(self.string).ok_or_else(malformed)?;
        self.string += 1;
        self.batch.units.get(start..end).ok_or_else(malformed)
    }

    fn text_start(&self, string: usize) -> usize {
        string.checked_sub(1).and_then(|before| self.batch.ends.get(before)).copied().unwrap_or(0)
    }

    fn count(&mut self) -> Result<usize> {
        self.number().map(|number| number as usize)
    }

    fn number(&mut self) -> Result<f64> {
        let number = self.batch.numbers.get(self.number).copied().ok_or_else(malformed)?;
        self.number += 1;
        Ok(number)
    }
}

fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row as `contract.test.mjs` has it from `lib/hook/snapshot.js`.
    #[test]
    fn reads_a_report_in_the_order_in_which_it_is_written() {
        let rows = |reported: [f64; USAGE_NUMBERS]| {
            let role = Role::Assistant as usize as f64;
            let numbers = [&[role, SENT as f64, 1.0, 0.0][..], &reported, &[0.0]].concat();
            Batch { numbers, units: Vec::new(), ends: vec![0; 3] }
        };
        let batch = rows([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8000.0, 8192.0, 1000.0, 300.0, 5.0, 6.0, 1.0]);
        let other = rows([0.0; USAGE_NUMBERS]);
        let read = |batch: &Batch| {
            let Ok([raw]) = <[Raw<'_>; 1]>::try_from(batch.messages().ok()?) else { return None };
            let RawRole::Assistant { usage, .. } = raw.role else { return None };
            Some((usage, raw.identity, raw.fingerprint))
        };
        let (usage, identity, fingerprint) = read(&batch).expect("is an answer");
        let refused = Refusal {
            prompt: Some(8000.0),
            limit: Some(8192.0),
            output: Some(1000.0),
            excess: Some(300.0),
            images: Some(5),
            image_chars: Some(6),
            subject: Some(Subject::Length),
        };
        let wanted = Usage {
            input: Some(1.0),
            cache_read: Some(2.0),
            cache_write: Some(3.0),
            cache_write_1h: Some(4.0),
            cost_input: Some(5.0),
            cost_cache_read: Some(6.0),
            cost_cache_write: Some(7.0),
            refused: Some(refused),
        };
        assert_eq!(usage, wanted);
        let (_, other_identity, other_fingerprint) = read(&other).expect("is an answer");
        assert_eq!(identity, other_identity, "no number of a report is part of the message");
        assert_ne!(fingerprint, other_fingerprint);
    }
}
