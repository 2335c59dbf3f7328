//! Pairs of configurations, the first of which runs and is turned into the second.

use std::collections::BTreeSet;

use ichor_values::Backend;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, output_text};
use ichor_testbed::random::{RandomCluster, holds_for_pairs};
use ichor_testbed::routing::services_of_backend;
use ichor_testbed::vty::{compare_running, reload};

/// A machine whose daemons have no configuration, with all objects that these files refer to: ports, and source addresses for
/// zebra.
pub fn idle(frr: Frr, confs: &[&str]) -> LabMachine {
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

/// The errors of loading each file in turn, the first completely, the others by their difference.
pub fn wrong(frr: Frr, confs: &[(String, String)]) -> Vec<String> {
    let texts: Vec<_> = confs.iter().map(|(_, conf)| conf.as_str()).collect();
    let machine = idle(frr, &texts);
    let loaded = Frr::load(&machine, texts[0]);
    assert!(loaded.status.success(), "{}", output_text(&loaded));
    let mut wrong = compare_running(&machine, frr, texts[0]);
    for pair in confs.windows(2) {
        let (changes, against) = reload(&machine, frr, &pair[1].1);
        wrong.extend(against);
        wrong.extend(compare_running(&machine, frr, &pair[1].1));
        if !wrong.is_empty() {
            wrong.push(format!("{frr:?} {} -> {}", pair[0].0, pair[1].0));
            wrong
                .extend(changes.iter().map(|(daemon, change)| format!("{daemon} received: {}", change.line)));
            break;
        }
    }
    wrong
}

/// The files of all cases, forward and back.
fn there_and_back(frr: Frr) {
    let confs: Vec<_> = services_of_backend(Backend::Frr)
        .into_iter()
        .map(|(name, service)| (name, service.files[0].text.clone()))
        .collect();
    let back = confs.iter().rev().skip(1).cloned();
    let wrong = wrong(frr, &confs.iter().cloned().chain(back).collect::<Vec<_>>());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Two random clusters, forward and back.
fn any_pair(frr: Frr) {
    let confs = |random: &RandomCluster| {
        let applied = random
            .render_nodes()?
            .into_iter()
            .map(|applied| (applied.name, applied.service.files[0].text.clone()));
        Ok::<Vec<_>, TestCaseError>(applied.collect())
    };
    holds_for_pairs(12, Backend::Frr, |one, other| {
        let mut all = [confs(one)?, confs(other)?].concat();
        all.extend(all.first().cloned());
        if !all.is_empty() {
            let wrong = wrong(frr, &all);
            prop_assert!(wrong.is_empty(), "{:#?}\n{:#?}", wrong, all);
        }
        Ok(())
    });
}

#[test]
fn frr_8_turns_any_cluster_into_any_other() {
    any_pair(Frr::V8);
}

#[test]
fn frr_10_turns_any_cluster_into_any_other() {
    any_pair(Frr::V10);
}

#[test]
fn frr_8_turns_every_case_into_every_next() {
    there_and_back(Frr::V8);
}

#[test]
fn frr_10_turns_every_case_into_every_next() {
    there_and_back(Frr::V10);
}
