//! What was foreseen against what was seen.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use serde::{Serialize, Serializer};

use super::scene::LabTopology;
use super::state::{FabricState, Flow, PathCount, Reachability};
use crate::prove::crowd;

/// What was found: first of the whole fabric, then of everything that was taken away.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The cluster's name.
    pub cluster: String,
    /// Whether times were taken in an emulated machine: then they say nothing of a real one.
    pub emulated: bool,
    /// Milliseconds between two packets of a flow: no shorter outage is seen.
    #[serde(rename = "resolution_ms")]
    pub resolution: u64,
    /// How links were cut.
    #[serde(rename = "link_failure")]
    pub cut: CutMode,
    /// What the lab has other than the file says.
    #[serde(rename = "deviations")]
    pub differs: Vec<String>,
    /// How many flows of packets there were.
    #[serde(rename = "flow_count")]
    pub flows: usize,
    /// The findings.
    #[serde(rename = "results")]
    pub rows: Vec<FailureComparison>,
}

impl Comparison {
    /// Whether everything was as foreseen.
    pub fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.differences.is_empty())
    }
}

/// How links are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CutMode {
    /// Packets are lost, and nobody is told.
    Silent,
    /// Both ends lose their carrier.
    Carrier,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureComparison {
    /// What was taken away; none is the whole fabric.
    #[serde(rename = "failure")]
    pub without: Option<InjectedFailure>,
    /// What was to be expected.
    pub expected: String,
    /// What was seen.
    pub observed: String,
    /// How long packets were lost to which a way is left, until they took it; none where there are no such packets.
    pub outage: Option<Outage>,
    /// The same, after what was taken away came back.
    #[serde(rename = "recovery_outage")]
    pub healing: Option<Outage>,
    /// What was other than foreseen.
    pub differences: Vec<String>,
}

/// What was taken away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InjectedFailure {
    /// Its name.
    pub name: String,
    /// What it is: router, node, link or speaker.
    pub kind: String,
    /// Milliseconds after which nobody keeps what came from it; 0 where that is told at once.
    #[serde(rename = "detection_ms")]
    pub noticed: u64,
}

/// The longest outage of all flows to which a way is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outage {
    /// Milliseconds; 0 where no packet was lost.
    #[serde(rename = "duration_ms")]
    pub ms: u64,
    /// How many flows lost packets, and of how many.
    #[serde(flatten, serialize_with = "affected")]
    pub hit: (usize, usize),
    /// The flow with the longest.
    #[serde(rename = "longest_flow")]
    pub worst: Option<Flow>,
}

/// The flows that lost packets, and all flows.
fn affected<S: Serializer>((affected, total): &(usize, usize), to: S) -> Result<S::Ok, S::Error> {
    BTreeMap::from([("flows_affected", affected), ("flows_total", total)]).serialize(to)
}

/// What is other than foreseen, by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    Down,
    Up,
    /// No route; so many paths were foreseen.
    NoRoute(usize),
    /// Another number of paths: seen, foreseen.
    Paths(usize, usize),
    /// A route that others have too.
    Route,
    /// A route that nobody shall ever have.
    Leak,
    /// No answer.
    Silence,
    /// An answer where none was foreseen.
    Answer,
    /// Nothing was seen of a machine.
    Unseen,
}

impl Difference {
    /// In words, of what it is about.
    fn words(self, of: &str) -> String {
        let paths = |count: usize| format!("{count} path{}", if count == 1 { "" } else { "s" });
        match self {
            Self::Down => format!("the session with {of} is down, and shall be up"),
            Self::Up => format!("the session with {of} is up, and shall be down"),
            Self::NoRoute(meant) => format!("no route to {of}, and {} foreseen", paths(meant)),
            Self::Paths(seen, meant) => format!("{} to {of}, and {meant} foreseen", paths(seen)),
            Self::Route => format!("a route to {of}, and none foreseen"),
            Self::Leak => format!("a route to {of}, which nobody shall have"),
            Self::Silence => format!("no answer from {of}"),
            Self::Answer => format!("an answer from {of}, and none foreseen"),
            Self::Unseen => "nothing could be seen of it".to_owned(),
        }
    }
}

/// Where two states differ, in plain words. `whole` is what is foreseen while nothing fails.
pub fn differences(
    scene: &LabTopology,
    flows: &[Flow],
    whole: &FabricState,
    expected: &FabricState,
    observed: &FabricState,
) -> Vec<String> {
    let mut found: BTreeMap<(Difference, String), BTreeSet<String>> = BTreeMap::new();
    let mut add = |what: Difference, who: String, of: String| {
        found.entry((what, of)).or_default().insert(who);
    };
    let sessions = scene.sessions.iter().zip(expected.sessions.iter().zip(&observed.sessions));
    for (session, (meant, _)) in sessions.filter(|(_, (meant, seen))| meant != seen) {
        let what = if *meant { Difference::Down } else { Difference::Up };
        add(what, session.one.name.clone(), session.other.name.clone());
    }
    let known: BTreeSet<&IpNet> = whole.routes.values().flat_map(BTreeMap::keys).collect();
    for (who, meant) in expected.routes.iter().filter(|(who, _)| !observed.gone.contains(*who)) {
        let Some(seen) = observed.routes.get(who) else {
            add(Difference::Unseen, who.clone(), String::new());
            continue;
        };
        for net in meant.keys().chain(seen.keys()).collect::<BTreeSet<_>>() {
            let what = match (meant.get(net), seen.get(net)) {
                // What a node has itself, its daemon may install or not.
                (Some(PathCount::Own), _) | (_, Some(PathCount::Own)) => continue,
                (Some(meant), Some(seen)) if meant.admits(*seen) => continue,
                (Some(meant), Some(seen)) => Difference::Paths(seen.count(), meant.count()),
                (Some(meant), None) => Difference::NoRoute(meant.count()),
                (None, Some(_)) if known.contains(net) => Difference::Route,
                (None, Some(_)) => Difference::Leak,
                (None, None) => continue,
            };
            add(what, who.clone(), net.to_string());
        }
    }
    for (flow, (meant, seen)) in flows.iter().zip(expected.flows.iter().zip(&observed.flows)) {
        let what = match (meant, seen) {
            (Reachability::All, Reachability::None | Reachability::Some) => Difference::Silence,
            (Reachability::None, Reachability::All | Reachability::Some) => Difference::Answer,
            _ => continue,
        };
        add(what, flow.who(), flow.to.to_string());
    }
    told(found)
}

/// Puts together what is the same for the same machines.
fn told(found: BTreeMap<(Difference, String), BTreeSet<String>>) -> Vec<String> {
    let mut groups: BTreeMap<(Difference, BTreeSet<String>), Vec<String>> = BTreeMap::new();
    for ((what, of), who) in found {
        groups.entry((what, who)).or_default().push(of);
    }
    let said = groups.into_iter().map(|((what, who), of)| {
        let who = crowd(who.iter().map(String::as_str));
        let of = crowd(of.iter().map(String::as_str).filter(|of| !of.is_empty()));
        format!("{who}: {}", what.words(&of))
    });
    said.collect()
}

/// What is lost in one state of what there was in another: who loses what.
pub fn losses(whole: &FabricState, now: &FabricState, flows: &[Flow]) -> String {
    let mut lost: BTreeMap<IpNet, BTreeSet<&str>> = BTreeMap::new();
    let mut left: BTreeSet<IpNet> = BTreeSet::new();
    for (who, had) in whole.routes.iter().filter(|(who, _)| !now.gone.contains(*who)) {
        let has = now.routes.get(who);
        for net in had.keys() {
            if has.is_some_and(|has| has.contains_key(net)) {
                left.insert(*net);
            } else {
                lost.entry(*net).or_default().insert(who);
            }
        }
    }
    let mut parts: Vec<String> = Vec::new();
    let gone: Vec<String> = lost.keys().filter(|net| !left.contains(net)).map(ToString::to_string).collect();
    if !gone.is_empty() {
        let verb = if gone.len() == 1 { "is" } else { "are" };
        parts.push(format!("{} {verb} gone", crowd(gone.iter().map(String::as_str))));
    }
    let mut of_some: BTreeMap<BTreeSet<&str>, Vec<String>> = BTreeMap::new();
    for (net, who) in lost.into_iter().filter(|(net, _)| left.contains(net)) {
        of_some.entry(who).or_default().push(net.to_string());
    }
    for (who, nets) in of_some {
        let verb = if who.len() == 1 { "loses" } else { "lose" };
        parts.push(format!("{} {verb} {}", crowd(who.into_iter()), crowd(nets.iter().map(String::as_str))));
    }
    let ways = whole.flows.iter().zip(&now.flows);
    let silent =
        ways.filter(|(before, after)| **before == Reachability::All && **after == Reachability::None).count();
    if silent > 0 {
        parts.push(format!("{silent} of {} flows end", flows.len()));
    }
    if parts.is_empty() { "nothing is lost".to_owned() } else { parts.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::scene::{LabSession, LabSessionEnd};

    fn scene() -> LabTopology {
        let end = |name: &str| LabSessionEnd { name: name.to_owned(), peer: "eth0".to_owned() };
        let session =
            LabSession { one: end("cp1"), other: end("leaf1"), bfd: false, carries: true, fault: None };
        LabTopology {
            cluster: "a".to_owned(),
            machines: Vec::new(),
            cables: Vec::new(),
            sessions: vec![session],
            differs: Vec::new(),
        }
    }

    fn flow(from: &str, to: &str) -> Flow {
        let source = "10.0.0.9".parse().unwrap();
        Flow { from: from.to_owned(), door: None, source, to: to.parse().unwrap() }
    }

    fn state(routes: &[(&str, &str, usize)], session: bool, flows: &[Reachability]) -> FabricState {
        let mut state =
            FabricState { sessions: vec![session], flows: flows.to_vec(), ..FabricState::default() };
        for (who, net, paths) in routes {
            let table = state.routes.entry((*who).to_owned()).or_default();
            let paths = if *paths == 0 { PathCount::Own } else { PathCount::By(*paths) };
            table.insert(net.parse().unwrap(), paths);
        }
        state
    }

    fn told(whole: &FabricState, expected: &FabricState, observed: &FabricState) -> Vec<String> {
        differences(&scene(), &[flow("cp1", "10.0.0.2")], whole, expected, observed)
    }

    #[test]
    fn what_is_as_foreseen_is_not_told() {
        let whole =
            state(&[("leaf1", "10.0.0.1/32", 2), ("cp1", "10.0.0.1/32", 0)], true, &[Reachability::All]);
        let mut seen = whole.clone();
        seen.routes.get_mut("cp1").unwrap().clear();

        assert_eq!(told(&whole, &whole, &seen), [""; 0]);
    }

    #[test]
    fn of_paths_that_may_be_the_same_one_is_enough() {
        let mut whole = state(&[("cp1", "fd00::1/128", 2)], true, &[Reachability::All]);
        whole.routes.get_mut("cp1").unwrap().insert("fd00::1/128".parse().unwrap(), PathCount::UpTo(2));
        let seen = |paths: usize| state(&[("cp1", "fd00::1/128", paths)], true, &[Reachability::All]);

        assert_eq!(told(&whole, &whole, &seen(1)), [""; 0]);
        assert_eq!(told(&whole, &whole, &seen(2)), [""; 0]);
        assert_eq!(told(&whole, &whole, &seen(3)), ["cp1: 3 paths to fd00::1/128, and 2 foreseen"]);
    }

    #[test]
    fn every_kind_of_difference_is_told_in_plain_words() {
        let whole = state(
            &[("leaf1", "10.0.0.1/32", 2), ("leaf1", "10.0.0.2/32", 1), ("leaf2", "10.0.0.2/32", 1)],
            true,
            &[Reachability::All],
        );
        let seen = state(
            &[("leaf1", "10.0.0.1/32", 1), ("leaf2", "10.0.0.1/32", 1), ("leaf2", "0.0.0.0/0", 1)],
            false,
            &[Reachability::None],
        );

        assert_eq!(
            told(&whole, &whole, &seen),
            [
                "cp1: the session with leaf1 is down, and shall be up",
                "leaf1 and leaf2: no route to 10.0.0.2/32, and 1 path foreseen",
                "leaf1: 1 path to 10.0.0.1/32, and 2 foreseen",
                "leaf2: a route to 10.0.0.1/32, and none foreseen",
                "leaf2: a route to 0.0.0.0/0, which nobody shall have",
                "cp1: no answer from 10.0.0.2",
            ]
        );
    }

    #[test]
    fn nothing_is_asked_of_who_is_taken_away_and_everything_of_who_is_not() {
        let whole =
            state(&[("leaf1", "10.0.0.1/32", 2), ("cp1", "10.0.0.1/32", 0)], true, &[Reachability::All]);
        let mut without = whole.clone();
        without.routes.remove("leaf1");
        without.gone.insert("leaf1".to_owned());

        assert_eq!(told(&whole, &without, &without), [""; 0]);
        without.gone.clear();
        assert_eq!(told(&whole, &whole, &without), ["leaf1: nothing could be seen of it"]);
    }

    #[test]
    fn who_loses_what_is_told_of_either_state() {
        let whole = state(
            &[("leaf1", "10.0.0.1/32", 2), ("leaf1", "10.0.0.2/32", 1), ("leaf2", "10.0.0.2/32", 1)],
            true,
            &[Reachability::All],
        );
        let now =
            state(&[("leaf2", "10.0.0.2/32", 1), ("leaf1", "0.0.0.0/0", 1)], true, &[Reachability::None]);

        let flows = [flow("cp1", "10.0.0.2")];
        assert_eq!(
            losses(&whole, &now, &flows),
            "10.0.0.1/32 is gone; leaf1 loses 10.0.0.2/32; 1 of 1 flows end"
        );
        assert_eq!(losses(&whole, &whole, &flows), "nothing is lost");
    }
}
