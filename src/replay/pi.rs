//! Finds the conversation in pi's session files: version 1 is a list, 2 and 3 are trees of entries, 4 is the agent
//! harness's log of records. It is the path from the root to the leaf; each compaction and each edit on it begins a
//! stretch with the context pi itself would build there. Where a broken line tore a parent out of the tree, the
//! entry before it stands in, so that one bad line does not cost all of the history above it.

use super::lines::{self, Place};
use super::pi_entries::{self as entries, FirstKept, replace_content, role_of};
use super::timeline::{Cause, Timeline};
use super::{Format, Id, Index, Object, Unplayed, str_of};
use serde_json::Value;
use std::collections::HashMap;

/// The last version without `id` and `parentId`; its entries form one list.
const LINEAR_VERSION: u32 = 1;

/// The entries that a message is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Recipe {
    /// A message entry, with the content of an edit if there was one.
    Message { entry: Place, edit: Option<Place> },
    /// One of the messages a compaction puts first.
    Head { compaction: Place, number: usize },
}

impl Recipe {
    /// The message.
    pub(super) fn message(&self, file: &[u8]) -> Option<Value> {
        let read = |place: Place| entries::read(place.read(file)?).ok();
        match self {
            Self::Message { entry, edit } => {
                let entries::Entry::Message(mut message) = read(*entry)? else { return None };
                if let Some(edit) = edit
                    && let entries::Entry::Edit { replacement: Some(replacement), .. } = read(*edit)?
                {
                    replace_content(&mut message, &replacement);
                }
                Some(message)
            }
            Self::Head { compaction, number } => match read(*compaction)? {
                entries::Entry::Compaction(compaction) => compaction.head.into_iter().nth(*number),
                _ => None,
            },
        }
    }
}

/// The parts of an entry that are kept.
struct Entry {
    place: Place,
    id: Option<Id>,
    parent: Parent,
    kind: Kind,
}

enum Parent {
    Root,
    Id(Id),
    /// None is named: the entry before it in the file.
    Previous,
}

enum Kind {
    Message { is_answer: bool, is_system: bool },
    Compaction(Box<Compaction>),
    Edit { target: Id, removes: bool },
    Other,
}

struct Compaction {
    /// Number of messages it puts first.
    head: usize,
    first_kept: FirstKept<Id>,
}

#[derive(Default)]
struct File {
    version: Option<u32>,
    entries: Vec<Entry>,
    /// For each parsed line, the entry it became (the header became none).
    by_line: Vec<Option<usize>>,
    leaf: Leaf,
}

#[derive(Default)]
enum Leaf {
    #[default]
    LastEntry,
    Id(Id),
    BeforeAll,
}

/// Reads the file and follows the path to its leaf.
pub(super) fn read(bytes: &[u8]) -> Index {
    let mut file = File::default();
    let problems = lines::for_each_object(bytes, |place, line| file.add(place, line));
    let version = file.version.unwrap_or(LINEAR_VERSION);
    let path = file.path(version);
    let mut on_path = vec![false; file.entries.len()];
    for &index in &path {
        if let Some(flag) = on_path.get_mut(index) {
            *flag = true;
        }
    }
    let left = file.entries.iter().zip(on_path).filter(|(entry, is_on_path)| {
        !is_on_path && matches!(entry.kind, Kind::Message { is_answer: true, .. })
    });
    let unplayed = Unplayed { abandoned: left.count(), sub_agents: 0 };
    let timeline = file.timeline(&path);
    Index { format: Format::Pi { version }, timeline, problems, unplayed, tools: None }
}

impl File {
    fn add(&mut self, place: Place, line: Object) -> Result<(), String> {
        if str_of(&line, "type") == Some("session") || str_of(&line, "kind") == Some("header") {
            let version = line.get("version").or_else(|| line.get("v")).and_then(Value::as_u64);
            let version = version.and_then(|version| u32::try_from(version).ok()).unwrap_or(LINEAR_VERSION);
            self.version.get_or_insert(version);
            self.by_line.push(None);
            return Ok(());
        }
        let is_record = line.contains_key("kind");
        match leaf_named_by(&line) {
            Some(leaf) => self.leaf = leaf,
            // A log of records names every move of the leaf; elsewhere it follows what is appended.
            None if is_record => {}
            None => self.leaf = Leaf::LastEntry,
        }
        if is_record && str_of(&line, "kind") != Some("entry") {
            return Ok(());
        }
        let id = str_of(&line, "id").map(Id::of);
        let parent = match line.get("parentId") {
            Some(Value::String(id)) => Parent::Id(Id::of(id)),
            Some(Value::Null) => Parent::Root,
            _ => Parent::Previous,
        };
        let (kind, outcome) = match entries::read(line) {
            Ok(entry) => (kind_of(entry), Ok(())),
            Err(message) => (Kind::Other, Err(message)),
        };
        self.by_line.push(Some(self.entries.len()));
        self.entries.push(Entry { place, id, parent, kind });
        outcome
    }

    /// Indices of the entries from the root to the leaf.
    fn path(&self, version: u32) -> Vec<usize> {
        if version <= LINEAR_VERSION {
            return (0..self.entries.len()).collect();
        }
        let named = self.entries.iter().enumerate().filter_map(|(index, entry)| Some((entry.id?, index)));
        let by_id: HashMap<Id, usize> = named.collect();
        let last = self.entries.len().checked_sub(1);
        let mut current = match &self.leaf {
            Leaf::BeforeAll => None,
            Leaf::Id(id) => by_id.get(id).copied().or(last),
            Leaf::LastEntry => last,
        };
        let mut seen = vec![false; self.entries.len()];
        let mut path = Vec::new();
        while let Some(index) = current {
            match seen.get_mut(index) {
                Some(visited) if !*visited => *visited = true,
                _ => break,
            }
            path.push(index);
            current = self.entries.get(index).and_then(|entry| match &entry.parent {
                Parent::Root => None,
                Parent::Id(id) => by_id.get(id).copied().or_else(|| index.checked_sub(1)),
                Parent::Previous => index.checked_sub(1),
            });
        }
        path.reverse();
        path
    }

    /// The messages on the path, and where compactions and edits on it rewrote the past.
    fn timeline(&self, path: &[usize]) -> Timeline {
        let mut context = Context::default();
        for (step, entry) in path.iter().filter_map(|&index| self.entries.get(index)).enumerate() {
            match &entry.kind {
                Kind::Message { is_answer, .. } => context.append(entry, *is_answer),
                Kind::Edit { target, removes } => context.edit(*target, (!removes).then_some(entry.place)),
                Kind::Compaction(compaction) => {
                    let before = path.get(..step).unwrap_or_default();
                    let first = before.iter().position(|&at| self.is_first_kept(at, &compaction.first_kept));
                    let kept = first.and_then(|first| before.get(first..)).unwrap_or_default();
                    let kept = kept.iter().filter_map(|&index| self.entries.get(index));
                    context.compact(entry.place, compaction.head, kept);
                }
                Kind::Other => {}
            }
        }
        context.timeline
    }

    fn is_first_kept(&self, index: usize, first_kept: &FirstKept<Id>) -> bool {
        match first_kept {
            FirstKept::Id(id) => self.entries.get(index).is_some_and(|entry| entry.id == Some(*id)),
            FirstKept::Line(line) => self.by_line.get(*line) == Some(&Some(index)),
            FirstKept::None => false,
        }
    }
}

/// The context as it was built up along the path.
#[derive(Default)]
struct Context {
    timeline: Timeline,
    /// The latest edit of each entry: its place, or none where the entry was taken away.
    edits: HashMap<Id, Option<Place>>,
    /// Number of each message entry as it now reads.
    numbers: HashMap<Place, usize>,
    /// The place of each message entry with an id.
    places: HashMap<Id, Place>,
}

impl Context {
    fn append(&mut self, entry: &Entry, is_answer: bool) {
        let edit = entry.id.and_then(|id| self.edits.get(&id).copied());
        self.places.extend(entry.id.map(|id| (id, entry.place)));
        if edit == Some(None) {
            return;
        }
        let recipe = Recipe::Message { entry: entry.place, edit: edit.flatten() };
        let number = self.timeline.push(super::Recipe::Pi(recipe), is_answer);
        self.numbers.insert(entry.place, number);
    }

    /// The latest edit of an entry wins.
    fn edit(&mut self, target: Id, edit: Option<Place>) {
        self.edits.insert(target, edit);
        let Some(&entry) = self.places.get(&target) else { return };
        let before = self.timeline.transcript();
        let old = self.numbers.remove(&entry);
        let new = edit.map(|place| {
            let recipe = Recipe::Message { entry, edit: Some(place) };
            self.timeline.push_aside(super::Recipe::Pi(recipe))
        });
        self.numbers.extend(new.map(|number| (entry, number)));
        let after =
            before.into_iter().filter_map(|number| if Some(number) == old { new } else { Some(number) });
        let after = after.collect();
        self.timeline.cut(Cause::Edit, after);
    }

    fn compact<'a>(&mut self, compaction: Place, head: usize, kept: impl Iterator<Item = &'a Entry>) {
        let head = (0..head)
            .map(|number| super::Recipe::Pi(Recipe::Head { compaction, number }))
            .collect::<Vec<_>>();
        let mut opening: Vec<usize> =
            head.into_iter().map(|recipe| self.timeline.push_aside(recipe)).collect();
        // The checkpoint in the compaction has folded the system messages in.
        let kept = kept.filter(|entry| matches!(entry.kind, Kind::Message { is_system: false, .. }));
        opening.extend(kept.filter_map(|entry| self.numbers.get(&entry.place)));
        self.timeline.cut(Cause::Compaction, opening);
    }
}

/// The leaf that the harness moved to: a `leaf` entry, or the value record of a branch's tip.
fn leaf_named_by(line: &Object) -> Option<Leaf> {
    let key = match (str_of(line, "type"), str_of(line, "kind"), str_of(line, "namespace")) {
        (Some("leaf"), _, _) => "targetId",
        (_, Some("value"), Some("pi.branch.tip")) => "value",
        _ => return None,
    };
    match line.get(key)? {
        Value::String(id) => Some(Leaf::Id(Id::of(id))),
        Value::Null => Some(Leaf::BeforeAll),
        _ => None,
    }
}

fn kind_of(entry: entries::Entry) -> Kind {
    match entry {
        entries::Entry::Message(message) => {
            let role = role_of(&message);
            Kind::Message { is_answer: role == Some("assistant"), is_system: role == Some("system") }
        }
        entries::Entry::Compaction(compaction) => Kind::Compaction(Box::new(Compaction {
            head: compaction.head.len(),
            first_kept: match compaction.first_kept {
                FirstKept::Id(id) => FirstKept::Id(Id::of(&id)),
                FirstKept::Line(line) => FirstKept::Line(line),
                FirstKept::None => FirstKept::None,
            },
        })),
        entries::Entry::Edit { target, replacement } => {
            Kind::Edit { target: Id::of(&target), removes: replacement.is_none() }
        }
        entries::Entry::Other => Kind::Other,
    }
}

#[cfg(test)]
#[path = "pi_tests.rs"]
mod tests;
