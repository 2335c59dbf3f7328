//! Route maps, entry by entry.
//!
//! A route map in use never permits more than the old one or the new one: entries that deny are added first and removed
//! last, and entries that permit have their matches before they permit.

use std::collections::BTreeMap;

use super::change::Phase;
use super::difference::{ChangeList, index};
use super::key;
use super::line::Line;
use super::statement::heading;

/// An entry: its heading, and the lines below it.
struct RouteMapEntry<'l> {
    head: &'l Line,
    body: Vec<&'l Line>,
}

impl RouteMapEntry<'_> {
    fn permits(&self) -> bool {
        self.head.text.contains(" permit ")
    }

    fn name(&self) -> &str {
        self.head.text.split(' ').nth(1).unwrap_or_default()
    }

    fn matches(&self) -> bool {
        self.body.iter().any(|line| is_match(line))
    }
}

/// Whether a line opens an entry.
pub(crate) fn is_entry(line: &str) -> bool {
    heading(line) != line
}

fn is_match(line: &Line) -> bool {
    line.text.starts_with("match ")
}

/// Whether only an entry that permits may have the line.
fn is_for_permit(line: &Line) -> bool {
    line.text.starts_with("on-match ")
}

/// The entries by the name and number of their map.
fn entries(lines: &[Line]) -> BTreeMap<(String, u64), RouteMapEntry<'_>> {
    let mut entries = BTreeMap::new();
    for head in lines.iter().filter(|line| line.above.is_empty() && is_entry(&line.text)) {
        let body = lines.iter().filter(|line| line.above.first() == Some(&head.text)).collect();
        let entry = RouteMapEntry { head, body };
        let number = head.words().last().and_then(|number| number.parse().ok()).unwrap_or_default();
        entries.insert((entry.name().to_owned(), number), entry);
    }
    entries
}

/// The changes that turn the running route maps into the intended ones.
pub fn changes(running: &[Line], intended: &[Line], changes: &mut ChangeList) {
    let (now, intended) = (entries(running), entries(intended));
    let in_use = |name: &str| running.iter().any(|line| line.words().contains(&name));
    for denying in [true, false] {
        for (id, new) in intended.iter().filter(|(_, new)| new.permits() != denying) {
            match now.get(id) {
                None => create(new, in_use(new.name()), changes),
                Some(old) => change(old, new, changes),
            }
        }
    }
    let kept = |name: &str| intended.keys().any(|(other, _)| other == name);
    for denying in [false, true] {
        for (_, old) in now.iter().filter(|(id, old)| !intended.contains_key(*id) && old.permits() != denying)
        {
            let phase = if kept(old.name()) { Phase::Policy } else { Phase::Retire };
            changes.remove(phase, old.head);
        }
    }
}

/// Creates an entry. One that permits, in a map that may be in use, denies until its matches are set.
fn create(new: &RouteMapEntry<'_>, in_use: bool, changes: &mut ChangeList) {
    let guarded = in_use && new.permits() && new.matches();
    let head = if guarded { new.head.text.replace(" permit ", " deny ") } else { new.head.text.clone() };
    changes.add(Phase::Policy, Line::top(&head));
    let (late, early): (Vec<&Line>, Vec<&Line>) = new.body.iter().partition(|line| is_for_permit(line));
    for line in early {
        changes.add(Phase::Policy, Line::below(std::slice::from_ref(&head), &line.text));
    }
    if guarded {
        changes.add(Phase::Policy, new.head.clone());
    }
    for line in late {
        changes.add(Phase::Policy, line.clone());
    }
}

/// Changes an existing entry. While it permits, new matches are added before old ones are removed; while it denies, the
/// other way round.
fn change(old: &RouteMapEntry<'_>, new: &RouteMapEntry<'_>, changes: &mut ChangeList) {
    let (before, after) = (index(old.body.iter().copied()), index(new.body.iter().copied()));
    let gone = || old.body.iter().copied().filter(|line| !after.contains_key(&key(line)));
    let added = || {
        let known = |line: &&Line| before.get(&key(line)).is_none_or(|old| old.text != line.text);
        new.body.iter().copied().filter(known)
    };
    let opens = !old.permits() && new.permits();
    let head = if opens { old.head } else { new.head };
    let remove = |head: &Line, line: &Line, changes: &mut ChangeList| {
        changes.remove(Phase::Policy, &Line::below(std::slice::from_ref(&head.text), &line.text));
    };
    for line in gone().filter(|line| is_for_permit(line)) {
        remove(old.head, line, changes);
    }
    if old.permits() && !new.permits() {
        changes.add(Phase::Policy, new.head.clone());
    }
    let denies = head.text.contains(" deny ");
    for line in gone().filter(|line| denies && is_match(line)) {
        remove(head, line, changes);
    }
    for wanted in [true, false] {
        for line in added().filter(|line| is_match(line) == wanted && !is_for_permit(line)) {
            changes.add(Phase::Policy, Line::below(std::slice::from_ref(&head.text), &line.text));
        }
    }
    for line in gone().filter(|line| !is_match(line) && !is_for_permit(line)) {
        remove(head, line, changes);
    }
    for line in gone().filter(|line| !denies && is_match(line)) {
        remove(head, line, changes);
    }
    if opens {
        changes.add(Phase::Policy, new.head.clone());
    }
    for line in added().filter(|line| is_for_permit(line)) {
        changes.add(Phase::Policy, line.clone());
    }
}
