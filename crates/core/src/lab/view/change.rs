//! What happened between two views: the lines of a log.

use std::collections::BTreeMap;
use std::fmt;

use super::{CutCable, LabSessionStatus, LabStatus};

/// How many of many prefixes are named.
const NAMED: usize = 2;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusChange {
    /// Whether that is good.
    pub mood: ChangeTone,
    /// What happened.
    pub words: String,
}

/// Whether a change is for the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeTone {
    /// Something came up.
    Good,
    /// Something went down.
    Bad,
    /// Somebody did something.
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

/// What happened between two views of one lab: causes first.
pub fn changes(before: &LabStatus, after: &LabStatus) -> Vec<StatusChange> {
    let mut found = Vec::new();
    let mut add = |mood, words| found.push(StatusChange { mood, words });
    for cut in after.cut.iter().filter(|cut| !before.cut.contains(cut)) {
        add(ChangeTone::Note, cut.to_string());
    }
    let gone = |cut: &&CutCable| !after.cut.iter().any(|now| now.link == cut.link);
    for cut in before.cut.iter().filter(gone) {
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
        if let Some((mood, words)) = session(was, now) {
            add(mood, words);
        }
    }
    for ((router, PathChange { was, now }), prefixes) in steps(before, after) {
        let mood = if now > was { ChangeTone::Good } else { ChangeTone::Bad };
        add(mood, format!("{router}: {}: {}", crowd(&prefixes), words(was, now)));
    }
    found
}

fn session(was: &LabSessionStatus, now: &LabSessionStatus) -> Option<(ChangeTone, String)> {
    // Between two looks it may have gone and come: then it stands for less time than before.
    let age = |it: &LabSessionStatus| it.one.uptime.or(it.other.uptime);
    let anew = was.stands && now.stands && age(now) < age(was);
    match (was.stands, now.stands) {
        (false, true) => Some((ChangeTone::Good, format!("{}: up", now.name()))),
        (true, true) if anew => {
            Some((ChangeTone::Bad, format!("{}: went down, and is up again", now.name())))
        }
        (true, false) => {
            let why = now.trouble().map_or_else(|| now.state(), |(_, words, _)| words.to_owned());
            Some((ChangeTone::Bad, format!("{}: down: {why}", now.name())))
        }
        _ => None,
    }
}

/// How many paths there were, and are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PathChange {
    was: usize,
    now: usize,
}

/// The steps of each router, and the prefixes that went them.
fn steps<'v>(before: &'v LabStatus, after: &'v LabStatus) -> BTreeMap<(&'v str, PathChange), Vec<String>> {
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
    let mut steps: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for ((router, prefix), step) in paths.into_iter().filter(|(_, step)| step.was != step.now) {
        steps.entry((router, step)).or_default().push(prefix.to_string());
    }
    steps
}

fn crowd(prefixes: &[String]) -> String {
    match prefixes {
        few if few.len() <= NAMED => few.join(", "),
        [first, ..] => format!("{first} and {} more", prefixes.len() - 1),
        [] => String::new(),
    }
}

fn words(was: usize, now: usize) -> String {
    match (was, now) {
        (_, 0) => "gone".to_owned(),
        (0, 1) => "there, by 1 path".to_owned(),
        (0, _) => format!("there, by {now} paths"),
        (_, 1) => format!("1 path, of {was}"),
        _ if now > was => format!("{now} paths, {was} before"),
        _ => format!("{now} paths, of {was}"),
    }
}
