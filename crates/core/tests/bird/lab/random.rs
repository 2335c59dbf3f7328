//! What BIRD makes of clusters that nobody thought of.

use ichor_values::Backend;
use proptest::prelude::*;

use super::bird::{Bird, Told};
use super::{grammar, running};
use ichor_testbed::random::{self, holds_for};

/// Asks something of every node of `count` clusters whose file is meant for a release.
fn of_any(bird: Bird, count: u32, ask: impl Fn(&Told) -> Result<(), TestCaseError>) {
    let met = std::cell::Cell::new(0);
    holds_for(count, Backend::Bird, |random| {
        for random::NodeRouting { name, model, service } in random.told()? {
            if bird.reads(service.version) {
                met.set(met.get() + 1);
                ask(&Told { name, conf: service.files[0].text.clone(), model })?;
            }
        }
        Ok(())
    });
    assert!(met.get() > count / 4, "only {} files are for {bird:?}", met.get());
}

fn can_be_read_by(bird: Bird) {
    let machine = bird.machine();
    of_any(bird, 80, |told| {
        let against = grammar::against(&machine, &told.conf);
        prop_assert!(against.is_empty(), "{} {}\n{}", told.name, against, told.conf);
        Ok(())
    });
}

fn is_run_by(bird: Bird) {
    of_any(bird, 12, |told| {
        running::is_run_by(bird, told);
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
