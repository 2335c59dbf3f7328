//! What running daemons make of what they are told. Grammar is not enough: a daemon can refuse a line or take it for another.

use ichor_core::cluster::section::Backend;
use ichor_core::render::routing::{File, Service};

use crate::common::frr::{Frr, lines};
use crate::common::lab::{Machine, said};
use crate::common::routing::told;

/// The lines of a service that running daemons do not have, and what they said when they were told.
pub fn lost(frr: Frr, service: &Service) -> (Vec<String>, String) {
    let (conf, daemons) = (&service.files[0].text, &service.files[1].text);
    let machine = frr.machine();
    surroundings(&machine, conf);
    frr.start(&machine, Some(daemons));
    let loaded = Frr::load(&machine, conf);
    assert!(loaded.status.success(), "{frr:?}: {}\n{conf}", said(&loaded));
    let running = lines(&machine.ask("vtysh -c 'show running-config'"));
    let lost = lines(conf).difference(&running).filter(|line| !goes_without_saying(line)).cloned().collect();
    (lost, said(&loaded))
}

/// What of a node the daemons look at: its ports, and the addresses that zebra shall take as a source.
fn surroundings(machine: &Machine, conf: &str) {
    for line in conf.lines() {
        if let Some(port) = line.strip_prefix("interface ") {
            machine.ask(&format!("ip link add {port} type veth && ip link set {port} up"));
        }
        if let Some(address) = line.strip_prefix(" set src ") {
            machine.ask(&format!("ip address add {address} dev lo"));
        }
    }
}

/// What FRR does anyway and therefore does not repeat; a port is a name without dots and colons.
fn goes_without_saying(line: &str) -> bool {
    let unnumbered = |text: &str| {
        let port = text
            .split_once(" / neighbor ")
            .and_then(|(_, rest)| rest.strip_suffix(" capability extended-nexthop"));
        port.is_some_and(|port| !port.contains([':', '.']) && port.chars().any(|c| c.is_ascii_lowercase()))
    };
    let defaults = ["/ detect-multiplier 3", "/ receive-interval 300", "/ transmit-interval 300"];
    line.starts_with("hostname ")
        || unnumbered(line)
        || defaults.iter().any(|default| line.ends_with(default))
}

fn every_line_is_run_by(frr: Frr) {
    for (name, service) in told(Backend::Frr) {
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
fn a_line_that_is_taken_for_another_is_noticed() {
    let text = "router bgp 65001\n neighbor 10.0.0.1 remote-as 65002\n neighbor 10.0.0.1 timers 9 3\nexit\n";
    let file = |name, text: &str| File { name, text: text.to_owned(), private: false };
    let files = vec![file("frr.conf", text), file("daemons", "")];
    let service = Service { name: "frr", version: (10, 3), folder: "/etc/frr", files };

    for frr in Frr::ALL {
        let (lost, _) = lost(frr, &service);

        assert_eq!(lost, ["router bgp 65001 / neighbor 10.0.0.1 timers 9 3"], "{frr:?}");
    }
}
