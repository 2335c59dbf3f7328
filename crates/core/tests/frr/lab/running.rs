//! The state of running daemons. The grammar is not enough: a daemon can reject a line or read it as another.

use ichor_bgp::render::{ConfigFile, Service};
use ichor_values::Backend;

use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, output_text};
use ichor_testbed::routing::services_of_backend;
use ichor_testbed::vty::compare_running;

/// The lines that running daemons lack, the additional ones, and their errors.
pub fn lost(frr: Frr, service: &Service) -> (Vec<String>, String) {
    let (conf, daemons) = (&service.files[0].text, &service.files[1].text);
    let machine = frr.machine();
    surroundings(&machine, conf);
    frr.start(&machine, Some(daemons));
    let loaded = Frr::load(&machine, conf);
    assert!(loaded.status.success(), "{frr:?}: {}\n{conf}", output_text(&loaded));
    (compare_running(&machine, frr, conf), output_text(&loaded))
}

/// The parts of a node that the daemons use: its ports, and the source addresses for zebra.
fn surroundings(machine: &LabMachine, conf: &str) {
    for line in conf.lines() {
        if let Some(port) = line.strip_prefix("interface ") {
            machine.ask(&format!("ip link add {port} type veth && ip link set {port} up"));
        }
        if let Some(address) = line.strip_prefix(" set src ") {
            machine.ask(&format!("ip address add {address} dev lo"));
        }
    }
}

fn every_line_is_run_by(frr: Frr) {
    for (name, service) in services_of_backend(Backend::Frr) {
        let (lost, said) = lost(frr, &service);
        assert!(lost.is_empty(), "{frr:?} {name}: {lost:#?}\n{said}");
    }
}

#[test]
fn frr_8_runs_every_line() {
    every_line_is_run_by(Frr::V8);
}

#[test]
fn frr_10_runs_every_line() {
    every_line_is_run_by(Frr::V10);
}

#[test]
fn a_line_that_frr_reads_as_another_is_detected() {
    let text = "router bgp 65001\n neighbor 10.0.0.1 remote-as 65002\n neighbor 10.0.0.1 timers 9 3\nexit\n";
    let file = |name, text: &str| ConfigFile { name, text: text.to_owned(), private: false };
    let files = vec![file("frr.conf", text), file("daemons", "")];
    let service = Service { name: "frr", version: (10, 3), folder: "/etc/frr", files };

    for frr in Frr::ALL {
        let (lost, _) = lost(frr, &service);

        let neighbor = "router bgp 65001 / neighbor 10.0.0.1";
        let want = [
            format!("bgpd lacks: {neighbor} timers 9 3"),
            format!("bgpd has besides: {neighbor} timers 1 3"),
        ];
        assert_eq!(lost, want, "{frr:?}");
    }
}
