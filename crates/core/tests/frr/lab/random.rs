//! FRR with random clusters.

use ichor_values::Backend;
use proptest::prelude::*;

use super::{grammar, running};
use ichor_testbed::frr::Frr;
use ichor_testbed::random::{NodeRouting, holds_for};

fn can_be_read_by(frr: Frr) {
    let machine = frr.machine();
    holds_for(40, Backend::Frr, |random| {
        for NodeRouting { name, service, .. } in random.render_nodes()? {
            let conf = &service.files[0].text;
            let against = [grammar::vtysh(&machine, conf), grammar::bgpd(&machine, conf)].concat();
            prop_assert!(against.is_empty(), "{} {:#?}\n{}", name, against, conf);
        }
        Ok(())
    });
}

fn is_run_by(frr: Frr) {
    holds_for(8, Backend::Frr, |random| {
        for NodeRouting { name, service, .. } in random.render_nodes()? {
            let (lost, said) = running::lost(frr, &service);
            prop_assert!(lost.is_empty(), "{} {:#?}\n{}", name, lost, said);
        }
        Ok(())
    });
}

#[test]
fn frr_8_can_read_any_cluster() {
    can_be_read_by(Frr::V8);
}

#[test]
fn frr_10_can_read_any_cluster() {
    can_be_read_by(Frr::V10);
}

#[test]
fn frr_8_runs_every_line_of_any_cluster() {
    is_run_by(Frr::V8);
}

#[test]
fn frr_10_runs_every_line_of_any_cluster() {
    is_run_by(Frr::V10);
}
