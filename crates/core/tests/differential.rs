//! The proof against reality: random small fabrics, computed and run on real FRR. Needs root, `scripts/tools frr` and
//! `scripts/lab-root`.

mod common;

mod lab {
    use std::collections::{BTreeMap, BTreeSet};

    use ichor_core::prove::Subject;
    use ichor_core::prove::destination::{Destination, Kind};
    use ichor_core::prove::failure::Failure;
    use ichor_core::prove::spread::Spread;
    use ichor_core::routing::fabric::Found;
    use ichor_core::routing::network::Session;
    use ichor_core::routing::{Family, Model};
    use rand_chacha::ChaCha8Rng;
    use rand_core::{RngCore as _, SeedableRng as _};
    use serde_json::Value;

    use super::common::frr::Frr;
    use super::common::lab::{Machine, let_pass, said, wait_for};
    use super::common::routing::{PASSWORD, service_with};
    use super::common::{fabric, load_text, planned};

    /// Chooses one thing after the other, the same ones every time.
    struct Dice(ChaCha8Rng);

    impl Dice {
        fn new(seed: u8) -> Self {
            Self(ChaCha8Rng::from_seed([seed; 32]))
        }

        fn below(&mut self, count: usize) -> usize {
            usize::try_from(self.0.next_u32()).unwrap() % count
        }

        fn one_in(&mut self, count: usize) -> bool {
            self.below(count) == 0
        }
    }

    /// A cluster file with one to three leafs, up to two spines and two to four nodes, each on one or two leafs.
    fn fabric_of(dice: &mut Dice) -> String {
        let leafs = 1 + dice.below(3);
        let spines = dice.below(3);
        let nodes = 2 + dice.below(3);
        let shared_leaf_asn = dice.one_in(4);
        let mut text = String::from(
            "cluster: {name: dice, id: 5, talos: v1.13.9}\n\
             network:\n  node: null\n  api: {anycast: [10.5.9.100/32, \"fd00:5:a::100/128\"]}\n\
             \x20 services: {pools: {default: [198.51.100.0/24]}}\nfabric:\n  routers:\n",
        );
        for leaf in 1..=leafs {
            let asn = if shared_leaf_asn { 65100 } else { 65100 + leaf };
            text += &format!("  - {{name: leaf{leaf}, asn: {asn}}}\n");
        }
        for spine in 1..=spines {
            text += &format!("  - {{name: spine{spine}, role: spine, asn: 65200}}\n");
        }
        text += "routing: {backend: frr, workload: {speaker: metallb}}\ndefaults: {ports: [fab0, fab1]}\nnodes:\n";
        for node in 1..=nodes {
            text += &node_of(dice, node, leafs);
        }
        text
    }

    fn node_of(dice: &mut Dice, node: usize, leafs: usize) -> String {
        let first = 1 + dice.below(leafs);
        let second = 1 + dice.below(leafs);
        let mut neighbors = vec![format!("{{router: leaf{first}, link: fab0, bfd: false, timers: [1, 3]}}")];
        if second != first {
            neighbors.push(format!("{{router: leaf{second}, link: fab1, bfd: false, timers: [1, 3]}}"));
        }
        let mut routing = format!("neighbors: [{}]", neighbors.join(", "));
        if dice.one_in(4) {
            routing += ", asn: 4210005001";
        }
        match dice.below(8) {
            0 => routing += ", policy: {out: {prepend: 2}}",
            1 => routing += ", policy: {out: {communities: [no-export]}}",
            2 => routing += ", policy: {in: {allow: [0.0.0.0/1, \"fd00::/8\"]}}",
            3 => routing += ", advertise: [loopback]",
            4 => routing += ", aggregates: [10.5.254.0/24]",
            _ => {}
        }
        let role = if node == 1 || dice.one_in(2) { "controlplane" } else { "worker" };
        format!(
            "- {{name: n{node}, role: {role}, index: {node}, macs: [\"02:00:00:00:0{node}:01\", \"02:00:00:00:0{node}:02\"], routing: {{{routing}}}}}\n"
        )
    }

    /// What someone does with a prefix: its next hops by name, and the length of its path.
    type Way = (BTreeSet<String>, usize);

    /// Real machines for everyone in the fabric.
    struct Reality {
        subject: Subject,
        machines: BTreeMap<String, Machine>,
        names: BTreeMap<String, String>,
    }

    impl Reality {
        fn new(text: &str, dice: &mut Dice) -> Self {
            let (cluster, plan) = planned(load_text(text));
            let subject = Subject::of(&cluster, &plan).unwrap();
            let mut confs: BTreeMap<String, String> = fabric::files_of(text)
                .unwrap()
                .into_iter()
                .filter_map(|file| {
                    let name = file.path.strip_prefix("fabric/")?.strip_suffix("/frr.conf")?.to_owned();
                    Some((name, file.text))
                })
                .collect();
            for model in &subject.network.nodes {
                let node = &plan.nodes[model.nth];
                let service = service_with(&cluster, &plan, node, &|_| Ok(PASSWORD.to_owned()));
                confs.insert(node.name.to_string(), service.unwrap().unwrap().files[0].text.clone());
            }
            let releases: Vec<(String, Frr)> =
                confs.keys().map(|name| (name.clone(), Frr::ALL[dice.below(2)])).collect();
            let machines = releases.iter().map(|(name, frr)| (name.clone(), frr.machine())).collect();
            let ids = subject.graph.vertices.iter();
            let names =
                ids.map(|it| (std::net::Ipv4Addr::from(it.id).to_string(), it.name.clone())).collect();
            let reality = Self { subject, machines, names };
            reality.connect();
            for (name, frr) in releases {
                let machine = &reality.machines[&name];
                frr.start(machine, None);
                let loaded = Frr::load(machine, &confs[&name]);
                assert!(loaded.status.success(), "{name}: {}\n{}", said(&loaded), confs[&name]);
            }
            reality.serve();
            reality
        }

        /// The cables, and the addresses that nodes announce. There are no dummy links here: lo has them all.
        fn connect(&self) {
            let network = &self.subject.network;
            for Session(one, other) in &network.sessions {
                let port = |end| match &network.at(end).found {
                    Found::Port { name, .. } => name.to_string(),
                    Found::Address { .. } => unreachable!("only ports are made here"),
                };
                let far = &self.machines[network.name(*other)];
                self.machines[network.name(*one)].cable(&port(*one), far, &port(*other));
            }
            for model in &network.nodes {
                for announced in &model.fabric.announced {
                    self.machines[model.name.as_str()]
                        .ask(&format!("ip address add {} dev lo", announced.net));
                }
            }
        }

        /// Speakers: the kernel here has no VRF to run one in, so each node is told what its own would have sent.
        fn serve(&self) {
            for target in self.subject.destinations.iter().filter(|it| matches!(it.kind, Kind::Service(_))) {
                for origin in &target.origins {
                    let model: &Model = &self.subject.network.nodes[origin.vertex as usize];
                    let asn = origin.speaker.unwrap();
                    for net in &target.nets {
                        self.machines[model.name.as_str()].ask(&format!(
                            "vtysh -c 'configure terminal' -c 'route-map SAID permit 10' -c 'set as-path prepend {asn}' -c exit \
                             -c 'router bgp {}' -c 'no bgp network import-check' -c 'address-family ipv4 unicast' \
                             -c 'network {net} route-map SAID'",
                            model.asn
                        ));
                    }
                }
            }
        }

        /// What everyone really does with a destination.
        fn real(&self, target: &Destination) -> BTreeMap<String, Way> {
            let net = target.nets[0];
            let family = if Family::of(net) == Family::V4 { "ipv4" } else { "ipv6" };
            let of = |(name, machine): (&String, &Machine)| {
                let said = machine.run(&format!("vtysh -c 'show bgp {family} unicast {net} json'"));
                let table: Value = serde_json::from_slice(&said.stdout).unwrap_or_default();
                (name.clone(), self.way(&table))
            };
            self.machines.iter().map(of).collect()
        }

        /// From FRR's words: routes that are used, by their neighbours' router ids.
        fn way(&self, table: &Value) -> Way {
            let paths = table["paths"].as_array().cloned().unwrap_or_default();
            let used = |path: &&Value| path["multipath"] == true || path["bestpath"]["overall"] == true;
            let mut next = BTreeSet::new();
            let mut length = 0;
            for path in paths.iter().filter(used) {
                let foreign = path["peer"]["type"] == "external";
                let id = path["peer"]["routerId"].as_str().unwrap_or_default();
                next.insert(if foreign { self.names[id].clone() } else { "itself".to_owned() });
                length = usize::try_from(path["aspath"]["length"].as_u64().unwrap_or_default()).unwrap();
            }
            (next, length)
        }

        /// What everyone is computed to do with a destination when something failed.
        fn computed(&self, target: &Destination, failures: &[Failure]) -> BTreeMap<String, Way> {
            let graph = &self.subject.graph;
            let mut spread = Spread::new(graph);
            assert!(spread.settle(target), "{:?} never comes to rest", target.nets);
            let mut ways = BTreeMap::new();
            spread.without(failures, |spread| {
                for (vertex, at) in (0..).zip(&graph.vertices) {
                    let next = spread.next(vertex).into_iter().map(|edge| {
                        let far = graph.edges[edge as usize].other(vertex);
                        graph.vertices[far as usize].name.clone()
                    });
                    let mut next: BTreeSet<String> = next.collect();
                    if spread.is_own(vertex) {
                        next.insert("itself".to_owned());
                    }
                    ways.insert(at.name.clone(), (next, spread.length(vertex)));
                }
            });
            ways
        }

        /// Waits until everyone does what is computed, for every destination, and looks again a second later.
        fn agree(&self, what: &str, failures: &[Failure]) {
            let differs = || {
                let of = |target: &Destination| {
                    let (real, computed) = (self.real(target), self.computed(target, failures));
                    (real != computed)
                        .then(|| format!("{:?}\n real     {real:?}\n computed {computed:?}", target.nets))
                };
                self.subject.destinations.iter().filter(|target| !target.is_hidden()).find_map(of)
            };
            wait_for(what, || differs().is_none(), || differs().unwrap_or_default());
            let_pass(1);
            assert_eq!(differs(), None, "{what}");
        }
    }

    /// A random fabric: as computed with everything up, and without each of two links.
    fn agrees(seed: u8) {
        let mut dice = Dice::new(seed);
        let text = fabric_of(&mut dice);
        let reality = Reality::new(&text, &mut dice);
        reality.agree(&format!("everything up in\n{text}"), &[]);
        for _ in 0..2 {
            let edge = u32::try_from(dice.below(reality.subject.graph.edges.len())).unwrap();
            let Session(one, _) =
                reality.subject.network.sessions[reality.subject.graph.edges[edge as usize].session];
            let Found::Port { name: port, .. } = &reality.subject.network.at(one).found else { continue };
            let machine = &reality.machines[reality.subject.network.name(one)];
            let name = reality.subject.name(Failure::Edge(edge));

            machine.ask(&format!("ip link set {port} down"));
            reality.agree(&format!("without {name} in\n{text}"), &[Failure::Edge(edge)]);
            machine.ask(&format!("ip link set {port} up"));
        }
    }

    #[test]
    fn real_frr_does_what_is_computed_1() {
        agrees(1);
    }

    #[test]
    fn real_frr_does_what_is_computed_2() {
        agrees(2);
    }

    #[test]
    fn real_frr_does_what_is_computed_3() {
        agrees(3);
    }

    #[test]
    fn real_frr_does_what_is_computed_4() {
        agrees(4);
    }
}
