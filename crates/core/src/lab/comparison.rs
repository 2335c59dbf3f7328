//! Comparison of the predicted and the observed state.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use serde::{Serialize, Serializer};

use super::state::{FabricState, Flow, PathCount, Reachability};
use super::topology::LabTopology;
use crate::prove::summarize_names;

/// The result of a test: first without a failure, then for each injected failure.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The cluster's name.
    pub cluster: String,
    /// Whether times were measured on an emulated machine and do not apply to a real one.
    pub emulated: bool,
    /// Milliseconds between two packets of a flow: shorter outages are not detected.
    #[serde(rename = "resolution_ms")]
    pub resolution: u64,
    /// How links were cut.
    #[serde(rename = "link_failure")]
    pub cut: CutMode,
    /// Differences of the lab from the cluster file.
    pub deviations: Vec<String>,
    /// The number of flows.
    #[serde(rename = "flow_count")]
    pub flows: usize,
    /// One row per failure.
    #[serde(rename = "results")]
    pub rows: Vec<FailureComparison>,
}

impl Comparison {
    /// Whether all observations match the prediction.
    pub fn is_match(&self) -> bool {
        self.rows.iter().all(|row| row.differences.is_empty())
    }
}

/// How links are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CutMode {
    /// Packets are lost while both ends keep their carrier.
    Silent,
    /// Both ends lose their carrier.
    Carrier,
}

/// The result of one failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureComparison {
    /// The injected failure; none for the intact fabric.
    #[serde(rename = "failure")]
    pub without: Option<InjectedFailure>,
    /// The predicted losses.
    pub expected: String,
    /// The observed losses.
    pub observed: String,
    /// The outage of flows that still have a path; none if there are no such flows.
    pub outage: Option<Outage>,
    /// The outage after the failure was repaired.
    #[serde(rename = "recovery_outage")]
    pub healing: Option<Outage>,
    /// Differences from the prediction.
    pub differences: Vec<String>,
}

/// An injected failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InjectedFailure {
    /// Its name.
    pub name: String,
    /// Its kind: router, node, link or speaker.
    pub kind: String,
    /// Milliseconds until all neighbours have removed its routes; 0 if they detect it at once.
    #[serde(rename = "detection_ms")]
    pub noticed: u64,
}

/// The longest outage of all flows that still have a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outage {
    /// Milliseconds; 0 if no packet was lost.
    #[serde(rename = "duration_ms")]
    pub ms: u64,
    /// The number of flows that lost packets, and of all flows.
    #[serde(flatten, serialize_with = "serialize_flow_counts")]
    pub hit: (usize, usize),
    /// The flow with the longest outage.
    #[serde(rename = "longest_flow")]
    pub worst: Option<Flow>,
}

fn serialize_flow_counts<S: Serializer>(
    (affected, total): &(usize, usize),
    to: S,
) -> Result<S::Ok, S::Error> {
    BTreeMap::from([("flows_affected", affected), ("flows_total", total)]).serialize(to)
}

/// A difference between prediction and observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    Down,
    Up,
    /// A missing route, with the predicted number of paths.
    NoRoute(usize),
    /// Another number of paths: observed, predicted.
    Paths(usize, usize),
    /// An unexpected route to a prefix that other machines have.
    Route,
    /// A route to a prefix that must not be in the fabric.
    Leak,
    /// A missing reply.
    Silence,
    /// An unexpected reply.
    Answer,
    /// A machine that could not be observed.
    Unseen,
}

impl Difference {
    /// Describes the difference; `object` is a session end, prefix or address.
    fn describe(self, object: &str) -> String {
        let paths = |count: usize| format!("{count} path{}", if count == 1 { "" } else { "s" });
        match self {
            Self::Down => format!("the session with {object} is down, expected up"),
            Self::Up => format!("the session with {object} is up, expected down"),
            Self::NoRoute(expected) => format!("no route to {object}, expected {}", paths(expected)),
            Self::Paths(observed, expected) => {
                format!("{} to {object}, expected {expected}", paths(observed))
            }
            Self::Route => format!("a route to {object}, expected none"),
            Self::Leak => format!("a route to {object}, which must not be in the fabric"),
            Self::Silence => format!("no reply from {object}"),
            Self::Answer => format!("a reply from {object}, expected none"),
            Self::Unseen => "the machine could not be observed".to_owned(),
        }
    }
}

/// Describes the differences between two states. `intact` is the prediction without a failure.
pub fn differences(
    topology: &LabTopology,
    flows: &[Flow],
    intact: &FabricState,
    expected: &FabricState,
    observed: &FabricState,
) -> Vec<String> {
    let mut found: BTreeMap<(Difference, String), BTreeSet<String>> = BTreeMap::new();
    let mut add = |difference: Difference, machine: String, object: String| {
        found.entry((difference, object)).or_default().insert(machine);
    };
    let sessions = topology.sessions.iter().zip(expected.sessions.iter().zip(&observed.sessions));
    for (session, (predicted, _)) in sessions.filter(|(_, (predicted, seen))| predicted != seen) {
        let difference = if *predicted { Difference::Down } else { Difference::Up };
        add(difference, session.one.name.clone(), session.other.name.clone());
    }
    let known: BTreeSet<&IpNet> = intact.routes.values().flat_map(BTreeMap::keys).collect();
    for (machine, predicted) in expected.routes.iter().filter(|(name, _)| !observed.gone.contains(*name)) {
        let Some(seen) = observed.routes.get(machine) else {
            add(Difference::Unseen, machine.clone(), String::new());
            continue;
        };
        for net in predicted.keys().chain(seen.keys()).collect::<BTreeSet<_>>() {
            let difference = match (predicted.get(net), seen.get(net)) {
                // A daemon may or may not install the node's own prefixes.
                (Some(PathCount::Own), _) | (_, Some(PathCount::Own)) => continue,
                (Some(predicted), Some(seen)) if predicted.admits(*seen) => continue,
                (Some(predicted), Some(seen)) => Difference::Paths(seen.count(), predicted.count()),
                (Some(predicted), None) => Difference::NoRoute(predicted.count()),
                (None, Some(_)) if known.contains(net) => Difference::Route,
                (None, Some(_)) => Difference::Leak,
                (None, None) => continue,
            };
            add(difference, machine.clone(), net.to_string());
        }
    }
    for (flow, (predicted, seen)) in flows.iter().zip(expected.flows.iter().zip(&observed.flows)) {
        let difference = match (predicted, seen) {
            (Reachability::All, Reachability::None | Reachability::Some) => Difference::Silence,
            (Reachability::None, Reachability::All | Reachability::Some) => Difference::Answer,
            _ => continue,
        };
        add(difference, flow.sender(), flow.to.to_string());
    }
    describe_differences(found)
}

/// Describes the differences, one line for those that the same machines share.
fn describe_differences(found: BTreeMap<(Difference, String), BTreeSet<String>>) -> Vec<String> {
    let mut groups: BTreeMap<(Difference, BTreeSet<String>), Vec<String>> = BTreeMap::new();
    for ((difference, object), machines) in found {
        groups.entry((difference, machines)).or_default().push(object);
    }
    let lines = groups.into_iter().map(|((difference, machines), objects)| {
        let machines = summarize_names(machines.iter().map(String::as_str));
        let objects = summarize_names(objects.iter().map(String::as_str).filter(|object| !object.is_empty()));
        format!("{machines}: {}", difference.describe(&objects))
    });
    lines.collect()
}

/// Describes the routes and flows of `intact` that are missing in `now`.
pub fn describe_losses(intact: &FabricState, now: &FabricState, flows: &[Flow]) -> String {
    let mut lost: BTreeMap<IpNet, BTreeSet<&str>> = BTreeMap::new();
    let mut left: BTreeSet<IpNet> = BTreeSet::new();
    for (machine, had) in intact.routes.iter().filter(|(name, _)| !now.gone.contains(*name)) {
        let has = now.routes.get(machine);
        for net in had.keys() {
            if has.is_some_and(|has| has.contains_key(net)) {
                left.insert(*net);
            } else {
                lost.entry(*net).or_default().insert(machine);
            }
        }
    }
    let mut parts: Vec<String> = Vec::new();
    let gone: Vec<String> = lost.keys().filter(|net| !left.contains(net)).map(ToString::to_string).collect();
    if !gone.is_empty() {
        let verb = if gone.len() == 1 { "is" } else { "are" };
        parts.push(format!("{} {verb} gone", summarize_names(gone.iter().map(String::as_str))));
    }
    let mut partial: BTreeMap<BTreeSet<&str>, Vec<String>> = BTreeMap::new();
    for (net, machines) in lost.into_iter().filter(|(net, _)| left.contains(net)) {
        partial.entry(machines).or_default().push(net.to_string());
    }
    for (machines, nets) in partial {
        let verb = if machines.len() == 1 { "loses" } else { "lose" };
        parts.push(format!(
            "{} {verb} {}",
            summarize_names(machines.into_iter()),
            summarize_names(nets.iter().map(String::as_str))
        ));
    }
    let flow_pairs = intact.flows.iter().zip(&now.flows);
    let silent = flow_pairs
        .filter(|(before, after)| **before == Reachability::All && **after == Reachability::None)
        .count();
    if silent > 0 {
        parts.push(format!("{silent} of {} flows end", flows.len()));
    }
    if parts.is_empty() { "nothing is lost".to_owned() } else { parts.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::topology::{LabSession, LabSessionEnd};

    fn topology() -> LabTopology {
        let end = |name: &str| LabSessionEnd { name: name.to_owned(), peer: "eth0".to_owned() };
        let session =
            LabSession { one: end("cp1"), other: end("leaf1"), bfd: false, carries: true, fault: None };
        LabTopology {
            cluster: "a".to_owned(),
            machines: Vec::new(),
            cables: Vec::new(),
            sessions: vec![session],
            deviations: Vec::new(),
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

    fn compare(intact: &FabricState, expected: &FabricState, observed: &FabricState) -> Vec<String> {
        differences(&topology(), &[flow("cp1", "10.0.0.2")], intact, expected, observed)
    }

    #[test]
    fn a_state_that_matches_has_no_differences() {
        let intact =
            state(&[("leaf1", "10.0.0.1/32", 2), ("cp1", "10.0.0.1/32", 0)], true, &[Reachability::All]);
        let mut seen = intact.clone();
        seen.routes.get_mut("cp1").unwrap().clear();

        assert_eq!(compare(&intact, &intact, &seen), [""; 0]);
    }

    #[test]
    fn one_path_is_enough_where_routers_may_share_a_next_hop() {
        let mut intact = state(&[("cp1", "fd00::1/128", 2)], true, &[Reachability::All]);
        intact.routes.get_mut("cp1").unwrap().insert("fd00::1/128".parse().unwrap(), PathCount::UpTo(2));
        let seen = |paths: usize| state(&[("cp1", "fd00::1/128", paths)], true, &[Reachability::All]);

        assert_eq!(compare(&intact, &intact, &seen(1)), [""; 0]);
        assert_eq!(compare(&intact, &intact, &seen(2)), [""; 0]);
        assert_eq!(compare(&intact, &intact, &seen(3)), ["cp1: 3 paths to fd00::1/128, expected 2"]);
    }

    #[test]
    fn every_kind_of_difference_is_described() {
        let intact = state(
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
            compare(&intact, &intact, &seen),
            [
                "cp1: the session with leaf1 is down, expected up",
                "leaf1 and leaf2: no route to 10.0.0.2/32, expected 1 path",
                "leaf1: 1 path to 10.0.0.1/32, expected 2",
                "leaf2: a route to 10.0.0.1/32, expected none",
                "leaf2: a route to 0.0.0.0/0, which must not be in the fabric",
                "cp1: no reply from 10.0.0.2",
            ]
        );
    }

    #[test]
    fn only_failed_machines_may_be_unobserved() {
        let intact =
            state(&[("leaf1", "10.0.0.1/32", 2), ("cp1", "10.0.0.1/32", 0)], true, &[Reachability::All]);
        let mut without = intact.clone();
        without.routes.remove("leaf1");
        without.gone.insert("leaf1".to_owned());

        assert_eq!(compare(&intact, &without, &without), [""; 0]);
        without.gone.clear();
        assert_eq!(compare(&intact, &intact, &without), ["leaf1: the machine could not be observed"]);
    }

    #[test]
    fn losses_are_described_for_any_state() {
        let intact = state(
            &[("leaf1", "10.0.0.1/32", 2), ("leaf1", "10.0.0.2/32", 1), ("leaf2", "10.0.0.2/32", 1)],
            true,
            &[Reachability::All],
        );
        let now =
            state(&[("leaf2", "10.0.0.2/32", 1), ("leaf1", "0.0.0.0/0", 1)], true, &[Reachability::None]);

        let flows = [flow("cp1", "10.0.0.2")];
        assert_eq!(
            describe_losses(&intact, &now, &flows),
            "10.0.0.1/32 is gone; leaf1 loses 10.0.0.2/32; 1 of 1 flows end"
        );
        assert_eq!(describe_losses(&intact, &intact, &flows), "nothing is lost");
    }
}
