//! Whatever crosses the boundary as rows of numbers and strings is read or refused, never worse.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pi_strata::node::read_anything;

// A byte each for the numbers of the rows and the lengths of the strings: small values reach furthest.
fuzz_target!(|input: (Vec<i8>, Vec<u8>, Vec<u16>)| {
    let (rows, lengths, units) = input;
    let numbers = rows.iter().map(|&number| if number == i8::MIN { f64::NAN } else { f64::from(number) });
    let mut end = 0;
    let ends = lengths.iter().map(|&length| {
        end += usize::from(length);
        end
    });
    read_anything(numbers.collect(), units, ends.collect());
});
