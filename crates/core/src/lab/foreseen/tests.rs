use super::*;
use crate::lab::scene::{Ingress, LabMachine, LabSession, LabSessionEnd, LabSpeaker};
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

/// What is asked of a scene here: who announces what, and who sends from where.
fn scene(subject: &ProofModel) -> Scene {
    let node = |name: &str, source: &str, announces: &[&str]| LabMachine {
        name: name.to_owned(),
        part: Part::Node {
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
    outside.part = Part::Outside { doors: vec![door("leaf1", "198.18.0.1"), door("spine1", "198.18.0.2")] };
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
    Scene {
        cluster: "a".to_owned(),
        machines: vec![
            node("cp1", "10.0.0.1", &["198.51.100.1/32", "198.51.100.11/32"]),
            node("cp2", "10.0.0.2", &["198.51.100.1/32", "198.51.100.12/32"]),
            outside,
        ],
        cables: Vec::new(),
        sessions,
        differs: Vec::new(),
    }
}

fn subject((cluster, plan): &(Cluster, Plan)) -> ProofModel {
    ProofModel::of(cluster, plan).unwrap()
}

fn paths(state: &State, who: &str, net: &str) -> Option<Paths> {
    state.routes.get(who)?.get(&net.parse::<IpNet>().unwrap()).copied()
}

#[test]
fn while_nothing_fails_everyone_has_everything_over_all_paths() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let scene = scene(&subject);
    let foreseen = Prediction::of(&subject, &planned.1, &scene);

    let state = foreseen.state(None);

    assert_eq!(paths(&state, "leaf1", "10.0.0.1/32"), Some(Paths::By(1)));
    assert_eq!(paths(&state, "spine1", "10.0.0.1/32"), Some(Paths::By(2)));
    assert_eq!(paths(&state, "cp1", "10.0.0.1/32"), Some(Paths::Own));
    assert_eq!(paths(&state, "cp1", "0.0.0.0/0"), Some(Paths::By(2)));
    // Of both nodes the one, of one node the other.
    assert_eq!(paths(&state, "leaf1", "198.51.100.1/32"), Some(Paths::By(2)));
    assert_eq!(paths(&state, "leaf1", "198.51.100.12/32"), Some(Paths::By(1)));
    assert_eq!(paths(&state, "leaf1", "0.0.0.0/0"), None);
    assert!(state.sessions.iter().all(|up| *up), "{:?}", state.sessions);
    assert!(state.flows.iter().all(|reach| *reach == Reach::All));
}

#[test]
fn packets_are_sent_by_nodes_and_through_every_door_and_to_nobodys_self() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let scene = scene(&subject);

    let foreseen = Prediction::of(&subject, &planned.1, &scene);

    let of = |who: &str| {
        let flows = foreseen.flows.iter().filter(|flow| flow.who() == who);
        flows.map(|flow| flow.to.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of("cp1"), ["10.0.0.2", "198.51.100.12"]);
    assert_eq!(
        of("outside by spine1"),
        ["10.0.0.1", "10.0.0.2", "198.51.100.1", "198.51.100.11", "198.51.100.12"]
    );
}

#[test]
fn without_a_leaf_half_of_the_paths_are_left_and_its_door_is_shut() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let scene = scene(&subject);
    let foreseen = Prediction::of(&subject, &planned.1, &scene);
    let leaf = subject.failure("leaf1").unwrap();

    let state = foreseen.state(Some(leaf));

    assert!(state.gone.contains("leaf1") && !state.routes.contains_key("leaf1"));
    assert_eq!(paths(&state, "spine1", "10.0.0.1/32"), Some(Paths::By(1)));
    assert_eq!(paths(&state, "cp1", "0.0.0.0/0"), Some(Paths::By(1)));
    assert_eq!(state.sessions.iter().filter(|up| !**up).count(), 3);
    for (flow, reach) in foreseen.flows.iter().zip(&state.flows) {
        let shut = flow.door.as_deref() == Some("leaf1");
        assert_eq!(*reach, if shut { Reach::None } else { Reach::All }, "{flow:?}");
    }
}

#[test]
fn without_a_speaker_its_own_address_is_gone_and_the_shared_one_has_a_path_less() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let scene = scene(&subject);
    let foreseen = Prediction::of(&subject, &planned.1, &scene);

    let state = foreseen.state(subject.failure("cp1:metallb"));

    assert_eq!(paths(&state, "leaf1", "198.51.100.11/32"), None);
    assert_eq!(paths(&state, "leaf1", "198.51.100.1/32"), Some(Paths::By(1)));
    assert_eq!(state.sessions.iter().filter(|up| !**up).count(), 1);
    let silent: Vec<String> = foreseen
        .flows
        .iter()
        .zip(&state.flows)
        .filter(|(_, reach)| **reach == Reach::None)
        .map(|(flow, _)| flow.to.to_string())
        .collect();
    assert_eq!(silent, ["198.51.100.11"; 3]);
}

#[test]
fn of_many_flows_some_to_each_destination_are_watched() {
    let flow = |from: usize, to: u8| Flow {
        from: from.to_string(),
        door: None,
        source: IpAddr::from([10, 0, 0, 1]),
        to: IpAddr::from([10, 0, 1, to]),
    };
    let flows: Vec<Flow> = (0..10).flat_map(|from| (0..4).map(move |to| flow(from, to))).collect();

    assert!(watched(&flows, 40).into_iter().all(|watched| watched));
    let some = watched(&flows, 9);
    for to in 0..4 {
        let to = IpAddr::from([10, 0, 1, to]);
        let of = flows.iter().zip(&some).filter(|(flow, watched)| **watched && flow.to == to);
        assert_eq!(of.map(|(flow, _)| flow.from.as_str()).collect::<Vec<_>>(), ["0", "5"]);
    }
    assert!(watched(&[], 9).is_empty());
}

#[test]
fn a_silent_failure_is_over_by_bfd_or_when_nobody_keeps_it_any_more() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let scene = scene(&subject);
    let foreseen = Prediction::of(&subject, &planned.1, &scene);

    let noticed = |name: &str| foreseen.noticed(subject.failure(name).unwrap());

    assert_eq!((noticed("cp1:fab0"), noticed("spine1")), (900, 9000));
    assert_eq!(foreseen.kept(subject.failure("cp1:fab0").unwrap()), 39_000);
}

#[test]
fn zebra_leaves_a_default_route_of_bgp_out_where_the_node_has_a_gateway() {
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
        let scene = scene(&subject);
        paths(&Prediction::of(&subject, &planned.1, &scene).state(None), "cp1", "0.0.0.0/0")
    };

    assert_eq!((routed("frr"), routed("bird")), (None, Some(Paths::By(1))));
}

#[test]
fn routers_on_a_network_may_name_the_same_neighbour_to_a_node() {
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
    let scene = scene(&subject);

    let state = Prediction::of(&subject, &planned.1, &scene).state(None);

    assert_eq!(paths(&state, "cp1", "fd00:1:fe::2/128"), Some(Paths::UpTo(2)));
    assert_eq!(paths(&state, "cp1", "::/0"), Some(Paths::By(2)));
}

#[test]
fn an_emulated_processor_notices_as_late_as_it_was_told() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let scene = scene(&subject);

    let built = as_built(&subject, &planned.1, &scene, &Here { emulated: true, ..Here::default() });

    let foreseen = Prediction::of(&built, &planned.1, &scene);
    assert_eq!(foreseen.noticed(built.failure("cp1:fab0").unwrap()), 9000);
}

#[test]
fn what_the_daemons_of_the_scene_cannot_do_is_not_foreseen() {
    let planned = planned_with(RACK);
    let subject = subject(&planned);
    let mut scene = scene(&subject);
    let of_node =
        |session: &&mut LabSession| session.one.name.starts_with("cp") && !session.other.name.contains(':');
    for session in scene.sessions.iter_mut().filter(of_node) {
        (session.bfd, session.carries) = (false, false);
    }

    let built = as_built(&subject, &planned.1, &scene, &Here::default());
    let foreseen = Prediction::of(&built, &planned.1, &scene);

    let state = foreseen.state(None);
    assert!(state.sessions.iter().all(|up| *up), "{:?}", state.sessions);
    assert_eq!(paths(&state, "leaf1", "10.0.0.1/32"), None);
    assert_eq!(paths(&state, "cp1", "0.0.0.0/0"), None);
    assert_eq!(paths(&state, "cp1", "10.0.0.1/32"), Some(Paths::Own));
    assert!(foreseen.flows.is_empty());
    assert_eq!(foreseen.noticed(built.failure("cp1:fab0").unwrap()), 39_000);
}
