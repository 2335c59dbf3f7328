//! The changes that turn one configuration into another.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{ConfigChange, Phase};
use super::context::{Context, starts_with_words};
use super::line::Line;
use super::list::{self, ListEntry};
use super::statement::{StatementKind, replaces, statement, undo};
use super::{instance, key, route_map};

/// A list of changes that is being collected.
#[derive(Default)]
pub(crate) struct ChangeList(Vec<ConfigChange>);

impl ChangeList {
    /// Adds a line.
    pub(crate) fn add(&mut self, phase: Phase, line: Line) {
        self.0.push(ConfigChange { phase, line });
    }

    /// Adds the removal of a line.
    pub(crate) fn remove(&mut self, phase: Phase, line: &Line) {
        self.add(phase, Line::below(&line.above, undo(line)));
    }
}

/// Lines by their keys.
pub(crate) type LineIndex<'l> = BTreeMap<(Vec<String>, String), &'l Line>;

/// Indexes lines by their keys.
pub fn index<'l>(lines: impl IntoIterator<Item = &'l Line>) -> LineIndex<'l> {
    lines.into_iter().map(|line| (key(line), line)).collect()
}

/// The changes that turn the running lines into the intended ones, by phase.
pub fn difference(running: &[Line], intended: &[Line]) -> Vec<ConfigChange> {
    let mut changes = ChangeList::default();
    change_profile(running, intended, &mut changes);
    let running = instance::clear(running, intended, &mut changes);
    change_lists(&running, intended, &mut changes);
    route_map::changes(&running, intended, &mut changes);
    instance::changes(&running, intended, &mut changes);
    change_others(&running, intended, &mut changes);
    changes.0.sort_by_key(|change| change.phase);
    changes.0
}

/// The profile of defaults comes first. Instances keep the profile with which they were created: while there are any,
/// another profile would change what they print but not their behaviour, and only a restart helps.
fn change_profile(running: &[Line], intended: &[Line], changes: &mut ChangeList) {
    let profile_of = |lines: &[Line]| lines.iter().find(|line| is_profile(line)).cloned();
    if running.iter().any(|line| line.opens() == Some(Context::Bgp)) {
        return;
    }
    match (profile_of(running), profile_of(intended)) {
        (now, Some(intended)) if now.as_ref() != Some(&intended) => changes.add(Phase::Clear, intended),
        (Some(now), None) => changes.remove(Phase::Clear, &now),
        _ => {}
    }
}

fn is_profile(line: &Line) -> bool {
    starts_with_words(&line.text, "frr defaults")
}

fn change_lists(running: &[Line], intended: &[Line], changes: &mut ChangeList) {
    let (now, intended) = (by_list(running), by_list(intended));
    let names: BTreeSet<_> = now.keys().chain(intended.keys()).collect();
    for name in names {
        let entries = |lists: &BTreeMap<String, Vec<ListEntry>>| lists.get(name).cloned().unwrap_or_default();
        let (old, new) = (entries(&now), entries(&intended));
        let phase = if new.is_empty() { Phase::Forget } else { Phase::Define };
        for text in list::changes(&old, &new) {
            changes.add(phase, Line::top(text));
        }
    }
}

fn by_list(lines: &[Line]) -> BTreeMap<String, Vec<ListEntry>> {
    let mut lists: BTreeMap<String, Vec<ListEntry>> = BTreeMap::new();
    for entry in lines.iter().filter_map(ListEntry::parse) {
        lists.entry(entry.list.clone()).or_default().push(entry);
    }
    lists
}

/// Everything except lists, route maps and instances: interfaces, BFD, kernel settings, and unknown statements.
fn change_others(running: &[Line], intended: &[Line], changes: &mut ChangeList) {
    let (now, intended) = (other_lines(running), other_lines(intended));
    let (old, new) = (index(now.iter().copied()), index(intended.iter().copied()));
    for line in removed_lines(&now, &new) {
        let first = statement(line) == StatementKind::Unknown && line.opens().is_none();
        let phase = match phase_of(line) {
            phase if first => phase,
            Phase::Use => Phase::Release,
            _ => Phase::Forget,
        };
        changes.remove(phase, line);
    }
    for line in intended {
        let before = old.get(&key(line));
        if before.is_some_and(|before| *before == line) || is_frame(line) {
            continue;
        }
        if let Some(before) = before.filter(|before| !replaces(&line.text, &before.text)) {
            changes.remove(phase_of(line), before);
        }
        changes.add(phase_of(line), line.clone());
    }
}

fn other_lines(lines: &[Line]) -> Vec<&Line> {
    let apart = |line: &&Line| {
        let first = line.above.first().unwrap_or(&line.text);
        ListEntry::parse(line).is_none()
            && !is_profile(line)
            && !starts_with_words(first, "router bgp")
            && !route_map::is_entry(first)
    };
    lines.iter().filter(apart).collect()
}

/// The lines that are no longer in the index, in reverse order, without those that disappear with an enclosing line.
fn removed_lines<'l>(lines: &[&'l Line], intended: &LineIndex<'_>) -> Vec<&'l Line> {
    let is_gone = |line: &Line| !intended.contains_key(&key(line)) && !is_frame(line);
    let with_above = |line: &Line| {
        (0..line.above.len())
            .any(|depth| is_gone(&Line::below(&line.above[..depth], line.above[depth].clone())))
    };
    lines.iter().rev().filter(|line| is_gone(line) && !with_above(line)).copied().collect()
}

/// Contexts that are entered and never created or removed: mgmtd of FRR 10.3 exits on `no interface` of an existing
/// port.
pub(crate) fn is_frame(line: &Line) -> bool {
    matches!(line.opens(), Some(Context::Interface | Context::Vrf | Context::Bfd | Context::Family))
}

fn phase_of(line: &Line) -> Phase {
    let uses = ["ip protocol", "ip route", "ipv6 protocol", "ipv6 route"];
    if uses.iter().any(|start| starts_with_words(&line.text, start)) { Phase::Use } else { Phase::Define }
}

#[cfg(test)]
mod tests {
    use super::super::{FrrConfig, difference};

    /// The changes from one text to another.
    fn change_lines(from: &str, to: &str) -> Vec<String> {
        let changes = difference(&FrrConfig::parse(from), &FrrConfig::parse(to));
        changes.iter().map(|change| change.line.to_string()).collect()
    }

    const BGP: &str =
        "router bgp 1\n no bgp default ipv4-unicast\n neighbor eth0 interface v6only remote-as external\n";

    #[test]
    fn settings_that_can_be_replaced_are_not_removed_first() {
        let from = format!("{BGP} neighbor eth0 timers 3 9\n");
        let to = format!("{} neighbor eth0 timers 1 3\n", BGP.replace("external", "65002"));

        let want =
            ["router bgp 1 / neighbor eth0 remote-as 65002", "router bgp 1 / neighbor eth0 timers 1 3"];
        assert_eq!(change_lines(&from, &to), want);
    }

    #[test]
    fn a_neighbor_is_removed_by_one_line_and_an_interface_never() {
        let from = format!(
            "interface eth0\n no ipv6 nd suppress-ra\n{BGP} neighbor eth0 bfd\n address-family ipv4 unicast\n  neighbor eth0 activate\n"
        );

        let want = ["router bgp 1 / no neighbor eth0", "interface eth0 / ipv6 nd suppress-ra"];
        assert_eq!(change_lines(&from, "router bgp 1\n no bgp default ipv4-unicast\n"), want);
    }

    #[test]
    fn a_new_entry_of_a_route_map_in_use_denies_until_it_matches() {
        let from = "route-map A permit 10\n match metric 5\n";
        let to =
            "route-map A permit 10\n match metric 5\nroute-map A permit 20\n match tag 5\n on-match next\n";

        let want = [
            "route-map A deny 20",
            "route-map A deny 20 / match tag 5",
            "route-map A permit 20",
            "route-map A permit 20 / on-match next",
        ];
        assert_eq!(change_lines(from, to), want);
    }

    #[test]
    fn a_family_is_activated_after_its_filters() {
        let family =
            " address-family ipv4 unicast\n  neighbor eth0 activate\n  neighbor eth0 route-map A in\n";

        let change_lines = change_lines(BGP, &format!("{BGP}{family}"));

        assert!(
            change_lines[0].ends_with("route-map A in") && change_lines[1].ends_with("activate"),
            "{change_lines:?}"
        );
    }

    #[test]
    fn a_new_as_number_recreates_the_instance_after_its_imports_are_removed() {
        let text = |asn: u32| {
            format!(
                "router bgp {asn} vrf red\nrouter bgp {asn}\n address-family ipv4 unicast\n  import vrf red\n"
            )
        };

        let want = [
            "router bgp 1 / address-family ipv4 unicast / no import vrf red",
            "no router bgp 1",
            "no router bgp 1 vrf red",
            "router bgp 2 vrf red",
            "router bgp 2",
            "router bgp 2 / address-family ipv4 unicast / import vrf red",
        ];
        assert_eq!(change_lines(&text(1), &text(2)), want);
    }

    #[test]
    fn the_profile_comes_first_and_only_without_instances() {
        let to = format!("frr defaults datacenter\n{BGP}");

        assert_eq!(change_lines("", &to)[0], "frr defaults datacenter");
        assert_eq!(change_lines(BGP, &to), Vec::<String>::new());
    }
}
