//! FRR parses the files, without running.

use ichor_values::Backend;

use ichor_testbed::frr::{Frr, of_bgpd};
use ichor_testbed::lab::{LabMachine, output_text};
use ichor_testbed::routing::confs;

/// vtysh's objections to a file.
pub fn vtysh(machine: &LabMachine, conf: &str) -> Vec<String> {
    machine.write("/tmp/frr.conf", conf);
    let output = machine.run("vtysh -C -f /tmp/frr.conf");
    let mut against: Vec<_> = output_text(&output).lines().map(str::to_owned).collect();
    if !output.status.success() {
        against.push(output.status.to_string());
    }
    against
}

/// bgpd's objections to a file. It detects neighbours without AS number, unknown groups and a second AS number, which the
/// grammar does not, and always exits with 0.
pub fn bgpd(machine: &LabMachine, conf: &str) -> Vec<String> {
    machine.write("/tmp/bgpd.conf", &of_bgpd(conf));
    let said = output_text(&machine.run("/usr/lib/frr/bgpd -C -f /tmp/bgpd.conf"));
    let harmless = |line: &str| line.starts_with("Graceful restart configuration changed");
    said.lines().filter(|line| !harmless(line)).map(str::to_owned).collect()
}

#[test]
fn every_release_can_read_every_file() {
    for frr in Frr::ALL {
        let machine = frr.machine();
        for (name, conf) in confs(Backend::Frr) {
            assert_eq!(vtysh(&machine, &conf), Vec::<String>::new(), "{frr:?} {name}");
            assert_eq!(bgpd(&machine, &conf), Vec::<String>::new(), "{frr:?} {name}");
        }
    }
}

#[test]
fn an_invalid_frr_file_is_rejected() {
    for frr in Frr::ALL {
        let machine = frr.machine();

        let word = vtysh(&machine, "router bgp 65001\n neighbour 10.0.0.1 remote-as 65002\n");
        let meaning = bgpd(&machine, "router bgp 65001\n neighbor 10.0.0.1 timers 3 9\n");

        assert!(!word.is_empty() && !meaning.is_empty(), "{frr:?}");
    }
}

#[test]
fn frr_rejects_what_the_rules_report() {
    let prepend = |times: usize| {
        format!("route-map A permit 10\n set as-path prepend{}\nexit\n", " 4210001001".repeat(times))
    };
    let aggregate = |net: &str| {
        format!("router bgp 65001\n address-family ipv4 unicast\n  aggregate-address {net} summary-only\n")
    };
    for frr in Frr::ALL {
        let machine = frr.machine();

        assert_eq!(vtysh(&machine, &prepend(252)), Vec::<String>::new(), "{frr:?}");
        assert!(!vtysh(&machine, &prepend(253)).is_empty(), "{frr:?}");
        // Valid by the grammar, but rejected by the daemon.
        assert_eq!(vtysh(&machine, &aggregate("10.0.0.1/32")), Vec::<String>::new(), "{frr:?}");
        assert!(bgpd(&machine, &aggregate("10.0.0.1/32"))[0].contains("disallowing"), "{frr:?}");
        assert_eq!(bgpd(&machine, &aggregate("10.0.0.0/31")), Vec::<String>::new(), "{frr:?}");
    }
}
