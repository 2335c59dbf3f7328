//! The proof against reality: random small fabrics, computed and run on real FRR. Needs root, `scripts/tools frr` and
//! `scripts/lab-root`.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real programs read files and take time"
)]

mod common;

mod lab {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Instant;

    use ichor_core::prove::Subject;
    use ichor_core::prove::destination::{Destination, Kind, Source};
    use ichor_core::prove::failure::Failure;
    use ichor_core::prove::spread::Spread;
    use ichor_core::routing::fabric::Found;
    use ichor_core::routing::network::Session;
    use ichor_core::routing::{Family, Model};
    use ipnet::IpNet;
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
        /// Everyone with running daemons, and what each is to read; `release` says which FRR someone has.
        fn new(text: &str, mut release: impl FnMut() -> Frr) -> (Self, BTreeMap<String, String>) {
            let (cluster, plan) = planned(load_text(text));
            let subject = Subject::of(&cluster, &plan).unwrap();
            let mut confs: BTreeMap<String, String> = fabric::files_of(text)
                .unwrap()
                .into_iter()
                .filter_map(|file| {
                    let name = file.path.strip_prefix("fabric/")?.strip_suffix("/frr.conf")?.to_owned();
                    Some((name, file.text().unwrap().to_owned()))
                })
                .collect();
            for model in &subject.network.nodes {
                let node = &plan.nodes[model.nth];
                let service = service_with(&cluster, &plan, node, &|_| Ok(PASSWORD.to_owned()));
                confs.insert(node.name.to_string(), service.unwrap().unwrap().files[0].text.clone());
            }
            let releases: Vec<(String, Frr)> = confs.keys().map(|name| (name.clone(), release())).collect();
            let machines = releases.iter().map(|(name, frr)| (name.clone(), frr.machine())).collect();
            let ids = subject.graph.vertices.iter();
            let names =
                ids.map(|it| (std::net::Ipv4Addr::from(it.id).to_string(), it.name.clone())).collect();
            let reality = Self { subject, machines, names };
            reality.connect();
            for (name, frr) in releases {
                frr.start(&reality.machines[&name], None);
            }
            (reality, confs)
        }

        /// Tells everyone what to do, all at once.
        fn load(&self, confs: &BTreeMap<String, String>) {
            std::thread::scope(|threads| {
                for (name, machine) in &self.machines {
                    threads.spawn(move || {
                        let loaded = Frr::load(machine, &confs[name]);
                        assert!(loaded.status.success(), "{name}: {}\n{}", said(&loaded), confs[name]);
                    });
                }
            });
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
                    let Source::Speaker(asn) = origin.source else { continue };
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

        /// Whether everyone has a best route to every prefix, and nodes a default route besides.
        fn has_everything(&self) -> bool {
            let nets = self.subject.destinations.iter().flat_map(|target| &target.nets);
            let (v4, v6): (Vec<IpNet>, Vec<IpNet>) =
                nets.copied().partition(|net| Family::of(*net) == Family::V4);
            self.machines.iter().all(|(name, machine)| {
                let node = self.subject.network.nodes.iter().any(|model| model.name.as_str() == name);
                let full = |family: &str, count: usize| {
                    let said = machine.run(&format!("vtysh -c 'show bgp {family} unicast json'"));
                    let table: Value = serde_json::from_slice(&said.stdout).unwrap_or_default();
                    table["routes"]
                        .as_object()
                        .is_some_and(|routes| routes.len() == count + usize::from(node))
                };
                full("ipv4", v4.len()) && full("ipv6", v6.len())
            })
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
        let (reality, confs) = Reality::new(&text, || Frr::ALL[dice.below(2)]);
        reality.load(&confs);
        reality.serve();
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

    /// Seconds that real FRR takes on a fabric of 30 nodes and two leafs, from reading its files until everyone has everything.
    pub fn seconds_on_thirty_nodes() -> f64 {
        let text = rack(30);
        let (reality, confs) = Reality::new(&text, || Frr::V10);
        let start = Instant::now();
        reality.load(&confs);
        wait_for("everything everywhere", || reality.has_everything(), String::new);
        start.elapsed().as_secs_f64()
    }

    /// Nodes with two ports on two leafs.
    pub fn rack(nodes: usize) -> String {
        let head = "cluster: {name: rack, id: 1, talos: v1.13.9}\n\
             network: {digits: value, node: null, loopback: {v4: 10.64.0.0/12}, api: {anycast: [10.0.0.100/32]}}\n\
             fabric: {routers: [{name: leaf1, asn: 65101}, {name: leaf2, asn: 65102}]}\n\
             routing: {backend: frr, asn: 4210000000, router_id: 10.128.0.0}\ndefaults: {ports: [fab0, fab1]}\nnodes:\n";
        (1..=nodes).fold(head.to_owned(), |text, node| text + &named_node(node, ""))
    }

    /// Nodes with two ports on a pair of 50 leafs, under four spines.
    pub fn clos(nodes: usize) -> String {
        let leafs: Vec<String> =
            (1..=50).map(|nth| format!("  - {{name: leaf{nth}, asn: {}}}\n", 65100 + nth)).collect();
        let spines: Vec<String> =
            (1..=4).map(|nth| format!("  - {{name: spine{nth}, role: spine, asn: 65000}}\n")).collect();
        let routers = [leafs, spines].concat().concat();
        let head = format!(
            "cluster: {{name: clos, id: 1, talos: v1.13.9}}\n\
             network: {{digits: value, node: null, loopback: {{v4: 10.64.0.0/12}}, api: {{anycast: [10.0.0.100/32]}}}}\n\
             fabric:\n  routers:\n{routers}\
             routing: {{backend: frr, asn: 4210000000, router_id: 10.128.0.0}}\ndefaults: {{ports: [fab0, fab1]}}\nnodes:\n"
        );
        (1..=nodes).fold(head, |text, node| {
            let leaf = node % 25 * 2 + 1;
            let neighbors =
                format!("{{router: leaf{leaf}, link: fab0}}, {{router: leaf{}, link: fab1}}", leaf + 1);
            text + &named_node(node, &format!(", routing: {{neighbors: [{neighbors}]}}"))
        })
    }

    fn named_node(node: usize, more: &str) -> String {
        let role = if node <= 3 { "controlplane" } else { "worker" };
        let (high, low) = (node / 256, node % 256);
        format!(
            "- {{name: n{node}, role: {role}, index: {node}, \
             macs: [\"02:00:00:{high:02x}:{low:02x}:00\", \"02:00:00:{high:02x}:{low:02x}:01\"]{more}}}\n"
        )
    }
}

/// `make bench` runs this: the proof of a large fabric beside real FRR on a small one.
mod bench {
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::lab::{clos, rack, seconds_on_thirty_nodes};

    /// Seconds and KiB of `ichor prove`, every single failure included.
    fn proved(text: &str) -> (f64, u64) {
        let folder = std::env::temp_dir().join(format!("ichor-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("ichor.yaml"), text).unwrap();
        let ichor = std::env::var("ICHOR").expect("ICHOR is the released program: use `make bench`");
        let start = Instant::now();
        let mut command = Command::new("/usr/bin/time");
        command.args(["-f", "%M", &ichor, "prove"]).current_dir(&folder).stdout(Stdio::null());
        let run = command.output().unwrap();
        let seconds = start.elapsed().as_secs_f64();
        std::fs::remove_dir_all(&folder).unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.success(), "{said}");
        (seconds, said.trim().parse().unwrap())
    }

    #[test]
    fn a_thousand_nodes_are_proved_before_real_frr_has_converged_on_thirty() {
        let mut thousand = 0.0;
        let sizes = [
            ("50 nodes, 2 leafs", rack(50)),
            ("1,000 nodes, 2 leafs", rack(1000)),
            ("1,000 nodes, 50 leafs, 4 spines", clos(1000)),
        ];
        for (name, text) in sizes {
            let (seconds, memory) = proved(&text);
            println!("prove, every single failure, {name}: {seconds:.2} s, {} MiB", memory / 1024);
            thousand = f64::max(thousand, seconds);
        }
        let real = seconds_on_thirty_nodes();
        println!(
            "real FRR, 30 nodes, 2 leafs, converging once: {real:.2} s, {:.1} times as long",
            real / thousand
        );

        assert!(thousand < real);
    }
}
