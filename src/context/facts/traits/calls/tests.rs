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

/// Reads of `src/a.rs` as each agent asks for them: the form, the tool and its arguments.
const WHOLE_READS: &str = r#"
Claude Code Read | Read | {"file_path": "src/a.rs"}
Claude Code Bash: cat | Bash | {"command": "cat src/a.rs", "description": "Show it"}
Codex read_file | read_file | {"file_path": "src/a.rs", "mode": "slice"}
Codex shell: cat | shell | {"command": ["bash", "-lc", "cat src/a.rs"]}
Codex shell: cat | shell | {"command": ["cat", "src/a.rs"], "workdir": ""}
Codex shell: nl | container.exec | {"command": ["/bin/zsh", "-lc", "cd src && nl -ba a.rs"]}
Codex shell: cat | shell | {"command": ["powershell.exe", "-NoProfile", "-Command", "Get-Content -Path 'src\\a.rs'"]}
Codex shell: cat | shell | {"command": ["cmd.exe", "/d", "/s", "/c", "type src\\a.rs"]}
Codex local_shell: cat | local_shell_call | {"action": {"type": "exec", "command": ["cat", "a.rs"], "working_directory": "src"}}
Codex exec_command: cat | exec_command | {"cmd": "cat a.rs", "workdir": "src"}
Codex exec | exec | {"input": "const r = await tools.exec_command({\"cmd\":\"cat a.rs\",\"workdir\":\"src\"});\ntext(r.output);"}
Codex shell_command: git show | shell_command | {"command": "git show HEAD:src/a.rs"}
pi read | read | {"path": "src/a.rs"}
pi bash: cat | bash | {"command": "sudo cat ./src/a.rs 2>/dev/null"}
OpenCode read | read | {"filePath": "src/a.rs"}
OpenClaw exec: cat | exec | {"command": "bash -c 'cat src/a.rs'"}
Gemini CLI read_file | read_file | {"absolute_path": "src/a.rs"}
Gemini CLI read_many_files | read_many_files | {"paths": ["src/a.rs"]}
Gemini CLI run_shell_command: cat | run_shell_command | {"command": "cat a.rs", "directory": "src"}
Cline read_file | read_file | {"path": "src/a.rs", "start_line": null, "end_line": null}
Cline execute_command: cat | execute_command | {"command": "type src\\a.rs", "requires_approval": false}
Roo read_file | read_file | {"files": [{"path": "src/a.rs", "line_ranges": []}]}
Cursor read_file | read_file | {"target_file": "src/a.rs", "should_read_entire_file": true}
Cursor run_terminal_cmd: cat | run_terminal_cmd | {"command": "cat src/a.rs | cat", "is_background": false}
Copilot read_file | read_file | {"filePath": "src/a.rs"}
Copilot run_in_terminal: cat | run_in_terminal | {"command": "gc src/a.rs", "explanation": "x", "isBackground": false}
OpenHands view | str_replace_editor | {"command": "view", "path": "src/a.rs", "view_range": null}
OpenHands bash: python | execute_bash | {"command": "python3 - <<'PY'\nprint(open('src/a.rs').read())\nPY"}
OpenHands bash: python | execute_bash | {"command": "python3 -c \"from pathlib import Path\nprint(Path('src/a.rs').read_text())\""}
OpenHands bash: python | execute_bash | {"command": "python - <<PY\np = 'src/a.rs'\nfor line in open(p):\n  print(line) # it's read\nPY"}
pi bash: python | bash | {"command": "cat <<'PY' | python3 -\nprint(open('src/a.rs').read())\nPY"}
pi bash: cat | bash | {"command": "cat <<EOF | bash\ncat src/a.rs\nEOF"}
pi bash: cat | bash | {"command": "echo 'cat src/a.rs' | sh"}
Codex shell: cat | shell | {"command": ["powershell.exe", "-Command", "@'\nGet-Content src/a.rs\n'@ | powershell -NoProfile -Command -"]}
OpenHands bash: python | execute_bash | {"command": "node <<'JS'\nconsole.log(require('fs').readFileSync(`src/a.rs`, 'utf8'))\nJS"}
Goose text_editor | developer__text_editor | {"command": "view", "path": "src/a.rs"}
MCP filesystem read_multiple_files | mcp__fs__read_multiple_files | {"paths": ["src/a.rs"]}
Windsurf view_file | view_file | {"AbsolutePath": "src/a.rs"}
Windsurf run_command: cat | run_command | {"CommandLine": "cat a.rs", "Cwd": "src"}
any | fetch_source | {"fileName": 1, "filename": "src/a.rs"}
OpenHands view | str_replace_editor | {"command": "view", "path": "src/a.rs", "old_str": "", "new_str": "", "view_range": []}
Serena read_file | read_file | {"relative_path": "src/a.rs"}
any | read_files | {"file_paths": ["src/a.rs"]}
any: cat | run_commands | {"commands": ["cat src/a.rs", "make"]}
JetBrains read | get_file_text_by_path | {"pathInProject": "src/a.rs"}
pi bash: cat | bash | {"command": "cat a.rs", "working_dir": "src"}
pi bash: cat | bash | {"command": "less -R -S src/a.rs"}
pi bash: cat | bash | {"command": "for f in src/a.rs; do cat \"$f\"; done"}
pi bash: cat | bash | {"command": "f=a.rs; cat src/${f}"}
PowerShell: cat | powershell | {"command": "Get-Content src/a.rs | Out-String"}
PowerShell: cat | powershell | {"command": "$x = \"src/a.rs\"; Get-Content $x"}
pi bash: cat | bash | {"command": "sudo -n -g staff env -u A cat src/a.rs"}
pi bash: python | bash | {"command": "python3 - <<'PY'\nfor p in ['src/a.rs']:\n  print(open(p).read())\nPY"}
pi bash: python | bash | {"command": "uv run python -c \"print(open('src/a.rs').read())\""}
pi bash: cat | bash | {"command": "setsid cat src/a.rs"}
Void read_file | read_file | {"uri": "src/a.rs"}
Python | execute_ipython_cell | {"code": "print(open('src/a.rs').read())"}
PowerShell: cat | powershell | {"command": "if (Test-Path src/a.rs) { Get-Content src/a.rs }"}
PowerShell: cat | powershell | {"command": "foreach ($f in 'src/a.rs') { Get-Content $f }"}
PowerShell: cat | powershell | {"command": "[System.IO.File]::ReadAllText(\"src\\a.rs\")"}
pi bash: cat | bash | {"command": "f() { cat src/a.rs; }; f; grep '{' Makefile"}
"#;

/// Lines 10 to 40 of it, or others.
const PARTIAL_READS: &str = r#"
Read | {"file_path": "src/a.rs", "offset": 10, "limit": 31}
read_file | {"absolute_path": "src/a.rs", "offset": 9, "limit": 31}
read_file | {"file_path": "src/a.rs", "start_line": 10, "end_line": 40}
read_file | {"target_file": "src/a.rs", "start_line_one_indexed": 10, "end_line_one_indexed_inclusive": 40}
read_file | {"filePath": "src/a.rs", "startLine": 10, "endLine": 40}
read_file | {"files": [{"path": "src/a.rs", "line_ranges": [[10, 20], [30, 40]]}]}
read_file | {"args": {"file": [{"path": "src/a.rs", "line_range": "10-40"}]}}
view | {"path": "src/a.rs", "view_range": [10, 40]}
file_editor | {"command": "view", "path": "src/a.rs", "view_range": [10, 40]}
view_file | {"AbsolutePath": "src/a.rs", "StartLine": 10, "EndLine": 40}
shell | {"command": ["bash", "-lc", "sed -n '10,40p' src/a.rs"]}
shell | {"command": ["sed", "-n", "10,40p", "src/a.rs"]}
exec_command | {"cmd": "nl -ba src/a.rs | sed -n '10,40p'"}
bash | {"command": "cat src/a.rs | head -n 40 | tail -n +10"}
bash | {"command": "tail -n +10 src/a.rs | head -31"}
bash | {"command": "awk 'NR>=10 && NR<=40' src/a.rs"}
powershell | {"command": "Get-Content src\\a.rs | Select-Object -Skip 9 -First 31"}
read | {"path": "src/a.rs:10-40"}
exec | {"input": "text(await tools.exec_command({ cmd: \"sed -n '10,40p' src/a.rs\", yield_time_ms: 1000 }));"}
powershell | {"command": "(Get-Content -Path 'src\\a.rs')[9..39]"}
powershell | {"command": "(Get-Content src\\a.rs)[-10..-1].Trim()"}
powershell | {"command": "(Get-Content src\\a.rs)[$from..10].Trim()"}
bash | {"command": "tail -20 src/a.rs"}
bash | {"command": "cat src/a.rs 2>&1 | head -n 10"}
bash | {"command": "head src/a.rs"}
bash | {"command": "cat src/a.rs | tail"}
bash | {"command": "cat src/a.rs | cut -c1-10"}
bash | {"command": "cat src/a.rs | python3 -c 'import sys'"}
read_file | {"file_path": "src/a.rs", "mode": "indentation", "indentation": {"anchor_line": 10}}
bash | {"command": "open src/a.rs 10"}
powershell | {"command": "Get-Content src\\a.rs | Where-Object { $_ -match '10' }"}
"#;

/// Searches in it.
const SEARCHES: &str = r#"
Claude Code Grep | Grep | {"pattern": "fn main", "path": "src/a.rs", "output_mode": "content"}
pi bash: rg | bash | {"command": "rg -n 'fn main' src/a.rs"}
pi bash: rg | bash | {"command": "grep -n \\\n -e main src/a.rs"}
PowerShell: select string | powershell | {"command": "Select-String -Path src\\a.rs -Pattern main"}
pi bash: rg | bash | {"command": "grep -E -i -n 'a|b' src/a.rs"}
pi bash: cat | bash | {"command": "cat src/a.rs | grep main"}
pi bash: git diff | bash | {"command": "git -C src diff HEAD~1 -- a.rs"}
pi bash: git diff | bash | {"command": "git blame src/a.rs"}
pi bash: git show | bash | {"command": "git show --stat HEAD -- src/a.rs"}
Serena search_for_pattern | search_for_pattern | {"substring_pattern": "x", "relative_path": "src/a.rs"}
pi bash: rg | bash | {"command": "search_file 'fn main' src/a.rs"}
Copilot grep_search | grep_search | {"query": "main", "isRegexp": false, "includePattern": "src/a.rs"}
Zed grep | grep | {"regex": "main", "include_pattern": "src/a.rs"}
Windsurf grep_search | grep_search | {"SearchPath": "src/a.rs", "Query": "main", "MatchPerLine": true}
"#;

/// Edits of one line of it. Words after `$` stand for texts that the test makes.
const EDITS: &str = r#"
Edit | {"file_path": "src/a.rs", "old_string": "$old", "new_string": "$new"}
MultiEdit | {"file_path": "src/a.rs", "edits": [{"old_string": "$old", "new_string": "$new"}]}
shell | {"command": ["apply_patch", "$patch"]}
shell | {"command": ["bash", "-lc", "apply_patch <<'EOF'\n$patchEOF"]}
shell | {"command": ["bash", "-lc", "cd src && apply_patch <<'EOF'\n$shortEOF"]}
apply_patch | {"input": "$patch"}
exec | {"input": "const p = $quoted;\ntext(await tools.apply_patch(p));"}
apply_patch | {"patchText": "$patch"}
apply_patch | "$patch"
edit | {"path": "src/a.rs", "oldText": "$old", "newText": "$new"}
edit | {"path": "src/a.rs", "edits": [{"oldText": "$old", "newText": "$new"}]}
edit | {"filePath": "src/a.rs", "oldString": "$old", "newString": "$new"}
replace | {"file_path": "src/a.rs", "old_string": "$old", "new_string": "$new", "instruction": "x"}
replace_in_file | {"path": "src/a.rs", "diff": "$blocks"}
apply_diff | {"path": "src/a.rs", "diff": "$roo"}
apply_diff | {"args": {"file": [{"path": "src/a.rs", "diff": [{"content": "$roo", "start_line": 10}]}]}}
search_and_replace | {"path": "src/a.rs", "search": "$old", "replace": "$new"}
search_replace | {"file_path": "src/a.rs", "old_string": "$old", "new_string": "$new"}
StrReplace | {"path": "src/a.rs", "old_string": "$old", "new_string": "$new"}
replace_string_in_file | {"filePath": "src/a.rs", "oldString": "$old", "newString": "$new"}
multi_replace_string_in_file | {"explanation": "x", "replacements": [{"filePath": "src/a.rs", "oldString": "$old", "newString": "$new"}]}
str_replace_editor | {"command": "str_replace", "path": "src/a.rs", "old_str": "$old", "new_str": "$new"}
developer__text_editor | {"command": "str_replace", "path": "src/a.rs", "diff": "$diff"}
edit | {"path": "src/a.rs", "before": "$old", "after": "$new"}
edit_file | {"path": "src/a.rs", "edits": [{"oldText": "$old", "newText": "$new"}], "dryRun": false}
replace_file_content | {"TargetFile": "src/a.rs", "ReplacementChunks": [{"TargetContent": "$old", "ReplacementContent": "$new"}]}
StrReplaceFile | {"path": "src/a.rs", "edit": {"old": "$old", "new": "$new"}}
bash | {"command": "python - <<'PY'\nfrom pathlib import Path\np = Path('src/a.rs')\nold = '$old'\np.write_text(p.read_text().replace(old, '$new'))\nPY"}
bash | {"command": "python <<PY\nold = '''$old\n'''\nnew = '''$new\n'''\ns = open('src/a.rs').read()\nassert old in s\nopen('src/a.rs', 'w').write(s.replace(old, new))\nPY"}
bash | {"command": "node <<'JS'\nfs.writeFileSync('src/a.rs', fs.readFileSync('src/a.rs', 'utf8').replace(\"$old\", \"$new\"))\nJS"}
bash | {"command": "git apply <<'EOF'\n$diffEOF"}
bash | {"command": "cat <<'EOF' | patch -p1\n$diffEOF"}
multiedit | {"filePath": "src/a.rs", "edits": [{"filePath": "src/a.rs", "oldString": "$old", "newString": "$new"}]}
str-replace-editor | {"command": "str_replace", "path": "src/a.rs", "old_str_1": "$old", "new_str_1": "$new"}
replace_content | {"relative_path": "src/a.rs", "needle": "$old", "repl": "$new", "mode": "literal"}
bash | {"command": "python - <<'PY'\nfor p in ['src/a.rs']:\n  s = open(p).read().replace('$old', '$new')\n  open(p, 'w').write(s)\nPY"}
edit_file | {"uri": "src/a.rs", "search_replace_blocks": "$blocks"}
replace_text_in_file | {"pathInProject": "src/a.rs", "oldText": "$old", "newText": "$new"}
"#;

const WRITES: &str = r#"
Write | {"file_path": "src/a.rs", "content": "$text"}
write | {"path": "src/a.rs", "content": "$text"}
write_to_file | {"path": "src/a.rs", "content": "$text", "line_count": 1}
Write | {"path": "src/a.rs", "contents": "$text"}
create | {"path": "src/a.rs", "file_text": "$text"}
create_file | {"filePath": "src/a.rs", "content": "$text"}
str_replace_editor | {"command": "create", "path": "src/a.rs", "file_text": "$text"}
shell | {"command": ["bash", "-lc", "cat > src/a.rs <<'EOF'\n$text\nEOF"]}
bash | {"command": "cd src; cat <<EOF >a.rs\n$text\nEOF\nmake"}
bash | {"command": "tee src/a.rs <<-EOF\n\t$text\n\tEOF"}
bash | {"command": "cat <<'EOF' | tee src/a.rs\n$text\nEOF"}
bash | {"command": "python -c \"open('src/a.rs', 'w').write('$text')\""}
powershell | {"command": "@'\n$text\n'@ | Set-Content -Path src\\a.rs"}
powershell | {"command": "Set-Content -Path src\\a.rs -Value '$text'"}
powershell | {"command": "Set-Content src\\a.rs '$text'"}
apply_patch | {"input": "*** Begin Patch\n*** Add File: src/a.rs\n+$text\n*** End Patch"}
create_text_file | {"relative_path": "src/a.rs", "content": "$text"}
save-file | {"path": "src/a.rs", "file_content": "$text"}
fsWrite | {"path": "src/a.rs", "text": "$text"}
powershell | {"command": "'$text' | Set-Content src\\a.rs"}
powershell | {"command": "\"$text\" > src\\a.rs"}
powershell | {"command": "[IO.File]::WriteAllText('src/a.rs', '$text')"}
rewrite_file | {"uri": "src/a.rs", "new_content": "$text"}
create_new_file | {"pathInProject": "src/a.rs", "text": "$text"}
"#;

const ADDITIONS: &str = r#"
insert_content | {"path": "src/a.rs", "line": 0, "content": "$text"}
str_replace_editor | {"command": "insert", "path": "src/a.rs", "insert_line": 1, "new_str": "$text"}
edit_file | {"target_file": "src/a.rs", "instructions": "", "code_edit": "$text"}
bash | {"command": "echo '$text' >> src/a.rs"}
bash | {"command": "echo '$text' | tee -a src/a.rs"}
bash | {"command": "python -c \"open('src/a.rs', 'a').write('$text')\""}
powershell | {"command": "Add-Content -Path src\\a.rs -Value '$text'"}
powershell | {"command": "@'\n$text\n'@ | Out-File -Append src\\a.rs"}
apply_patch | {"input": "*** Begin Patch\n*** Update File: src/a.rs\n@@\n+$text\n*** End Patch"}
str_replace_based_edit_tool | {"command": "insert", "path": "src/a.rs", "insert_line": 1, "insert_text": "$text", "old_str": ""}
write_file | {"path": "src/a.rs", "content": "$text", "mode": "append"}
write_file | {"file_path": "src/a.rs", "text": "$text", "append": true}
fsAppend | {"path": "src/a.rs", "text": "$text"}
insert_after_symbol | {"relative_path": "src/a.rs", "name_path": "main", "body": "$text"}
edit_notebook_file | {"filePath": "src/a.rs", "newCode": "$text"}
powershell | {"command": "'$text' | Add-Content src\\a.rs"}
"#;

const MOVES: &str = r#"
bash | {"command": "git mv src/a.rs src/b.rs"}
bash | {"command": "cd src && mv -f a.rs b.rs"}
powershell | {"command": "Move-Item src\\a.rs src\\b.rs"}
move_file | {"source": "src/a.rs", "destination": "src/b.rs"}
apply_patch | {"input": "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n*** End Patch"}
bash | {"command": "cat src/b.rs > src/a.rs"}
powershell | {"command": "Get-Content src/b.rs | Set-Content src/a.rs"}
bash | {"command": "git show HEAD:src/b.rs > src/a.rs"}
"#;

const NO_FILES: &str = r#"
ls | {"path": "src"}
list_dir | {"dir_path": "src", "path": "src"}
Grep | {"pattern": "x", "path": "src"}
bash | {"command": "cargo test"}
bash | {"command": "cat $FILE *.rs \"$PWD/a.rs\" `ls` $(ls) a?.rs"}
bash | {"command": "cat a.rs > /dev/null"}
powershell | {"command": "$x = Get-Location; Get-Content $x"}
get_file_info | {"path": "a.rs"}
Delete | {"path": "a.rs"}
bash | {"command": "rg main src; sed -i s/a/b/ a.rs; echo cat a.rs"}
bash | {"command": "node <<'EOF'\ncat a.rs\nEOF"}
bash | {"command": "python3 - <<PY\nprint(open('$HOME/a.rs').read(), open('`pwd`/a.rs').read())\nPY"}
bash | {"command": "bash <<EOF\ncat \\$FILE\nEOF"}
bash | {"command": "git log 'f(x).y'"}
bash | {"command": "git commit -m \"$(cat <<'EOF'\nSay \"; cat a.rs; \" :)\nEOF\n)\""}
shell | {"command": ["make", "cat", "a.rs"]}
shell | {"command": 7}
read | {"path": {"path": 7}}
read_many_files | {"include": ["src/**/*.rs"]}
"#;

/// The rows of a table as `(row, target)`, with these texts in place of their names.
fn targets<'a>(table: &'a str, texts: &[(&str, &str)]) -> Vec<(&'a str, Target)> {
    let read = |row: &'a str| {
        let named = row.rsplit_once(" | {").or_else(|| row.rsplit_once(" | \"")).expect("has columns").0;
        let tool = named.rsplit(" | ").next().expect("has a tool");
        let arguments = texts.iter().fold(row[named.len() + 3..].to_owned(), |json, (name, text)| {
            let quoted = Value::from(*text).to_string();
            json.replace(name, &quoted[1..quoted.len() - 1])
        });
        (row, Target::of(&utf16(tool), &utf16(&arguments), &mut Vec::new()))
    };
    table.trim().lines().map(read).collect()
}

/// Each row of a table is of this one file.
fn all_are(table: &str, texts: &[(&str, &str)], file: &File) {
    for (row, target) in targets(table, texts) {
        assert_eq!(&*target.files, std::slice::from_ref(file), "{row}");
    }
}

#[test]
fn every_form_is_read_under_its_name() {
    for (row, target) in [WHOLE_READS, SEARCHES].into_iter().flat_map(|table| targets(table, &[])) {
        assert_eq!(Some(&*name(&target)), row.split(" | ").next(), "{row}");
    }
    all_are(WHOLE_READS, &[], &file(None));
    for (row, target) in targets(SEARCHES, &[]) {
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
        let [(_, target)] = &targets(row, &[])[..] else { panic!("{row}") };
        let paths: Vec<&str> = target.files.iter().map(|file| file.path.name()).collect();
        assert_eq!(paths, ["a.rs", "b.rs"], "{row}");
    }
}

#[test]
fn a_part_of_a_file_is_told_from_the_whole_in_every_form() {
    for (row, target) in targets(PARTIAL_READS, &[]) {
        let [read] = &*target.files else { panic!("{row}") };
        assert_eq!(*read, File { part: read.part, ..file(None) }, "{row}");
        let again = targets(row, &[]);
        let other = row.replace("10", "11").replace("9,", "10,");
        let part_of = |of: &[(&str, Target)]| of[0].1.files[0].part;
        assert_eq!(part_of(&again), read.part, "{row}");
        assert!(read.part != 0 && (other == row || part_of(&targets(&other, &[])) != read.part), "{row}");
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
    all_are(EDITS, &texts, &file(Some(Change::of(&[old], &[new]))));
    let written = Change::of(&[], &[new]);
    all_are(ADDITIONS, &[("$text", new)], &file(Some(Change { is_whole: false, ..written.clone() })));
    all_are(WRITES, &[("$text", new)], &file(Some(written)));
}

#[test]
fn a_move_is_the_same_in_every_form() {
    all_are(MOVES, &[], &file(Some(Change::default())));
}

#[test]
fn what_reads_no_file_names_none() {
    for (row, target) in targets(NO_FILES, &[]) {
        assert_eq!(target, Target::default(), "{row}");
    }
}

#[test]
fn a_script_of_calls_shows_the_lines_of_their_texts() {
    let mut shown = Vec::new();
    let input = json!({ "input": "await tools.apply_patch(\"*** Begin Patch\\n+let answer = 42;\\n*** End Patch\")" });
    Target::of(&utf16("exec"), &utf16(&input.to_string()), &mut shown);
    assert!(shown.contains(&Line::of(&utf16("+let answer = 42;")).expect("is long enough")));
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
