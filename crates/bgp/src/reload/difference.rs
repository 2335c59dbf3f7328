//! What turns one configuration into another.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{ConfigChange, Phase};
use super::context::{Context, starts};
use super::line::Line;
use super::list::{self, ListEntry};
use super::statement::{StatementKind, replaces, statement, undo};
use super::{instance, key, map};

/// What is told so far.
#[derive(Default)]
pub(crate) struct ChangeList(Vec<ConfigChange>);

impl ChangeList {
    /// A line is told.
    pub(crate) fn tell(&mut self, phase: Phase, line: Line) {
        self.0.push(ConfigChange { phase, line });
    }

    /// A line is taken back.
    pub(crate) fn take_back(&mut self, phase: Phase, line: &Line) {
        self.tell(phase, Line::below(&line.above, undo(line)));
    }
}

/// Lines by what tells them apart.
pub(crate) type LineIndex<'l> = BTreeMap<(Vec<String>, String), &'l Line>;

/// The lines by what tells them apart.
pub fn index<'l>(lines: impl IntoIterator<Item = &'l Line>) -> LineIndex<'l> {
    lines.into_iter().map(|line| (key(line), line)).collect()
}

/// What turns the running lines into the intended ones, by phases.
pub fn difference(running: &[Line], intended: &[Line]) -> Vec<ConfigChange> {
    let mut changes = ChangeList::default();
    profile(running, intended, &mut changes);
    let running = instance::clear(running, intended, &mut changes);
    lists(&running, intended, &mut changes);
    map::changes(&running, intended, &mut changes);
    instance::changes(&running, intended, &mut changes);
    others(&running, intended, &mut changes);
    changes.0.sort_by_key(|change| change.phase);
    changes.0
}

/// The profile of defaults comes before everything. Instances keep the one they were made with: while there are some, telling
/// another would change what they print and not what they do, and only a restart helps.
fn profile(running: &[Line], intended: &[Line], changes: &mut ChangeList) {
    let of = |lines: &[Line]| lines.iter().find(|line| is_profile(line)).cloned();
    if running.iter().any(|line| line.opens() == Some(Context::Bgp)) {
        return;
    }
    match (of(running), of(intended)) {
        (now, Some(meant)) if now.as_ref() != Some(&meant) => changes.tell(Phase::Clear, meant),
        (Some(now), None) => changes.take_back(Phase::Clear, &now),
        _ => {}
    }
}

fn is_profile(line: &Line) -> bool {
    starts(&line.text, "frr defaults")
}

fn lists(running: &[Line], intended: &[Line], changes: &mut ChangeList) {
    let (now, meant) = (by_list(running), by_list(intended));
    let names: BTreeSet<_> = now.keys().chain(meant.keys()).collect();
    for name in names {
        let entries = |of: &BTreeMap<String, Vec<ListEntry>>| of.get(name).cloned().unwrap_or_default();
        let (old, new) = (entries(&now), entries(&meant));
        let phase = if new.is_empty() { Phase::Forget } else { Phase::Define };
        for text in list::changes(&old, &new) {
            changes.tell(phase, Line::top(text));
        }
    }
}

fn by_list(lines: &[Line]) -> BTreeMap<String, Vec<ListEntry>> {
    let mut lists: BTreeMap<String, Vec<ListEntry>> = BTreeMap::new();
    for entry in lines.iter().filter_map(ListEntry::of) {
        lists.entry(entry.list.clone()).or_default().push(entry);
    }
    lists
}

/// All that is neither list nor map nor instance: ports, BFD, the kernel's side, and what is not known here.
fn others(running: &[Line], intended: &[Line], changes: &mut ChangeList) {
    let (now, meant) = (rest(running), rest(intended));
    let (old, new) = (index(now.iter().copied()), index(meant.iter().copied()));
    for line in gone(&now, &new) {
        let first = statement(line) == StatementKind::Unknown && line.opens().is_none();
        let phase = match added(line) {
            phase if first => phase,
            Phase::Use => Phase::Release,
            _ => Phase::Forget,
        };
        changes.take_back(phase, line);
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
        ListEntry::of(line).is_none()
            && !is_profile(line)
            && !starts(first, "router bgp")
            && !map::is_entry(first)
    };
    lines.iter().filter(apart).collect()
}

/// The lines that are in the index no longer, without those that go with what they are below; the last first.
fn gone<'l>(lines: &[&'l Line], meant: &LineIndex<'_>) -> Vec<&'l Line> {
    let is_gone = |line: &Line| !meant.contains_key(&key(line)) && !is_frame(line);
    let with_above = |line: &Line| {
        (0..line.above.len())
            .any(|depth| is_gone(&Line::below(&line.above[..depth], line.above[depth].clone())))
    };
    lines.iter().rev().filter(|line| is_gone(line) && !with_above(line)).copied().collect()
}

/// Contexts that are entered and never told or taken back: mgmtd of FRR 10.3 ends when it is told `no interface` of a port that
/// is there.
pub(crate) fn is_frame(line: &Line) -> bool {
    matches!(line.opens(), Some(Context::Interface | Context::Vrf | Context::Bfd | Context::Family))
}

fn added(line: &Line) -> Phase {
    let uses = ["ip protocol", "ip route", "ipv6 protocol", "ipv6 route"];
    if uses.iter().any(|start| starts(&line.text, start)) { Phase::Use } else { Phase::Define }
}

#[cfg(test)]
mod tests {
    use super::super::{FrrConfig, difference};

    /// What is told to make one text of another.
    fn told(from: &str, to: &str) -> Vec<String> {
        let changes = difference(&FrrConfig::parse(from), &FrrConfig::parse(to));
        changes.iter().map(|change| change.line.to_string()).collect()
    }

    const BGP: &str =
        "router bgp 1\n no bgp default ipv4-unicast\n neighbor eth0 interface v6only remote-as external\n";

    #[test]
    fn what_can_be_changed_in_place_is_not_taken_back() {
        let from = format!("{BGP} neighbor eth0 timers 3 9\n");
        let to = format!("{} neighbor eth0 timers 1 3\n", BGP.replace("external", "65002"));

        let want =
            ["router bgp 1 / neighbor eth0 remote-as 65002", "router bgp 1 / neighbor eth0 timers 1 3"];
        assert_eq!(told(&from, &to), want);
    }

    #[test]
    fn a_neighbor_goes_in_one_line_and_a_port_is_never_taken_back() {
        let from = format!(
            "interface eth0\n no ipv6 nd suppress-ra\n{BGP} neighbor eth0 bfd\n address-family ipv4 unicast\n  neighbor eth0 activate\n"
        );

        let want = ["router bgp 1 / no neighbor eth0", "interface eth0 / ipv6 nd suppress-ra"];
        assert_eq!(told(&from, "router bgp 1\n no bgp default ipv4-unicast\n"), want);
    }

    #[test]
    fn an_entry_of_a_map_in_use_denies_until_it_matches() {
        let from = "route-map A permit 10\n match metric 5\n";
        let to =
            "route-map A permit 10\n match metric 5\nroute-map A permit 20\n match tag 5\n on-match next\n";

        let want = [
            "route-map A deny 20",
            "route-map A deny 20 / match tag 5",
            "route-map A permit 20",
            "route-map A permit 20 / on-match next",
        ];
        assert_eq!(told(from, to), want);
    }

    #[test]
    fn a_family_is_activated_after_its_filters() {
        let family =
            " address-family ipv4 unicast\n  neighbor eth0 activate\n  neighbor eth0 route-map A in\n";

        let told = told(BGP, &format!("{BGP}{family}"));

        assert!(told[0].ends_with("route-map A in") && told[1].ends_with("activate"), "{told:?}");
    }

    #[test]
    fn another_as_number_is_another_instance_and_imports_go_before_it() {
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
        assert_eq!(told(&text(1), &text(2)), want);
    }

    #[test]
    fn the_profile_comes_first_and_only_before_there_are_instances() {
        let to = format!("frr defaults datacenter\n{BGP}");

        assert_eq!(told("", &to)[0], "frr defaults datacenter");
        assert_eq!(told(BGP, &to), Vec::<String>::new());
    }
}
