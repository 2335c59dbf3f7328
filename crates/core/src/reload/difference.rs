//! What turns one configuration into another.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{Change, Stage};
use super::context::{Context, starts};
use super::line::Line;
use super::list::{self, Entry};
use super::statement::{Statement, replaces, statement, undo};
use super::{instance, key, map};

/// What is told so far.
#[derive(Default)]
pub struct Changes(Vec<Change>);

impl Changes {
    /// A line is told.
    pub fn tell(&mut self, stage: Stage, line: Line) {
        self.0.push(Change { stage, line });
    }

    /// A line is taken back.
    pub fn take_back(&mut self, stage: Stage, line: &Line) {
        self.tell(stage, Line::below(&line.above, undo(line)));
    }
}

/// Lines by what tells them apart.
pub type Index<'l> = BTreeMap<(Vec<String>, String), &'l Line>;

/// The lines by what tells them apart.
pub fn index<'l>(lines: impl IntoIterator<Item = &'l Line>) -> Index<'l> {
    lines.into_iter().map(|line| (key(line), line)).collect()
}

/// What turns the running lines into the intended ones, by stages.
pub fn difference(running: &[Line], intended: &[Line]) -> Vec<Change> {
    let mut changes = Changes::default();
    let running = instance::clear(running, intended, &mut changes);
    lists(&running, intended, &mut changes);
    map::changes(&running, intended, &mut changes);
    instance::changes(&running, intended, &mut changes);
    others(&running, intended, &mut changes);
    changes.0.sort_by_key(|change| change.stage);
    changes.0
}

fn lists(running: &[Line], intended: &[Line], changes: &mut Changes) {
    let (now, meant) = (by_list(running), by_list(intended));
    let names: BTreeSet<_> = now.keys().chain(meant.keys()).collect();
    for name in names {
        let entries = |of: &BTreeMap<String, Vec<Entry>>| of.get(name).cloned().unwrap_or_default();
        let (old, new) = (entries(&now), entries(&meant));
        let stage = if new.is_empty() { Stage::Forget } else { Stage::Define };
        for text in list::changes(&old, &new) {
            changes.tell(stage, Line::top(text));
        }
    }
}

fn by_list(lines: &[Line]) -> BTreeMap<String, Vec<Entry>> {
    let mut lists: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in lines.iter().filter_map(Entry::of) {
        lists.entry(entry.list.clone()).or_default().push(entry);
    }
    lists
}

/// All that is neither list nor map nor instance: ports, BFD, the kernel's side, and what is not known here.
fn others(running: &[Line], intended: &[Line], changes: &mut Changes) {
    let (now, meant) = (rest(running), rest(intended));
    let (old, new) = (index(now.iter().copied()), index(meant.iter().copied()));
    for line in gone(&now, &new) {
        let first = statement(line) == Statement::Unknown && line.opens().is_none();
        changes.take_back(if first { added(line) } else { Stage::Forget }, line);
    }
    for line in meant {
        let before = old.get(&key(line));
        if before.is_some_and(|before| *before == line) || is_frame(line) {
            continue;
        }
        if let Some(before) = before.filter(|before| !replaces(&line.text, &before.text)) {
            changes.take_back(added(line), before);
        }
        changes.tell(added(line), line.clone());
    }
}

fn rest(lines: &[Line]) -> Vec<&Line> {
    let apart = |line: &&Line| {
        let first = line.above.first().unwrap_or(&line.text);
        Entry::of(line).is_none() && !starts(first, "router bgp") && !map::is_entry(first)
    };
    lines.iter().filter(apart).collect()
}

/// The lines that are in the index no longer, without those that go with what they are below; the last first.
fn gone<'l>(lines: &[&'l Line], meant: &Index<'_>) -> Vec<&'l Line> {
    let is_gone = |line: &Line| !meant.contains_key(&key(line)) && !is_frame(line);
    let with_above = |line: &Line| {
        (0..line.above.len())
            .any(|depth| is_gone(&Line::below(&line.above[..depth], line.above[depth].clone())))
    };
    lines.iter().rev().filter(|line| is_gone(line) && !with_above(line)).copied().collect()
}

/// Contexts that are entered and never told or taken back: mgmtd of FRR 10.3 ends when it is told `no interface` of a port that
/// is there.
pub fn is_frame(line: &Line) -> bool {
    matches!(line.opens(), Some(Context::Interface | Context::Vrf | Context::Bfd | Context::Family))
}

fn added(line: &Line) -> Stage {
    let uses = ["ip protocol", "ip route", "ipv6 protocol", "ipv6 route"];
    if uses.iter().any(|start| starts(&line.text, start)) { Stage::Use } else { Stage::Define }
}
