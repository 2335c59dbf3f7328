//! Numbered lists: of prefixes, of addresses, of AS paths, of communities.
//!
//! A line takes the place of the one with its number. A line that says what another number already says is ignored, without
//! a word (FRR 8.4 and 10.3, status 0).

use std::collections::BTreeMap;

use super::line::Line;
use super::statement::undo;

/// How lists start: their kind, up to their name.
const KINDS: [&str; 12] = [
    "access-list",
    "bgp as-path access-list",
    "bgp community-list expanded",
    "bgp community-list standard",
    "bgp community-list",
    "bgp extcommunity-list expanded",
    "bgp extcommunity-list standard",
    "bgp large-community-list expanded",
    "bgp large-community-list standard",
    "ip prefix-list",
    "ipv6 access-list",
    "ipv6 prefix-list",
];

/// A line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// The kind and the name.
    pub list: String,
    /// Its number; none where the file leaves it to FRR.
    pub number: Option<u64>,
    /// Whether it lets through, and what.
    pub value: String,
}

impl ListEntry {
    /// The line of a list that a line is.
    pub fn of(line: &Line) -> Option<Self> {
        let kind = KINDS.iter().find(|kind| super::context::starts(&line.text, kind))?;
        let rest: Vec<_> = line.text[kind.len()..].split(' ').skip(1).collect();
        let (name, number, value) = match rest.as_slice() {
            [name, "seq", number, value @ ..] => (name, Some(number.parse().ok()?), value),
            [name, value @ ..] => (name, None, value),
            [] => return None,
        };
        let said = matches!(value, ["permit" | "deny", _, ..]) && line.above.is_empty();
        said.then(|| Self { list: format!("{kind} {name}"), number, value: value.join(" ") })
    }

    fn permits(&self) -> bool {
        self.value.starts_with("permit")
    }

    /// Whether FRR takes the one for the other. What bgpd itself keeps, it takes back by what is matched: `no … seq 10 deny ^$`
    /// ends `seq 5 permit ^$`.
    fn is_taken_for(&self, other: &Self) -> bool {
        let matched = |entry: &Self| entry.value.split_once(' ').map(|(_, matched)| matched.to_owned());
        self.value == other.value || (self.list.starts_with("bgp ") && matched(self) == matched(other))
    }

    fn line(&self) -> Line {
        let number = self.number.unwrap_or_default();
        Line::top(format!("{} seq {number} {}", self.list, self.value))
    }
}

/// Gives lines the numbers that FRR gives them, and leaves out those it ignores.
pub(crate) fn numbered(lines: Vec<Line>) -> Vec<Line> {
    let mut lists: BTreeMap<String, BTreeMap<u64, String>> = BTreeMap::new();
    let mut kept = Vec::new();
    for line in lines {
        let Some(mut entry) = ListEntry::of(&line) else {
            kept.push(line);
            continue;
        };
        let list = lists.entry(entry.list.clone()).or_default();
        let next =
            list.last_key_value().map_or(5, |(last, _)| (last / 5).saturating_mul(5).saturating_add(5));
        let number = *entry.number.get_or_insert(next);
        if list.values().all(|value| *value != entry.value) {
            list.insert(number, entry.value.clone());
            kept.push(entry.line());
        }
    }
    kept
}

/// What turns a list into another of its name, neither of them empty. At no time does it let through what both refuse, and
/// it is never empty: an empty one would let everything through. So what refuses comes first and goes last.
pub fn changes(running: &[ListEntry], intended: &[ListEntry]) -> Vec<String> {
    let mut now: BTreeMap<u64, ListEntry> = numbers(running);
    let meant = numbers(intended);
    let mut said = Vec::new();
    let turns = |now: &BTreeMap<u64, ListEntry>, entry: &ListEntry| {
        entry.number.and_then(|number| now.get(&number)).is_some_and(|old| !old.permits() && entry.permits())
    };
    for pass in [0, 1, 2] {
        for (number, entry) in &meant {
            let mine = if !entry.permits() {
                0
            } else if turns(&now, entry) {
                2
            } else {
                1
            };
            if mine == pass && now.get(number) != Some(entry) {
                tell(&mut now, entry, &mut said);
            }
        }
        if pass == 1 {
            forget(&mut now, &meant, true, &mut said);
        }
    }
    forget(&mut now, &meant, false, &mut said);
    // What was taken back because another number said it, and is meant after all.
    for entry in meant.values() {
        if entry.number.and_then(|number| now.get(&number)) != Some(entry) {
            tell(&mut now, entry, &mut said);
        }
    }
    said
}

fn numbers(entries: &[ListEntry]) -> BTreeMap<u64, ListEntry> {
    entries.iter().filter_map(|entry| Some((entry.number?, entry.clone()))).collect()
}

/// Says a line, after what says the same under another number was taken back.
fn tell(now: &mut BTreeMap<u64, ListEntry>, entry: &ListEntry, said: &mut Vec<String>) {
    let same = |other: &&ListEntry| other.is_taken_for(entry) && other.number != entry.number;
    if let Some(other) = now.values().find(same).cloned() {
        said.push(undo(&other.line()));
        now.retain(|_, entry| *entry != other);
    }
    said.push(entry.line().text);
    now.extend(entry.number.map(|number| (number, entry.clone())));
}

/// Takes back what is not meant, of what permits or of what denies.
fn forget(
    now: &mut BTreeMap<u64, ListEntry>,
    meant: &BTreeMap<u64, ListEntry>,
    permits: bool,
    said: &mut Vec<String>,
) {
    let gone = |number: &u64, entry: &ListEntry| entry.permits() == permits && !meant.contains_key(number);
    said.extend(
        now.iter().filter(|(number, entry)| gone(number, entry)).map(|(_, entry)| undo(&entry.line())),
    );
    now.retain(|number, entry| !gone(number, entry));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(values: &[(u64, &str)]) -> Vec<ListEntry> {
        let entry = |(number, value): &(u64, &str)| ListEntry {
            list: "ip prefix-list P".to_owned(),
            number: Some(*number),
            value: (*value).to_owned(),
        };
        values.iter().map(entry).collect()
    }

    #[test]
    fn what_refuses_comes_first_and_goes_last() {
        let old = entries(&[(5, "deny 10.0.0.0/8"), (10, "permit any")]);
        let new = entries(&[(5, "permit 10.1.0.0/16"), (20, "deny any")]);

        let said = changes(&old, &new);

        let want = [
            "ip prefix-list P seq 20 deny any",
            "no ip prefix-list P seq 10 permit any",
            "ip prefix-list P seq 5 permit 10.1.0.0/16",
        ];
        assert_eq!(said, want);
    }

    #[test]
    fn a_line_that_frr_would_ignore_is_told_after_the_one_like_it_went() {
        let old = entries(&[(5, "permit 10.0.0.0/8"), (10, "permit 11.0.0.0/8")]);
        let new = entries(&[(5, "permit 11.0.0.0/8"), (10, "permit 10.0.0.0/8")]);

        let said = changes(&old, &new);

        let want = [
            "no ip prefix-list P seq 10 permit 11.0.0.0/8",
            "ip prefix-list P seq 5 permit 11.0.0.0/8",
            "ip prefix-list P seq 10 permit 10.0.0.0/8",
        ];
        assert_eq!(said, want);
    }

    #[test]
    fn lines_without_numbers_get_those_that_frr_gives_them() {
        let lines = ["seq 7 permit any", "deny 10.0.0.0/8", "permit any", "permit 11.0.0.0/8"];
        let lines = lines.map(|line| Line::top(format!("ip prefix-list P {line}")));

        let texts: Vec<_> = numbered(lines.to_vec()).into_iter().map(|line| line.text).collect();

        let want = ["seq 7 permit any", "seq 10 deny 10.0.0.0/8", "seq 15 permit 11.0.0.0/8"];
        assert_eq!(texts, want.map(|line| format!("ip prefix-list P {line}")));
    }
}
