//! Any bytes are a session file, perhaps with problems in every line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pi_strata::replay::Recording;

fuzz_target!(|bytes: &[u8]| {
    let session = Recording::read(bytes);
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
    assert!(session.problems.iter().all(|problem| (1..=lines).contains(&problem.line)));
});
