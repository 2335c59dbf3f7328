//! Random fabrics, predicted and real.

mod dice;
mod fabric;
pub mod reality;
mod way;

use std::collections::BTreeSet;

use ichor_core::prove::failure::Failure;

use dice::Dice;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{wait_for, wait_seconds};
use reality::Reality;

impl Reality {
    /// Waits until all routes match the prediction, and checks again a second later.
    fn agree(&self, what: &str, failures: &[Failure]) {
        wait_for(what, || self.differences(failures).is_empty(), || self.differences(failures).join("\n"));
        wait_seconds(1);
        assert_eq!(self.differences(failures).join("\n"), "", "{what}");
    }

    /// A possible failure, of a kind that the dice select.
    fn failure(&self, dice: &mut Dice) -> Failure {
        let kinds = ["router", "node", "link", "link", "link", "speaker"];
        let kind = dice.one_of(&kinds);
        let graph = &self.subject.graph;
        let of_kind: Vec<Failure> =
            self.subject.failures().into_iter().filter(|failure| failure.kind(graph) == kind).collect();
        if of_kind.is_empty() { Failure::Vertex(0) } else { dice.one_of(&of_kind) }
    }
}

/// A random fabric: compared with everything up, with one failure and with two.
fn agrees(seed: u8) {
    let mut dice = Dice::new(seed);
    let text = fabric::roll(&mut dice);
    let reality = Reality::new(&text, || dice.one_of(&Frr::ALL));
    reality.load();
    reality.agree(&format!("everything up in\n{text}"), &[]);
    if reality.is_plain() {
        let differs = || reality.differences_in_kernel();
        wait_for("the kernel's ways", || differs().is_empty(), || differs().join("\n"));
    }
    for count in 1..=2 {
        let failures: Vec<Failure> = (0..count).map(|_| reality.failure(&mut dice)).collect();
        let names: Vec<String> = failures.iter().map(|failure| reality.subject.name(*failure)).collect();
        for failure in &failures {
            reality.set(*failure, false);
        }
        reality.agree(&format!("without {} in\n{text}", names.join(" and ")), &failures);
        for failure in &failures {
            reality.set(*failure, true);
        }
    }
}

/// One test per fabric, so that they run in parallel and a failing one has a name.
macro_rules! fabrics {
    ($($name:ident: $seed:literal,)*) => {
        $(#[test]
        fn $name() {
            agrees($seed);
        })*

        const SEEDS: &[u8] = &[$($seed),*];
    };
}

fabrics! {
    real_frr_does_what_is_computed_1: 1,
    real_frr_does_what_is_computed_2: 2,
    real_frr_does_what_is_computed_3: 3,
    real_frr_does_what_is_computed_4: 4,
    real_frr_does_what_is_computed_5: 5,
    real_frr_does_what_is_computed_6: 6,
    real_frr_does_what_is_computed_7: 7,
    real_frr_does_what_is_computed_8: 8,
    real_frr_does_what_is_computed_9: 9,
    real_frr_does_what_is_computed_10: 10,
    real_frr_does_what_is_computed_11: 11,
    real_frr_does_what_is_computed_12: 12,
}

#[test]
fn the_fabrics_have_every_feature_to_test() {
    let rolled = SEEDS.iter().flat_map(|seed| {
        let mut dice = Dice::new(*seed);
        fabric::roll(&mut dice);
        dice.chosen
    });
    let rolled: BTreeSet<&str> = rolled.collect();

    let missing: Vec<_> = fabric::FEATURES.iter().filter(|feature| !rolled.contains(*feature)).collect();

    assert!(missing.is_empty(), "{missing:?}");
}
