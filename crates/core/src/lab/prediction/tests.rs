use super::*;
use crate::lab::topology::{Ingress, LabMachine, LabSession, LabSessionEnd, LabSpeaker};
use crate::model::Cluster;
use crate::plan::tests::planned_with;

const RACK: &str = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
     network: {node: null, loopback: {v4: 10.0.0.0/26, v6: null}, services: {pools: {default: [198.51.100.0/24]}}}\n\
     fabric: {routers: [{name: leaf1, asn: 65101}, {name: leaf2, asn: 65102}, {name: spine1, asn: 65200, role: spine}]}\n\
     routing: {backend: frr, asn: 65000, workload: {speaker: metallb},\n\
     \x20 neighbors: [{router: leaf1, link: fab0, bfd: true}, {router: leaf2, link: fab1, bfd: true}]}\n\
     defaults: {ports: [fab0, fab1]}\n\
     nodes: [{name: cp1, index: 1, macs: [\"02:00:00:00:00:01\", \"02:00:00:00:00:02\"]},\n\
     \x20 {name: cp2, index: 2, macs: [\"02:00:00:00:00:03\", \"02:00:00:00:00:04\"]}]";

/// A topology with the speakers' announcements and the source addresses that the prediction needs.
fn topology(subject: &ProofModel) -> LabTopology {
    let node = |name: &str, source: &str, announces: &[&str]| LabMachine {
        name: name.to_owned(),
        part: MachineRole::Node {
            backend: Backend::Frr,
            agent: String::new(),
            health: None,
            speaker: Some(LabSpeaker {
                name: "metallb".to_owned(),
                conf: String::new(),
                announces: announces.iter().map(|net| net.parse().unwrap()).collect(),
                refused: Vec::new(),
            }),
            sources: vec![source.parse().unwrap()],
        },
        vrfs: Vec::new(),
        dummies: Vec::new(),
        addresses: Vec::new(),
        ports: Vec::new(),
        gateways: Vec::new(),
    };
    let door = |router: &str, source: &str| Ingress {
        router: router.to_owned(),
        through: Vec::new(),
        sources: vec![source.parse().unwrap()],
    };
    let mut outside = node("outside", "198.18.0.1", &[]);
    outside.part =
        MachineRole::Outside { doors: vec![door("leaf1", "198.18.0.1"), door("spine1", "198.18.0.2")] };
    let end = |name: &str| LabSessionEnd { name: name.to_owned(), peer: String::new() };
    let session = |one: &str, other: &str| LabSession {
        one: end(one),
        other: end(other),
        bfd: true,
        carries: true,
        fault: None,
    };
    let network = &subject.network;
    let mut sessions: Vec<LabSession> =
        network.sessions.iter().map(|of| session(network.name(of.0), network.name(of.1))).collect();
    sessions.push(session("cp1", "cp1:metallb"));
    sessions.push(session("cp2", "cp2:metallb"));
    LabTopology {
        cluster: "a".to_owned(),
        machines: vec![
            node("cp1", "10.0.0.1", &["198.51.100.1/32", "198.51.100.11/32"]),
            node("cp2", "10.0.0.2", &["198.51.100.1/32", "198.51.100.12/32"]),
            outside,
        ],
        cables: Vec::new(),
        sessions,
        deviations: Vec::new(),
    }
}

fn subject((cluster, plan): &(Cluster, Plan)) -> ProofModel {
    ProofModel::from_plan(cluster, plan).unwrap()
}

fn paths(state: &FabricState, who: &str, net: &str) -> Option<PathCount> {
    state.routes.get(who)?.get(&net.parse::<IpNet>().unwrap()).copied()
}

#[test]
fn without_a_failure_all_machines_have_all_routes_over_all_paths() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let topology = topology(&subject);
    let prediction = Prediction::new(&subject, &planned.1, &topology);

    let state = prediction.state(None);

    assert_eq!(paths(&state, "leaf1", "10.0.0.1/32"), Some(PathCount::By(1)));
    assert_eq!(paths(&state, "spine1", "10.0.0.1/32"), Some(PathCount::By(2)));
    assert_eq!(paths(&state, "cp1", "10.0.0.1/32"), Some(PathCount::Own));
    assert_eq!(paths(&state, "cp1", "0.0.0.0/0"), Some(PathCount::By(2)));
    // Both nodes announce the first address, one node the second.
    assert_eq!(paths(&state, "leaf1", "198.51.100.1/32"), Some(PathCount::By(2)));
    assert_eq!(paths(&state, "leaf1", "198.51.100.12/32"), Some(PathCount::By(1)));
    assert_eq!(paths(&state, "leaf1", "0.0.0.0/0"), None);
    assert!(state.sessions.iter().all(|up| *up), "{:?}", state.sessions);
    assert!(state.flows.iter().all(|reach| *reach == Reachability::All));
}

#[test]
fn flows_start_at_nodes_and_at_every_entry_router() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let topology = topology(&subject);

    let prediction = Prediction::new(&subject, &planned.1, &topology);

    let destinations = |sender: &str| {
        let flows = prediction.flows.iter().filter(|flow| flow.sender() == sender);
        flows.map(|flow| flow.to.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(destinations("cp1"), ["10.0.0.2", "198.51.100.12"]);
    assert_eq!(
        destinations("outside by spine1"),
        ["10.0.0.1", "10.0.0.2", "198.51.100.1", "198.51.100.11", "198.51.100.12"]
    );
}

#[test]
fn a_failed_leaf_halves_the_paths_and_ends_flows_that_enter_through_it() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let topology = topology(&subject);
    let prediction = Prediction::new(&subject, &planned.1, &topology);
    let leaf = subject.failure("leaf1").unwrap();

    let state = prediction.state(Some(leaf));

    assert!(state.gone.contains("leaf1") && !state.routes.contains_key("leaf1"));
    assert_eq!(paths(&state, "spine1", "10.0.0.1/32"), Some(PathCount::By(1)));
    assert_eq!(paths(&state, "cp1", "0.0.0.0/0"), Some(PathCount::By(1)));
    assert_eq!(state.sessions.iter().filter(|up| !**up).count(), 3);
    for (flow, reach) in prediction.flows.iter().zip(&state.flows) {
        let is_closed = flow.door.as_deref() == Some("leaf1");
        assert_eq!(*reach, if is_closed { Reachability::None } else { Reachability::All }, "{flow:?}");
    }
}

#[test]
fn a_failed_speaker_removes_its_own_address_and_one_path_of_the_shared_one() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let topology = topology(&subject);
    let prediction = Prediction::new(&subject, &planned.1, &topology);

    let state = prediction.state(subject.failure("cp1:metallb"));

    assert_eq!(paths(&state, "leaf1", "198.51.100.11/32"), None);
    assert_eq!(paths(&state, "leaf1", "198.51.100.1/32"), Some(PathCount::By(1)));
    assert_eq!(state.sessions.iter().filter(|up| !**up).count(), 1);
    let silent: Vec<String> = prediction
        .flows
        .iter()
        .zip(&state.flows)
        .filter(|(_, reach)| **reach == Reachability::None)
        .map(|(flow, _)| flow.to.to_string())
        .collect();
    assert_eq!(silent, ["198.51.100.11"; 3]);
}

#[test]
fn outages_are_measured_on_some_flows_to_each_destination() {
    let flow = |from: usize, to: u8| Flow {
        from: from.to_string(),
        door: None,
        source: IpAddr::from([10, 0, 0, 1]),
        to: IpAddr::from([10, 0, 1, to]),
    };
    let flows: Vec<Flow> = (0..10).flat_map(|from| (0..4).map(move |to| flow(from, to))).collect();

    assert!(select_measured(&flows, 40).into_iter().all(|measured| measured));
    let some = select_measured(&flows, 9);
    for to in 0..4 {
        let to = IpAddr::from([10, 0, 1, to]);
        let of = flows.iter().zip(&some).filter(|(flow, watched)| **watched && flow.to == to);
        assert_eq!(of.map(|(flow, _)| flow.from.as_str()).collect::<Vec<_>>(), ["0", "5"]);
    }
    assert!(select_measured(&[], 9).is_empty());
}

#[test]
fn silent_failures_are_detected_by_bfd_or_by_timers() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let topology = topology(&subject);
    let prediction = Prediction::new(&subject, &planned.1, &topology);

    let detection_time = |name: &str| prediction.detection_time(subject.failure(name).unwrap());

    assert_eq!((detection_time("cp1:fab0"), detection_time("spine1")), (900, 9000));
    assert_eq!(prediction.detection_time_without_bfd(subject.failure("cp1:fab0").unwrap()), 39_000);
}

#[test]
fn zebra_does_not_install_a_bgp_default_route_beside_a_gateway() {
    let routed = |backend: &str| {
        let text = RACK
            .replace("network: {node: null,", "network: {node: {v4: 10.1.0.0/24, gateway: {v4: 10.1.0.254}},")
            .replace("{name: leaf1, asn: 65101}", "{name: leaf1, asn: 65101, addresses: [10.1.0.254]}")
            .replace(
                "{router: leaf1, link: fab0, bfd: true}, {router: leaf2, link: fab1, bfd: true}",
                "{router: leaf1}",
            )
            .replace("backend: frr", &format!("backend: {backend}"));
        let planned = planned_with(text.leak());
        let subject = subject(&planned);
        let topology = topology(&subject);
        paths(&Prediction::new(&subject, &planned.1, &topology).state(None), "cp1", "0.0.0.0/0")
    };

    assert_eq!((routed("frr"), routed("bird")), (None, Some(PathCount::By(1))));
}

#[test]
fn routers_on_a_shared_network_may_advertise_the_same_next_hop() {
    let text = RACK
        .replace("backend: frr", "backend: bird")
        .replace("node: null", "node: {v6: \"fd00:1::/64\"}")
        .replace("v6: null", "v6: \"fd00:1:fe::/64\"")
        .replace("{name: leaf1, asn: 65101}", "{name: leaf1, asn: 65101, addresses: [\"fd00:1::fffe\"]}")
        .replace("{name: leaf2, asn: 65102}", "{name: leaf2, asn: 65102, addresses: [\"fd00:1::fffd\"]}")
        .replace("link: fab0, bfd: true", "bfd: true")
        .replace("link: fab1, bfd: true", "bfd: true");
    let planned = planned_with(text.leak());
    let subject = subject(&planned);
    let topology = topology(&subject);

    let state = Prediction::new(&subject, &planned.1, &topology).state(None);

    assert_eq!(paths(&state, "cp1", "fd00:1:fe::2/128"), Some(PathCount::UpTo(2)));
    assert_eq!(paths(&state, "cp1", "::/0"), Some(PathCount::By(2)));
}

#[test]
fn detection_takes_longer_on_an_emulated_processor() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let topology = topology(&subject);

    let built = lab_proof_model(
        &subject,
        &planned.1,
        &topology,
        &HostCapabilities { emulated: true, ..HostCapabilities::default() },
    );

    let prediction = Prediction::new(&built, &planned.1, &topology);
    assert_eq!(prediction.detection_time(built.failure("cp1:fab0").unwrap()), 9000);
}

#[test]
fn features_that_the_lab_daemons_lack_are_not_predicted() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let mut topology = topology(&subject);
    let of_node =
        |session: &&mut LabSession| session.one.name.starts_with("cp") && !session.other.name.contains(':');
    for session in topology.sessions.iter_mut().filter(of_node) {
        (session.bfd, session.carries) = (false, false);
    }

    let built = lab_proof_model(&subject, &planned.1, &topology, &HostCapabilities::default());
    let prediction = Prediction::new(&built, &planned.1, &topology);

    let state = prediction.state(None);
    assert!(state.sessions.iter().all(|up| *up), "{:?}", state.sessions);
    assert_eq!(paths(&state, "leaf1", "10.0.0.1/32"), None);
    assert_eq!(paths(&state, "cp1", "0.0.0.0/0"), None);
    assert_eq!(paths(&state, "cp1", "10.0.0.1/32"), Some(PathCount::Own));
    assert!(prediction.flows.is_empty());
    assert_eq!(prediction.detection_time(built.failure("cp1:fab0").unwrap()), 39_000);
}
