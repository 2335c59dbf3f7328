//! Changes between two statuses, as the lines of a log.

use std::collections::BTreeMap;
use std::fmt;

use super::{CutCable, LabSessionStatus, LabStatus};

/// The number of prefixes that are named.
const NAMED: usize = 2;

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusChange {
    /// Whether it is an improvement.
    pub mood: ChangeTone,
    /// Its description.
    pub words: String,
}

/// Whether a change is an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeTone {
    /// Something came up.
    Good,
    /// Something went down.
    Bad,
    /// An operator cut or restored a cable.
    Note,
}

impl fmt::Display for StatusChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl fmt::Display for CutCable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cut", self.link)?;
        if self.silent { f.write_str(" silently") } else { Ok(()) }
    }
}

/// The changes between two statuses of one lab, causes first.
pub fn changes(before: &LabStatus, after: &LabStatus) -> Vec<StatusChange> {
    let mut changes = Vec::new();
    let mut add = |mood, words| changes.push(StatusChange { mood, words });
    for cut in after.cut.iter().filter(|cut| !before.cut.contains(cut)) {
        add(ChangeTone::Note, cut.to_string());
    }
    let is_restored = |cut: &&CutCable| !after.cut.iter().any(|now| now.link == cut.link);
    for cut in before.cut.iter().filter(is_restored) {
        add(ChangeTone::Note, format!("{}: healed", cut.link));
    }
    for (was, now) in before.machines.iter().zip(&after.machines) {
        match (&was.trouble, &now.trouble) {
            (Some(_), None) => add(ChangeTone::Good, format!("{}: ready", now.name)),
            (None, Some(why)) => add(ChangeTone::Bad, format!("{}: {why}", now.name)),
            _ => {}
        }
    }
    for (was, now) in before.sessions.iter().zip(&after.sessions) {
        if let Some((mood, words)) = session_change(was, now) {
            add(mood, words);
        }
    }
    for ((router, PathChange { was, now }), prefixes) in path_changes(before, after) {
        let mood = if now > was { ChangeTone::Good } else { ChangeTone::Bad };
        add(mood, format!("{router}: {}: {}", crowd(&prefixes), describe_paths(was, now)));
    }
    changes
}

fn session_change(was: &LabSessionStatus, now: &LabSessionStatus) -> Option<(ChangeTone, String)> {
    // A shorter uptime shows that the session flapped between two statuses.
    let age = |it: &LabSessionStatus| it.one.uptime.or(it.other.uptime);
    let has_flapped = was.up && now.up && age(now) < age(was);
    match (was.up, now.up) {
        (false, true) => Some((ChangeTone::Good, format!("{}: up", now.name()))),
        (true, true) if has_flapped => Some((ChangeTone::Bad, format!("{}: flapped", now.name()))),
        (true, false) => {
            let why = now.problem().map_or_else(|| now.state(), |(_, words, _)| words.to_owned());
            Some((ChangeTone::Bad, format!("{}: down: {why}", now.name())))
        }
        _ => None,
    }
}

/// The previous and the current number of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PathChange {
    was: usize,
    now: usize,
}

/// The changes of each router's paths, and the prefixes they apply to.
fn path_changes<'v>(
    before: &'v LabStatus,
    after: &'v LabStatus,
) -> BTreeMap<(&'v str, PathChange), Vec<String>> {
    let mut paths: BTreeMap<_, PathChange> = BTreeMap::new();
    let blank = PathChange { was: 0, now: 0 };
    for prefix in &before.prefixes {
        for (router, count) in &prefix.paths {
            paths.entry((router.as_str(), prefix.prefix)).or_insert(blank).was = *count;
        }
    }
    for prefix in &after.prefixes {
        for (router, count) in &prefix.paths {
            paths.entry((router.as_str(), prefix.prefix)).or_insert(blank).now = *count;
        }
    }
    let mut changes: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for ((router, prefix), change) in paths.into_iter().filter(|(_, change)| change.was != change.now) {
        changes.entry((router, change)).or_default().push(prefix.to_string());
    }
    changes
}

fn crowd(prefixes: &[String]) -> String {
    match prefixes {
        few if few.len() <= NAMED => few.join(", "),
        [first, ..] => format!("{first} and {} more", prefixes.len() - 1),
        [] => String::new(),
    }
}

fn describe_paths(was: usize, now: usize) -> String {
    match (was, now) {
        (_, 0) => "withdrawn".to_owned(),
        (0, 1) => "1 path".to_owned(),
        (0, _) => format!("{now} paths"),
        (_, 1) => format!("1 path, {was} before"),
        _ => format!("{now} paths, {was} before"),
    }
}
