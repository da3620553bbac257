//! The forms of many agents, held against each other: one file read or edited is the same fact in each.

use super::*;
use crate::context::facts::traits::forms::Form;
use crate::context::facts::traits::paths::Path;
use crate::context::facts::traits::target::Change;
use serde_json::json;

fn name(target: &Target) -> String {
    target.form.map(Form::name).unwrap_or_default()
}

fn file(change: Option<Change>) -> File {
    File { path: Path::of("src/a.rs", None).expect("is a path"), part: 0, is_searched: false, change }
}

/// The rows of a section of `tests.txt`.
fn rows(title: &str) -> Vec<&'static str> {
    let lines = include_str!("tests.txt").lines();
    let section = lines.skip_while(|line| !line.starts_with(&format!("## {title}: ")));
    let rows: Vec<_> = section.skip(1).take_while(|line| !line.is_empty()).collect();
    assert!(!rows.is_empty(), "{title}");
    rows
}

/// Rows as `(row, target)`, with these texts in place of their names.
fn targets<'a>(rows: &[&'a str], texts: &[(&str, &str)]) -> Vec<(&'a str, Target)> {
    let read = |&row: &&'a str| {
        let named = row.rsplit_once(" | {").or_else(|| row.rsplit_once(" | \"")).expect("has columns").0;
        let tool = named.rsplit(" | ").next().expect("has a tool");
        let arguments = texts.iter().fold(row[named.len() + 3..].to_owned(), |json, (name, text)| {
            let quoted = Value::from(*text).to_string();
            json.replace(name, &quoted[1..quoted.len() - 1])
        });
        let target = Target::of(&utf16(tool), &utf16(&arguments), &mut Vec::new());
        (row, if is_remote(row) { local(target) } else { target })
    };
    rows.iter().map(read).collect()
}

fn is_remote(row: &str) -> bool {
    ["ssh ", "exec web", "exec -T", "exec -it"].iter().any(|words| row.contains(words))
}

/// A target on a host, with the path that it has there.
fn local(mut target: Target) -> Target {
    for of in &mut target.files {
        assert!(of.path.ends_with(&file(None).path) && of.path != file(None).path);
        of.path = file(None).path;
    }
    target
}

/// Each row of a section is of this one file.
fn all_are(title: &str, texts: &[(&str, &str)], file: &File) {
    for (row, target) in targets(&rows(title), texts) {
        assert_eq!(&*target.files, std::slice::from_ref(file), "{row}");
    }
}

#[test]
fn every_form_is_read_under_its_name() {
    for (row, target) in targets(&[rows("whole reads"), rows("searches")].concat(), &[]) {
        assert_eq!(Some(&*name(&target)), row.split(" | ").next(), "{row}");
    }
    all_are("whole reads", &[], &file(None));
    for (row, target) in targets(&rows("searches"), &[]) {
        let [read] = &*target.files else { panic!("{row}") };
        assert_eq!(*read, File { part: read.part, is_searched: true, ..file(None) }, "{row}");
    }
}

#[test]
fn a_path_with_signs_is_one_in_every_form() {
    for path in ["app/(auth)/[id]/page.tsx", "[slug].tsx", "app/routes/$id.tsx"] {
        let wanted = File { path: Path::of(path, None).expect("is a path"), ..file(None) };
        for (tool, arguments) in [
            ("Read", json!({ "file_path": path })),
            ("bash", json!({ "command": format!("cat '{path}'") })),
            ("bash", json!({ "command": format!("git show 'HEAD:{path}'") })),
            ("shell", json!({ "command": ["cat", path] })),
            ("powershell", json!({ "command": format!("Get-Content -LiteralPath '{path}'") })),
            ("bash", json!({ "command": format!("python <<'PY'\nprint(open('{path}').read())\nPY") })),
        ] {
            let target = Target::of(&utf16(tool), &utf16(&arguments.to_string()), &mut Vec::new());
            assert_eq!(&*target.files, std::slice::from_ref(&wanted), "{arguments}");
        }
        let line = "say(`$id`) // 1) \"new\"";
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n+{line}\n*** End Patch");
        let wanted = File { change: Some(Change::of(&[], &[line])), ..wanted };
        for command in [
            format!("apply_patch <<'EOF'\n{patch}\nEOF"),
            format!("apply_patch <<EOF\n{patch}\nEOF"),
            format!("apply_patch \"$(cat <<'EOF'\n{patch}\nEOF\n)\" && make"),
            format!("cat > '{path}' <<'EOF'\n{line}\nEOF"),
            format!("echo \"$(cat <<'EOF'\n{line}\nEOF\n)\" > '{path}'"),
        ] {
            let arguments = json!({ "command": command }).to_string();
            let target = Target::of(&utf16("bash"), &utf16(&arguments), &mut Vec::new());
            assert_eq!(&*target.files, std::slice::from_ref(&wanted), "{arguments}");
        }
    }
}

#[test]
fn each_command_of_a_call_is_read() {
    for row in [
        r#"ctx_batch_execute | {"commands": [{"label": "x", "command": "cat src/a.rs"}, {"command": "cat src/b.rs"}]}"#,
        r#"powershell | {"command": "Get-Content src/a.rs,src/b.rs"}"#,
    ] {
        let [(_, target)] = &targets(&[row], &[])[..] else { panic!("{row}") };
        let paths: Vec<&str> = target.files.iter().map(|file| file.path.name()).collect();
        assert_eq!(paths, ["a.rs", "b.rs"], "{row}");
    }
}

#[test]
fn a_part_of_a_file_is_told_from_the_whole_in_every_form() {
    for (row, target) in targets(&rows("partial reads"), &[]) {
        let [read] = &*target.files else { panic!("{row}") };
        assert_eq!(*read, File { part: read.part, ..file(None) }, "{row}");
        let again = targets(&[row], &[]);
        let other = row.replace("10", "11").replace("9,", "10,");
        let part_of = |of: &[(&str, Target)]| of[0].1.files[0].part;
        assert_eq!(part_of(&again), read.part, "{row}");
        assert!(read.part != 0 && (other == row || part_of(&targets(&[&other], &[])) != read.part), "{row}");
    }
}

#[test]
fn an_edit_is_the_same_change_in_every_form() {
    let (old, new) = ("let answer = 41;", "let answer = 42;");
    let patch = format!("*** Begin Patch\n*** Update File: src/a.rs\n@@\n-{old}\n+{new}\n*** End Patch\n");
    let (short, quoted) = (patch.replace("src/", ""), json!(patch).to_string());
    let roo = format!("<<<<<<< SEARCH\n:start_line:10\n-------\n{old}\n=======\n{new}\n>>>>>>> REPLACE");
    let blocks = roo.replace(":start_line:10\n-------\n", "");
    let diff = format!("--- a/src/a.rs\n+++ b/src/a.rs\n@@ -10,1 +10,1 @@\n-{old}\n+{new}\n");
    let texts = [
        ("$old", old),
        ("$new", new),
        ("$patch", &patch),
        ("$short", &short),
        ("$quoted", &quoted),
        ("$blocks", &blocks),
        ("$roo", &roo),
        ("$diff", &diff),
    ];
    all_are("edits", &texts, &file(Some(Change::of(&[old], &[new]))));
    let written = Change::of(&[], &[new]);
    all_are("additions", &[("$text", new)], &file(Some(Change { is_whole: false, ..written.clone() })));
    all_are("writes", &[("$text", new)], &file(Some(written)));
}

#[test]
fn a_move_is_the_same_in_every_form() {
    all_are("moves", &[], &file(Some(Change::default())));
}

#[test]
fn what_reads_no_file_names_none() {
    for (row, target) in targets(&rows("no files"), &[]) {
        assert_eq!(target, Target::default(), "{row}");
    }
}

#[test]
fn a_script_of_calls_shows_the_lines_of_their_texts() {
    let mut shown = Vec::new();
    let patch = r"*** Begin Patch\n*** Add File: a.rs\n+let answer = 42;\n*** End Patch";
    let input = json!({ "input": format!("await tools.apply_patch(\"{patch}\")") });
    Target::of(&utf16("exec"), &utf16(&input.to_string()), &mut shown);
    assert!(shown.contains(&Line::of(&utf16("let answer = 42;")).expect("is long enough")));
}

#[test]
fn a_subject_is_the_file_or_the_command() {
    let of = |tool, arguments: Value| subject_of(tool, &arguments.to_string());
    assert_eq!(of("Read", json!({ "file_path": "a.rs" })), Some(("file", "a.rs".to_owned())));
    let command = of("shell", json!({ "command": ["bash", "-lc", "make"] }));
    assert_eq!(command, Some(("command", "bash -lc make".to_owned())));
    assert_eq!(of("think", json!({ "thought": "a.rs" })), None);
}

#[test]
fn arguments_of_any_shape_are_bounded() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let many: Vec<Value> = (0..100_000).map(|i| json!({ "path": format!("f{i}"), "oldText": "x" })).collect();
    let cyclic = "*** Update File: a\n*** Move to: b\n*** Update File: b\n*** Move to: a\n".repeat(50_000);
    let chain = format!("bash -c \"{}cat a.rs\"", "bash -c ".repeat(10_000));
    for arguments in [
        String::new(),
        "null".to_owned(),
        deep,
        json!(many).to_string(),
        json!({ "files": many }).to_string(),
        json!({ "command": "cat a b c;".repeat(100_000) }).to_string(),
        json!({ "command": vec!["a.rs"; 100_000] }).to_string(),
        json!({ "command": "<<E ".repeat(50_000) }).to_string(),
        json!({ "command": format!("python <<E\nopen('{}\nE", "open('a".repeat(10_000)) }).to_string(),
        json!({ "command": "$(".repeat(100_000) }).to_string(),
        json!({ "command": "@'\n".repeat(50_000) }).to_string(),
        json!({ "command": chain }).to_string(),
        json!({ "command": format!("for x in {}; do cat {}", "a ".repeat(9000), "$x$x ".repeat(9000)) })
            .to_string(),
        json!({ "command": format!("x={}; cat {}", "a".repeat(1_000_000), "$x ".repeat(9000)) }).to_string(),
        json!({ "input": format!("*** Begin Patch\n{cyclic}") }).to_string(),
        json!({ "view_range": vec![vec![1]; 100_000], "path": "a" }).to_string(),
    ] {
        let read = Target::of(&utf16("shell"), &utf16(&arguments), &mut Vec::new());
        assert!(read.files.len() <= MAX_FILES, "{arguments:.40}");
    }
}
