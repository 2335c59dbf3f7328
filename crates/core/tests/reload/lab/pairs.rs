//! Pairs of configurations, the first running and made into the second.

use std::collections::BTreeSet;

use ichor_core::cluster::section::Backend;

use crate::common::frr::Frr;
use crate::common::lab::{Machine, said};
use crate::common::routing::told;
use crate::common::vty::{compared, reload};

/// A machine whose daemons run nothing yet, with all that these files look for: ports, and addresses that zebra shall take as a
/// source.
pub fn idle(frr: Frr, confs: &[&str]) -> Machine {
    let machine = frr.machine();
    let all = |start: &str| -> BTreeSet<&str> {
        confs.iter().flat_map(|conf| conf.lines()).filter_map(|line| line.strip_prefix(start)).collect()
    };
    for port in all("interface ") {
        machine.ask(&format!("ip link add {port} type veth && ip link set {port} up"));
    }
    for address in all(" set src ") {
        machine.ask(&format!("ip address add {address} dev lo"));
    }
    frr.start(&machine, None);
    machine
}

/// Loads each file in turn, the first as FRR itself would, the others by what differs.
fn turned_into_each_other(frr: Frr, confs: &[(String, String)]) {
    let texts: Vec<_> = confs.iter().map(|(_, conf)| conf.as_str()).collect();
    let machine = idle(frr, &texts);
    let loaded = Frr::load(&machine, texts[0]);
    assert!(loaded.status.success(), "{}", said(&loaded));
    assert_eq!(compared(&machine, frr, texts[0]), Vec::<String>::new(), "{frr:?} {}", confs[0].0);
    for pair in confs.windows(2) {
        let (changes, against) = reload(&machine, frr, &pair[1].1);
        let state = || format!("{frr:?} {} -> {}: {against:#?}\n{changes:#?}", pair[0].0, pair[1].0);
        assert!(against.is_empty(), "{}", state());
        assert_eq!(compared(&machine, frr, &pair[1].1), Vec::<String>::new(), "{}", state());
    }
}

/// The files of all cases, there and back again.
fn there_and_back(frr: Frr) {
    let confs: Vec<_> =
        told(Backend::Frr).into_iter().map(|(name, service)| (name, service.files[0].text.clone())).collect();
    let back = confs.iter().rev().skip(1).cloned();
    turned_into_each_other(frr, &confs.iter().cloned().chain(back).collect::<Vec<_>>());
}

#[test]
fn frr_8_turns_every_case_into_every_next() {
    there_and_back(Frr::V8);
}

#[test]
fn frr_10_turns_every_case_into_every_next() {
    there_and_back(Frr::V10);
}
