//! Both ends of sessions on real FRR. Needs root, `scripts/tools frr` and `scripts/lab-root`.

mod lab {
    use std::collections::BTreeMap;

    use ichor_core::render::artifact::Artifact;
    use proptest::prelude::*;
    use serde_json::Value;

    use ichor_testbed::frr::{Frr, of_bgpd};
    use ichor_testbed::lab::{LabMachine, output_text, wait_for};
    use ichor_testbed::random::holds_around;
    use ichor_testbed::routing::{PASSWORD, service_with};
    use ichor_testbed::vty::compare_running;
    use ichor_testbed::{fabric, folder, planned_case};

    fn of_frr(file: &Artifact) -> bool {
        file.path.ends_with("/frr.conf") || file.path.ends_with("/frr.conf.local")
    }

    /// Every configuration of FRR on a router, by case and path.
    fn confs() -> Vec<(String, String)> {
        let of_case = |case: std::path::PathBuf| {
            let name = case.file_name().unwrap().to_str().unwrap().to_owned();
            let files = fabric::files(&case).into_iter().filter(of_frr);
            files
                .map(move |file| (format!("{name} {}", file.path), file.text().unwrap().to_owned()))
                .collect::<Vec<_>>()
        };
        fabric::cases().into_iter().flat_map(of_case).collect()
    }

    /// FRR's objections to a file.
    fn against(machine: &LabMachine, conf: &str) -> String {
        machine.write("/tmp/frr.conf", conf);
        machine.write("/tmp/bgpd.conf", &of_bgpd(conf));
        let grammar = machine.run("vtysh -C -f /tmp/frr.conf");
        let meaning = machine.run("/usr/lib/frr/bgpd -C -f /tmp/bgpd.conf");
        let failed = if grammar.status.success() { String::new() } else { grammar.status.to_string() };
        failed + &output_text(&grammar) + &output_text(&meaning)
    }

    #[test]
    fn every_release_can_read_every_router() {
        for frr in Frr::ALL {
            let machine = frr.machine();
            for (name, conf) in confs() {
                assert_eq!(against(&machine, &conf), "", "{frr:?} {name}");
            }
        }
    }

    fn any_router_can_be_read_by(frr: Frr) {
        let machine = frr.machine();
        holds_around(40, |random| {
            for file in random.render_fabric().unwrap().iter().filter(|file| of_frr(file)) {
                let against = against(&machine, file.text().unwrap());
                prop_assert!(against.is_empty(), "{} {}\n{}", file.path, against, file.text().unwrap());
            }
            Ok(())
        });
    }

    #[test]
    fn frr_8_can_read_any_router() {
        any_router_can_be_read_by(Frr::V8);
    }

    #[test]
    fn frr_10_can_read_any_router() {
        any_router_can_be_read_by(Frr::V10);
    }

    fn every_line_is_run_by(frr: Frr) {
        for (name, conf) in confs() {
            let machine = frr.machine();
            for port in conf.lines().filter_map(|line| line.strip_prefix("interface ")) {
                machine.ask(&format!("ip link add {port} type veth && ip link set {port} up"));
            }
            frr.start(&machine, None);

            let loaded = Frr::load(&machine, &conf);

            assert!(loaded.status.success(), "{frr:?} {name}: {}", output_text(&loaded));
            assert_eq!(compare_running(&machine, frr, &conf), Vec::<String>::new(), "{frr:?} {name}");
        }
    }

    #[test]
    fn frr_8_runs_every_line_of_a_router() {
        every_line_is_run_by(Frr::V8);
    }

    #[test]
    fn frr_10_runs_every_line_of_a_router() {
        every_line_is_run_by(Frr::V10);
    }

    /// The case `fabric/wire` as written: every machine has only its own file.
    struct Wire(BTreeMap<&'static str, LabMachine>);

    impl Wire {
        fn new() -> Self {
            let releases = [
                ("n1", Frr::V8),
                ("n2", Frr::V10),
                ("leaf1", Frr::V8),
                ("leaf2", Frr::V10),
                ("spine1", Frr::V10),
                ("gw", Frr::V10),
            ];
            let wire = Self(releases.map(|(name, frr)| (name, frr.machine())).into_iter().collect());
            wire.connect();
            let confs = wire_confs();
            for (name, frr) in releases {
                let machine = &wire.0[name];
                machine.ask(
                    "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding",
                );
                frr.start(machine, None);
                let loaded = Frr::load(machine, &confs[name]);
                assert!(loaded.status.success(), "{name}: {}", output_text(&loaded));
            }
            wire
        }

        /// The intended cables of the file, and the network that nodes and gateway share.
        fn connect(&self) {
            let cables = [
                ("n1", "fab0", "leaf1", "swp1"),
                ("n2", "fab0", "leaf1", "swp2"),
                ("n1", "fab1", "leaf2", "swp1"),
                ("n2", "fab1", "leaf2", "swp2"),
                ("leaf1", "swp3", "spine1", "swp1"),
                ("leaf2", "swp3", "spine1", "swp2"),
                ("n1", "eth0", "gw", "to-n1"),
                ("n2", "eth0", "gw", "to-n2"),
            ];
            for (one, port, other, theirs) in cables {
                self.0[one].cable(port, &self.0[other], theirs);
            }
            for (nth, name) in [(1, "n1"), (2, "n2")] {
                self.0[name].ask(&format!(
                    "ip address add 10.5.254.{nth}/32 dev lo; ip address add fd00:5:fe::{nth}/128 dev lo\n\
                     ip address add 10.5.0.{nth}/24 dev eth0; ip address add fd00:5::{nth}/64 dev eth0 nodad"
                ));
            }
            self.0["gw"].ask(
                "ip link add lan type bridge && ip link set lan up\n\
                 ip link set to-n1 master lan && ip link set to-n2 master lan\n\
                 ip address add fd00:5::fffe/64 dev lan nodad",
            );
        }

        /// The number of paths of a machine to a prefix, all used at once.
        fn paths(&self, name: &str, prefix: &str) -> usize {
            let family = if prefix.contains(':') { "ipv6" } else { "ipv4" };
            let table = self.0[name].ask(&format!("vtysh -c 'show bgp {family} unicast {prefix} json'"));
            let table: Value = serde_json::from_str(&table).unwrap_or_default();
            let paths = table["paths"].as_array().cloned().unwrap_or_default();
            let used = |path: &&Value| path["multipath"] == true || path["bestpath"]["overall"] == true;
            paths.iter().filter(used).count()
        }

        fn state(&self) -> String {
            let of = |(name, machine): (&&str, &LabMachine)| {
                format!("{name}: {}", machine.ask("vtysh -c 'show bgp summary'; vtysh -c 'show bgp ipv4'"))
            };
            self.0.iter().map(of).collect::<Vec<_>>().join("\n")
        }
    }

    /// The files of all machines of the case.
    fn wire_confs() -> BTreeMap<String, String> {
        let case = folder("cases/fabric-wire");
        let (cluster, plan) = planned_case(&case, "ichor.yaml");
        let routers = fabric::files(&case).into_iter().filter_map(|file| {
            let name = file.path.strip_prefix("fabric/")?.strip_suffix("/frr.conf")?.to_owned();
            Some((name, file.text().unwrap().to_owned()))
        });
        let nodes = plan.nodes.iter().map(|node| {
            let service = service_with(&cluster, &plan, node, &|_| Ok(PASSWORD.to_owned())).unwrap().unwrap();
            (node.name.to_string(), service.files[0].text.clone())
        });
        routers.chain(nodes).collect()
    }

    /// Loopbacks of both nodes in both families.
    const LOOPBACKS: [&str; 4] = ["10.5.254.1/32", "10.5.254.2/32", "fd00:5:fe::1/128", "fd00:5:fe::2/128"];

    #[test]
    fn both_ends_as_written_exchange_both_families() {
        let wire = Wire::new();

        // One path on the neighbours of a node, two on the spine; three default routes on a node.
        let arrived = || {
            let at = |name, count| LOOPBACKS.iter().all(|net| wire.paths(name, net) == count);
            let out = |name| ["0.0.0.0/0", "::/0"].iter().all(|net| wire.paths(name, net) == 3);
            at("leaf1", 1) && at("leaf2", 1) && at("gw", 1) && at("spine1", 2) && out("n1") && out("n2")
        };
        wait_for("everything everywhere", arrived, || wire.state());

        let bfd = wire.0["leaf1"].ask("vtysh -c 'show bfd peers json'");
        assert_eq!(bfd.matches("\"status\":\"up\"").count(), 1, "{bfd}");
    }

    #[test]
    fn routers_reject_prefixes_that_no_node_may_announce() {
        let wire = Wire::new();
        wait_for("a session", || wire.paths("leaf1", LOOPBACKS[0]) == 1, || wire.state());

        wire.0["n1"].ask(
            "vtysh -c 'configure terminal' -c 'router bgp 4210005001' -c 'no bgp network import-check' \
             -c 'address-family ipv4 unicast' -c 'network 8.8.8.8/32' -c 'network 10.5.254.77/32'",
        );
        // An address of the loopbacks' prefix is accepted, so the other one has had enough time.
        let arrived = || ["leaf1", "leaf2", "gw"].iter().all(|name| wire.paths(name, "10.5.254.77/32") == 1);
        wait_for("what may be announced", arrived, || wire.state());

        for name in ["leaf1", "leaf2", "gw", "spine1", "n2"] {
            assert_eq!(wire.paths(name, "8.8.8.8/32"), 0, "{name}");
        }
    }
}
