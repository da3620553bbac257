//! Every place where Node calls into Rust goes through `guarded`: a panic anywhere else would kill the host's process.
//! Read from the source, because what is missing is what matters.

use std::fs;
use std::path::Path;

/// Functions that Node calls without an attribute of their own.
const TASK_STEPS: [&str; 5] = ["compute", "resolve", "reject", "finally", "to_napi_value"];
/// Guards what it is handed.
const GUARDING: &str = "promised";
/// The switch of the test builds itself.
const EXEMPT: [&str; 1] = ["arm_fault"];

struct Function {
    name: String,
    is_exported: bool,
    body: String,
}

/// The functions of a file: name, whether `#[napi]` stands on them, and the beginning of the body.
fn functions(source: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut is_exported = false;
    for (at, line) in source.lines().enumerate() {
        let code = line.trim();
        if code.starts_with("#[napi") {
            is_exported = true;
        } else if let Some((before, after)) = code.split_once("fn ")
            && (before.is_empty() || before.ends_with(' '))
            && !before.starts_with("//")
        {
            let name = after.split(['(', '<']).next().unwrap_or_default().to_owned();
            let rest: Vec<&str> = source.lines().skip(at).collect();
            let rest = rest.join(" ");
            let body = rest.split_once(" {").map(|(_, body)| body.trim().to_owned()).unwrap_or_default();
            functions.push(Function { name, is_exported, body });
            is_exported = false;
        } else if !code.starts_with("#[") && !code.starts_with("//") {
            is_exported = false;
        }
    }
    functions
}

#[test]
fn every_entry_from_node_is_guarded() {
    let mut entries = 0;
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/node")).expect("is there") {
        let path = file.expect("can be listed").path();
        for function in functions(&fs::read_to_string(&path).expect("is text")) {
            let name = function.name.as_str();
            let is_entry = function.is_exported || TASK_STEPS.contains(&name) || name == GUARDING;
            if is_entry && !EXEMPT.contains(&name) {
                entries += 1;
                let guards = ["guarded(", "promised(", "Ok(guarded("];
                let is_guarded = guards.iter().any(|guard| function.body.starts_with(guard));
                assert!(is_guarded, "{}: `{name}` does not open with guarded(", path.display());
            }
        }
    }
    assert!(entries >= 20, "only {entries} entries found: does this test still read the source?");
}

#[test]
fn the_shipped_build_has_no_fault_injection() {
    let manifest =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).expect("is there");
    let sections = || manifest.split("\n[");
    let mut release = sections().filter(|section| section.starts_with("profile.release"));
    assert!(release.any(|section| section.contains("panic = \"unwind\"")));
    let mut unfuzzed = sections().filter(|section| !section.starts_with("profile.fuzz]"));
    assert!(unfuzzed.all(|section| !section.contains("debug-assertions")));
}
