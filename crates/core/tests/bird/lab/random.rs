//! BIRD with random clusters.

use ichor_values::Backend;
use proptest::prelude::*;

use super::bird::{Bird, NodeFile};
use super::{grammar, running};
use ichor_testbed::random::{self, holds_for};

/// Calls a function for every node of `count` clusters whose file is for a release.
fn of_any(bird: Bird, count: u32, ask: impl Fn(&NodeFile) -> Result<(), TestCaseError>) {
    let met = std::cell::Cell::new(0);
    holds_for(count, Backend::Bird, |random| {
        for random::NodeRouting { name, model, service } in random.render_nodes()? {
            if bird.reads(service.version) {
                met.set(met.get() + 1);
                ask(&NodeFile { name, conf: service.files[0].text.clone(), model })?;
            }
        }
        Ok(())
    });
    assert!(met.get() > count / 4, "only {} files are for {bird:?}", met.get());
}

fn can_be_read_by(bird: Bird) {
    let machine = bird.machine();
    of_any(bird, 80, |node_file| {
        let against = grammar::against(&machine, &node_file.conf);
        prop_assert!(against.is_empty(), "{} {}\n{}", node_file.name, against, node_file.conf);
        Ok(())
    });
}

fn is_run_by(bird: Bird) {
    of_any(bird, 12, |node_file| {
        running::is_run_by(bird, node_file);
        Ok(())
    });
}

#[test]
fn bird_2_0_can_read_any_cluster() {
    can_be_read_by(Bird::V2_0);
}

#[test]
fn bird_2_17_can_read_any_cluster() {
    can_be_read_by(Bird::V2_17);
}

#[test]
fn bird_2_0_runs_every_session_of_any_cluster() {
    is_run_by(Bird::V2_0);
}

#[test]
fn bird_2_17_runs_every_session_of_any_cluster() {
    is_run_by(Bird::V2_17);
}
