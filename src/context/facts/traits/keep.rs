//! Finds the states that an agent works by: instructions, the newest plan or todo list, what a memory tool returned.
//!
//! States with one key are versions of one thing. The layers decide about the newest and the older ones.

use serde::Deserialize;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::forms::TABLE;
use super::paths::Path;
use super::target::{File, State, Target};

/// Names that a host adds to the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct KeepRules {
    /// Files: a name, the end of a path, or `*` and the end of a name.
    pub files: Vec<Box<str>>,
    /// Tools whose newest call and result are a state.
    pub tools: Vec<Box<str>>,
}

impl KeepRules {
    /// The state that a call reads or writes.
    pub(crate) fn state_of(&self, tool: &[u16], arguments: &[u16], target: &Target) -> Option<State> {
        let tool = String::from_utf16_lossy(tool);
        let tool = tool.rsplit("__").next().unwrap_or_default();
        let of_tool = xxh3_64(tool.as_bytes());
        let state = |keys: Vec<u64>, name: &str| {
            let (wholes, keys, name) = (keys.clone().into(), keys.into(), name.into());
            State { keys, wholes, name, said: arguments.len(), is_whole: false }
        };
        if TABLE.keep.memories.has(tool) {
            let key = xxh3_64_with_seed(bytemuck::cast_slice(arguments), of_tool);
            return Some(state(vec![key], tool));
        }
        if TABLE.keep.plans.has(tool) || self.tools.iter().any(|name| **name == *tool) {
            return Some(state(vec![of_tool], tool));
        }
        let shown = target.files.iter().filter_map(|file| Some((self.key_of(file)?, file)));
        let (keys, files): (Vec<_>, Vec<_>) = shown.unzip();
        let file = files.first()?;
        let wholes = files.iter().map(|file| file.path.hash()).collect();
        let is_whole = file.change.is_some();
        let said = if is_whole { arguments.len() } else { 0 };
        Some(State { wholes, said, is_whole, ..state(keys, file.path.name()) })
    }

    /// The key of the state in a file, if the call shows enough of the file.
    fn key_of(&self, file: &File) -> Option<u64> {
        let File { path, part, is_searched, change } = file;
        let names = TABLE.keep.files.iter().map(String::as_str).chain(self.files.iter().map(|name| &**name));
        let is_named = { names }.any(|name| is_named(path, name));
        // An edit, an addition, a move and a search show too little of the file to be a state.
        let is_shown = change.as_ref().is_none_or(|change| change.is_whole);
        let part = if change.is_some() { 0 } else { *part };
        (is_named && is_shown && !is_searched).then(|| path.hash() ^ part)
    }
}

fn is_named(path: &Path, name: &str) -> bool {
    if let Some(end) = name.strip_prefix('*') {
        return path.name().to_lowercase().ends_with(&end.to_lowercase());
    }
    if name.contains(['/', '\\']) {
        return Path::of(name, None).is_some_and(|end| path.ends_with(&end));
    }
    path.name().eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::utf16;

    fn state(tool: &str, arguments: &str) -> Option<State> {
        let rules =
            KeepRules { files: vec!["docs/api.md".into(), "*.spec".into()], tools: vec!["board".into()] };
        let (tool, arguments) = (utf16(tool), utf16(arguments));
        rules.state_of(&tool, &arguments, &Target::of(&tool, &arguments, &mut Vec::new()))
    }

    #[test]
    fn instructions_plans_and_memories_are_states() {
        for (tool, arguments, name) in [
            ("read", r#"{"path":"/x/AGENTS.md"}"#, "AGENTS.md"),
            ("bash", r#"{"command":"cat skills/pdf/SKILL.md"}"#, "SKILL.md"),
            ("Read", r#"{"file_path":".cursor/rules/style.mdc"}"#, "style.mdc"),
            ("Write", r#"{"file_path":"PLAN.md","content":"- [x] one\n- [ ] two"}"#, "PLAN.md"),
            ("read", r#"{"path":"docs/Implementation-Plan.md"}"#, "Implementation-Plan.md"),
            ("TodoWrite", r#"{"todos":[]}"#, "TodoWrite"),
            ("ExitPlanMode", r#"{"plan":"1. one\n2. two"}"#, "ExitPlanMode"),
            ("bash", r#"{"command":"cat > AGENTS.md <<EOF\n- the only rule\nEOF"}"#, "AGENTS.md"),
            (
                "apply_patch",
                r#"{"input":"*** Begin Patch\n*** Add File: AGENTS.md\n+- the only rule\n*** End Patch"}"#,
                "AGENTS.md",
            ),
            ("mcp__memory__read_graph", "{}", "read_graph"),
            ("read", r#"{"path":"a/docs/api.md"}"#, "api.md"),
            ("read", r#"{"path":"a.spec"}"#, "a.spec"),
            ("board", "{}", "board"),
        ] {
            assert_eq!(
                state(tool, arguments).map(|state| state.name),
                Some(name.into()),
                "{tool} {arguments}"
            );
        }
        for (tool, arguments) in [
            ("read", r#"{"path":"src/a.rs"}"#),
            ("read", r#"{"path":"api.md"}"#),
            ("edit", r#"{"path":"PLAN.md","oldText":"- [ ] one","newText":"- [x] one, and some more"}"#),
            ("bash", r#"{"command":"echo AGENTS.md"}"#),
            ("bash", r#"{"command":"cat AGENTS.md | grep -n step"}"#),
            ("bash", r#"{"command":"cat >> AGENTS.md <<EOF\n- one more rule\nEOF"}"#),
            (
                "str_replace_editor",
                r#"{"command":"insert","path":"AGENTS.md","insert_line":3,"new_str":"- one more rule"}"#,
            ),
            (
                "apply_patch",
                r#"{"input":"*** Begin Patch\n*** Update File: AGENTS.md\n@@\n+- one more rule\n*** End Patch"}"#,
            ),
        ] {
            assert_eq!(state(tool, arguments), None, "{tool} {arguments}");
        }
    }

    #[test]
    fn what_is_read_anew_is_the_same_state() {
        let read = state("read", r#"{"path":"AGENTS.md"}"#);
        assert_eq!(state("bash", r#"{"command":"cat ./AGENTS.md"}"#), read);
        assert_eq!(state("read", r#"{"path":"AGENTS.md","timeout":5000}"#), read);
        assert_ne!(state("read", r#"{"path":"AGENTS.md","offset":40}"#), read);
        assert_ne!(state("bash", r#"{"command":"ssh box cat AGENTS.md"}"#), read);
        let on_host =
            |host: &str| state("bash", &format!(r#"{{"command":"docker exec {host} cat ~/AGENTS.md"}}"#));
        assert!(on_host("a") == on_host("a") && on_host("a") != on_host("b"));
        let memory = |query: &str| state("search_nodes", &format!(r#"{{"query":"{query}"}}"#));
        assert!(memory("a") == memory("a") && memory("a") != memory("b"));
    }
}
