//! Orders the selected lines of a Claude Code transcript: into messages, each response's results right behind it, and
//! into stretches between which the host compacted. Which lines are selected is `claude`'s.

use std::collections::{HashMap, HashSet};

use super::Id;
use super::claude::{Boundary, Node, Recipe, Speech};
use super::lines::Place;
use super::timeline::{Cause, Timeline};

fn keeps(boundary: &Boundary, node: &Node) -> bool {
    node.uuid.is_some_and(|uuid| boundary.preserved.contains(&uuid))
}

/// Positions at which a compaction of this conversation took place.
fn cuts(nodes: &[Node], selected: &[bool]) -> Vec<usize> {
    let mut cuts = Vec::new();
    for (index, (node, is_selected)) in nodes.iter().zip(selected).enumerate() {
        let is_cut = match node.boundary() {
            // A preserved line keeps its old parent, so such a path goes around the boundary.
            Some(boundary) => {
                let mut before = nodes.iter().take(index).zip(selected);
                *is_selected
                    || !boundary.preserved.is_empty()
                        && before.any(|(node, is_selected)| *is_selected && keeps(boundary, node))
            }
            None => *is_selected && index > 0 && node.is_bare_summary(),
        };
        if is_cut {
            cuts.push(index);
        }
    }
    cuts
}

/// The messages of the selected lines, stretch by stretch.
pub(super) fn timeline(nodes: &[Node], selected: &[bool]) -> Timeline {
    let mut timeline = Timeline::default();
    let mut numbers: HashMap<Recipe, usize> = HashMap::new();
    let cuts = cuts(nodes, selected);
    let ends = cuts.iter().copied().chain([nodes.len()]);
    for (start, end) in [None].into_iter().chain(cuts.iter().copied().map(Some)).zip(ends) {
        let mut items = Items::default();
        if let Some(cut) = start {
            open(nodes, cut, end, &mut items);
        }
        items.is_open = true;
        let from = start.unwrap_or_default();
        let own = nodes.iter().zip(selected).enumerate().take(end).skip(from);
        for (_, (node, _)) in own.filter(|(_, (_, is_selected))| **is_selected) {
            items.add(node, None);
        }
        let (own, opening): (Vec<Item>, Vec<Item>) =
            items.ordered().into_iter().partition(|item| item.is_own);
        if start.is_some() {
            let opening = opening.into_iter().map(|item| match numbers.get(&item.recipe) {
                Some(number) => *number,
                None => timeline.push_aside(super::Recipe::Claude(item.recipe)),
            });
            let opening = opening.collect();
            timeline.cut(Cause::Compaction, opening);
        }
        for item in own {
            let recipe = super::Recipe::Claude(item.recipe.clone());
            let number = timeline.push(recipe, matches!(item.recipe, Recipe::Response(_)));
            numbers.insert(item.recipe, number);
        }
    }
    timeline
}

/// Opens the stretch that the compaction at `cut` began: with its summary, then what it preserved.
fn open(nodes: &[Node], cut: usize, end: usize, items: &mut Items) {
    let after = nodes.iter().take(end).skip(cut);
    let boundary = nodes.get(cut).filter(|node| node.boundary().is_some());
    if let Some(summary) = after.into_iter().find(|node| node.is_summary()) {
        items.add(summary, boundary.map(|node| node.place));
    }
    if let Some(boundary) = boundary.and_then(Node::boundary) {
        for node in nodes.iter().take(cut).filter(|node| keeps(boundary, node)) {
            items.add(node, None);
        }
    }
}

/// A message, before it has its place.
struct Item {
    recipe: Recipe,
    calls: Vec<Id>,
    answers: Option<Id>,
    /// True if it came in the stretch; else it opens it.
    is_own: bool,
}

/// The messages of one stretch, line by line.
#[derive(Default)]
struct Items {
    list: Vec<Item>,
    /// Position of each response's message.
    responses: HashMap<Id, usize>,
    summary: Option<Place>,
    /// True if the opening is over.
    is_open: bool,
}

impl Items {
    fn add(&mut self, node: &Node, boundary: Option<Place>) {
        let line = node.place;
        match node.speech.as_deref() {
            Some(Speech::Assistant { response, calls }) => self.add_response(line, *response, calls),
            Some(Speech::Prompt { answers, says_more }) => {
                for (number, id) in answers.iter().enumerate() {
                    self.push(Recipe::Result { line, number }, Vec::new(), Some(*id));
                }
                if *says_more {
                    self.push(Recipe::Prompt(line), Vec::new(), None);
                }
            }
            // The one that opens the stretch comes again as a line of it.
            Some(Speech::Summary) if self.summary != Some(line) => {
                self.summary = Some(line);
                self.push(Recipe::Summary { line, boundary }, Vec::new(), None);
            }
            _ => {}
        }
    }

    fn add_response(&mut self, line: Place, response: Option<Id>, calls: &[Id]) {
        let open = response.and_then(|id| self.responses.get(&id)).and_then(|&at| self.list.get_mut(at));
        if let Some(item) = open {
            if let Recipe::Response(lines) = &mut item.recipe
                && !lines.contains(&line)
            {
                lines.push(line);
            }
            item.calls.extend(calls);
            return;
        }
        self.responses.extend(response.map(|id| (id, self.list.len())));
        self.push(Recipe::Response(vec![line]), calls.to_vec(), None);
    }

    fn push(&mut self, recipe: Recipe, calls: Vec<Id>, answers: Option<Id>) {
        self.list.push(Item { recipe, calls, answers, is_own: self.is_open });
    }

    /// Each response's results right behind it: that is how they were sent, though the transcript may have what the
    /// user typed meanwhile between them.
    fn ordered(self) -> Vec<Item> {
        let called: HashSet<Id> = self.list.iter().flat_map(|item| &item.calls).copied().collect();
        let mut results: HashMap<Id, Vec<Item>> = HashMap::new();
        let mut others = Vec::with_capacity(self.list.len());
        for item in self.list {
            match item.answers.filter(|id| called.contains(id)) {
                Some(id) => results.entry(id).or_default().push(item),
                None => others.push(item),
            }
        }
        let mut ordered = Vec::with_capacity(others.len());
        for item in others {
            let answers: Vec<Item> =
                item.calls.iter().filter_map(|id| results.remove(id)).flatten().collect();
            ordered.push(item);
            ordered.extend(answers);
        }
        ordered
    }
}
