//! Numbered lists: of prefixes, of addresses, of AS paths, of communities.
//!
//! A line replaces the one with its number. A line with the value of another number is ignored silently (FRR 8.4 and
//! 10.3, status 0).

use std::collections::BTreeMap;

use super::line::Line;
use super::statement::undo;

/// The first words of list entries, up to the name of the list.
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

/// An entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// The kind and name of its list.
    pub list: String,
    /// Its number; none if the file leaves it to FRR.
    pub number: Option<u64>,
    /// The action, and what it matches.
    pub value: String,
}

impl ListEntry {
    /// The list entry of a line, if it is one.
    pub fn parse(line: &Line) -> Option<Self> {
        let kind = KINDS.iter().find(|kind| super::context::starts_with_words(&line.text, kind))?;
        let rest: Vec<_> = line.text[kind.len()..].split(' ').skip(1).collect();
        let (name, number, value) = match rest.as_slice() {
            [name, "seq", number, value @ ..] => (name, Some(number.parse().ok()?), value),
            [name, value @ ..] => (name, None, value),
            [] => return None,
        };
        let is_entry = matches!(value, ["permit" | "deny", _, ..]) && line.above.is_empty();
        is_entry.then(|| Self { list: format!("{kind} {name}"), number, value: value.join(" ") })
    }

    fn permits(&self) -> bool {
        self.value.starts_with("permit")
    }

    /// Whether FRR treats the two as the same. bgpd's own lists are removed by what they match: `no … seq 10 deny ^$`
    /// removes `seq 5 permit ^$`.
    fn is_same_to_frr(&self, other: &Self) -> bool {
        let matched = |entry: &Self| entry.value.split_once(' ').map(|(_, matched)| matched.to_owned());
        self.value == other.value || (self.list.starts_with("bgp ") && matched(self) == matched(other))
    }

    fn line(&self) -> Line {
        let number = self.number.unwrap_or_default();
        Line::top(format!("{} seq {number} {}", self.list, self.value))
    }
}

/// Assigns the numbers that FRR would assign, and drops lines that FRR ignores.
pub(crate) fn assign_numbers(lines: Vec<Line>) -> Vec<Line> {
    let mut lists: BTreeMap<String, BTreeMap<u64, String>> = BTreeMap::new();
    let mut kept = Vec::new();
    for line in lines {
        let Some(mut entry) = ListEntry::parse(&line) else {
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

/// The changes that turn a list into another of the same name, neither of them empty. The list never permits what both
/// deny, and is never empty, which would permit everything: denials are added first and removed last.
pub fn changes(running: &[ListEntry], intended: &[ListEntry]) -> Vec<String> {
    let mut now: BTreeMap<u64, ListEntry> = numbers(running);
    let intended = numbers(intended);
    let mut commands = Vec::new();
    let starts_to_permit = |now: &BTreeMap<u64, ListEntry>, entry: &ListEntry| {
        entry.number.and_then(|number| now.get(&number)).is_some_and(|old| !old.permits() && entry.permits())
    };
    for pass in [0, 1, 2] {
        for (number, entry) in &intended {
            let own_pass = if !entry.permits() {
                0
            } else if starts_to_permit(&now, entry) {
                2
            } else {
                1
            };
            if own_pass == pass && now.get(number) != Some(entry) {
                add_entry(&mut now, entry, &mut commands);
            }
        }
        if pass == 1 {
            remove_stale(&mut now, &intended, true, &mut commands);
        }
    }
    remove_stale(&mut now, &intended, false, &mut commands);
    // Entries that were removed because another number had their value, and that are intended nonetheless.
    for entry in intended.values() {
        if entry.number.and_then(|number| now.get(&number)) != Some(entry) {
            add_entry(&mut now, entry, &mut commands);
        }
    }
    commands
}

fn numbers(entries: &[ListEntry]) -> BTreeMap<u64, ListEntry> {
    entries.iter().filter_map(|entry| Some((entry.number?, entry.clone()))).collect()
}

/// Adds an entry, after removing the one with the same value under another number.
fn add_entry(now: &mut BTreeMap<u64, ListEntry>, entry: &ListEntry, commands: &mut Vec<String>) {
    let same = |other: &&ListEntry| other.is_same_to_frr(entry) && other.number != entry.number;
    if let Some(other) = now.values().find(same).cloned() {
        commands.push(undo(&other.line()));
        now.retain(|_, entry| *entry != other);
    }
    commands.push(entry.line().text);
    now.extend(entry.number.map(|number| (number, entry.clone())));
}

/// Removes entries that are no longer intended: those that permit, or those that deny.
fn remove_stale(
    now: &mut BTreeMap<u64, ListEntry>,
    intended: &BTreeMap<u64, ListEntry>,
    permits: bool,
    commands: &mut Vec<String>,
) {
    let gone = |number: &u64, entry: &ListEntry| entry.permits() == permits && !intended.contains_key(number);
    commands.extend(
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
    fn denials_are_added_first_and_removed_last() {
        let old = entries(&[(5, "deny 10.0.0.0/8"), (10, "permit any")]);
        let new = entries(&[(5, "permit 10.1.0.0/16"), (20, "deny any")]);

        let commands = changes(&old, &new);

        let want = [
            "ip prefix-list P seq 20 deny any",
            "no ip prefix-list P seq 10 permit any",
            "ip prefix-list P seq 5 permit 10.1.0.0/16",
        ];
        assert_eq!(commands, want);
    }

    #[test]
    fn an_entry_that_frr_would_ignore_is_added_after_its_duplicate_is_removed() {
        let old = entries(&[(5, "permit 10.0.0.0/8"), (10, "permit 11.0.0.0/8")]);
        let new = entries(&[(5, "permit 11.0.0.0/8"), (10, "permit 10.0.0.0/8")]);

        let commands = changes(&old, &new);

        let want = [
            "no ip prefix-list P seq 10 permit 11.0.0.0/8",
            "ip prefix-list P seq 5 permit 11.0.0.0/8",
            "ip prefix-list P seq 10 permit 10.0.0.0/8",
        ];
        assert_eq!(commands, want);
    }

    #[test]
    fn unnumbered_lines_get_the_numbers_of_frr() {
        let lines = ["seq 7 permit any", "deny 10.0.0.0/8", "permit any", "permit 11.0.0.0/8"];
        let lines = lines.map(|line| Line::top(format!("ip prefix-list P {line}")));

        let texts: Vec<_> = assign_numbers(lines.to_vec()).into_iter().map(|line| line.text).collect();

        let want = ["seq 7 permit any", "seq 10 deny 10.0.0.0/8", "seq 15 permit 11.0.0.0/8"];
        assert_eq!(texts, want.map(|line| format!("ip prefix-list P {line}")));
    }
}
