use super::*;
use crate::context::decide::view::View;
use crate::context::facts::traits::identifiers::Collector;
use crate::context::facts::traits::lines;
use crate::context::facts::traits::paths::Path;
use crate::context::facts::traits::target::Change;

/// An index and the messages that entered it.
#[derive(Clone, Default)]
struct Session {
    index: CoverageIndex,
}

impl Session {
    fn show(&mut self, text: &str, is_answer: bool, targets: Vec<File>, of: Option<&Target>) -> Box<[u32]> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut names = Collector::default();
        names.text(&units);
        let targets = targets.into_iter().map(|file| Target { files: [file].into(), ..Target::default() });
        let traits = Traits {
            identifiers: names.finish(),
            lines: lines::of_texts([&*units].into_iter()),
            targets: targets.collect(),
            ..Traits::default()
        };
        if is_answer {
            self.wait(1);
        }
        let ids = self.index.ids_of(&traits.identifiers, &traits.lines);
        self.index.enter(&ids, &traits, is_answer, of);
        ids
    }

    fn say(&mut self, text: &str) -> Box<[u32]> {
        self.show(text, true, Vec::new(), None)
    }

    /// An answer that reads a file, and the result.
    fn read(&mut self, path: &str, text: &str) -> Box<[u32]> {
        let target = Target { files: [file(path, None)].into(), ..Target::default() };
        self.show("", true, vec![file(path, None)], None);
        self.show(text, false, Vec::new(), Some(&target))
    }

    /// An answer that replaces lines of a file.
    fn edit(&mut self, path: &str, old: &str, new: &str) -> Box<[u32]> {
        let lines = |text: &str| lines::of_texts([text.encode_utf16().collect::<Vec<u16>>()].into_iter());
        let change = Change { is_whole: false, old: lines(old), new: lines(new) };
        self.show(&format!("{old}\n{new}"), true, vec![file(path, Some(change))], None)
    }

    fn wait(&mut self, calls: u32) {
        self.index.calls += calls;
    }

    /// The loss with every message that shows these.
    fn loss(&self, ids: &[u32]) -> f64 {
        ids.iter().map(|&id| self.index.expected_uses(id, f64::INFINITY)).sum()
    }
}

fn file(path: &str, change: Option<Change>) -> File {
    File { path: Path::of(path, None).expect("names a file"), part: 0, is_searched: false, change }
}

#[test]
fn only_the_last_message_that_shows_a_piece_loses_it() {
    let mut session = Session::default();
    let both = session.show("alphabet betatest", false, Vec::new(), None);
    let one = session.show("alphabet", false, Vec::new(), None);
    let mut view = View::of(&session.index, &Account::default(), f64::INFINITY);
    view.show(&both);
    let loss = |view: &View<'_>, ids: &[u32]| view.loss_of_all(ids.to_vec());
    let alone = loss(&view, &both);
    view.show(&one);
    let covered = loss(&view, &both);
    assert!(covered > 0.0 && covered < alone && loss(&view, &one).abs() < 1e-12);
    assert!((loss(&view, &[&*both, &*one].concat()) - alone).abs() < 1e-12, "with both it goes, once");
    view.hide(&one);
    assert!((loss(&view, &both) - alone).abs() < 1e-12);
}

#[test]
fn a_name_is_worth_more_the_more_it_was_used_and_less_the_longer_ago() {
    let used = |times: usize, calls: u32| {
        let mut session = Session::default();
        let ids = (0..times).map(|_| session.say("some_name")).last().expect("says it");
        session.wait(calls);
        session.loss(&ids)
    };
    assert!(used(2, 5) > used(1, 5) && used(1, 5) > used(1, 6));
}

#[test]
fn the_nearer_the_uses_that_count_the_more_a_new_name_is_worth_beside_an_old_one() {
    let mut session = Session::default();
    let old = session.show("old_name", false, Vec::new(), None);
    session.wait(30);
    let new = session.show("new_name", false, Vec::new(), None);
    let ratio =
        |ahead| session.index.expected_uses(new[0], ahead) / session.index.expected_uses(old[0], ahead);
    assert!(ratio(10.0) > 1.5 * ratio(f64::INFINITY));
}

#[test]
fn a_name_counts_as_used_only_after_it_came() {
    let mut session = Session::default();
    let ids = session.say("some_name");
    let before = session.index.calls;
    assert!(!session.index.is_used_since(before, &ids));
    session.say("some_name");
    assert!(session.index.is_used_since(before, &ids));
}

#[test]
fn an_edit_makes_stale_only_the_lines_it_replaces() {
    let mut session = Session::default();
    let gone = session.read("src/a.rs", "let first = 1;");
    let stays = session.read("src/a.rs", "let second = 2;");
    session.edit("/home/me/src/a.rs", "let first = 1;", "let third = 3;");
    assert!(session.loss(&gone).abs() < 1e-12 && session.loss(&stays) > 0.0);
    session.show("let first = 1;", false, Vec::new(), None);
    assert!(session.loss(&gone) > 0.0, "shown again");
}

#[test]
fn a_line_that_an_edit_quotes_and_writes_again_is_not_stale() {
    let mut session = Session::default();
    let beside = session.read("a.rs", "let second = 2;");
    session.edit("a.rs", "let first = 1;\nlet second = 2;", "let second = 2;");
    assert!(session.loss(&beside) > 0.0);
}

#[test]
fn what_was_read_ages_from_the_first_edit_after_it_and_with_calls_that_edit_nothing() {
    let loss = |first: bool, calls: u32| {
        let mut session = Session::default();
        let ids = session.read("a.rs", "let first = 1;");
        if first {
            session.edit("b.rs", "", "let second = 2;");
        }
        session.wait(calls);
        session.edit("b.rs", "", "let third = 3;");
        session.loss(&ids)
    };
    assert!(loss(true, 30) < 0.8 * loss(false, 30));
    let idle = |calls: u32| {
        let mut session = Session::default();
        let ids = session.read("a.rs", "let first = 1;");
        session.wait(calls);
        session.loss(&ids)
    };
    assert!(idle(60) < 0.5 * idle(0));
}

#[test]
fn work_on_a_file_keeps_all_its_lines_young() {
    let loss = |later: &str| {
        let mut session = Session::default();
        let ids = session.read("a.rs", "let first = 1;");
        session.edit("c.rs", "", "let second = 2;");
        session.wait(20);
        session.read(later, "let third = 3;");
        session.loss(&ids)
    };
    assert!(loss("/home/me/a.rs") > loss("b.rs"));
}
