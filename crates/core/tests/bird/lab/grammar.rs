//! Whether BIRD can read what it is told, without running.

use super::bird::{Bird, told};
use ichor_testbed::lab::{LabMachine, output_text};

/// What BIRD says against a file.
pub fn against(machine: &LabMachine, conf: &str) -> String {
    machine.write("/tmp/bird.conf", conf);
    let output = machine.run("bird -p -c /tmp/bird.conf");
    if output.status.success() {
        output_text(&output)
    } else {
        format!("{}: {}", output.status, output_text(&output))
    }
}

#[test]
fn every_release_has_nothing_to_say_against_any_of_its_files() {
    for bird in Bird::ALL {
        let machine = bird.machine();
        for told in told(bird) {
            assert_eq!(against(&machine, &told.conf), "", "{bird:?} {}", told.name);
        }
    }
}

#[test]
fn a_file_that_is_not_birds_is_noticed() {
    for bird in Bird::ALL {
        let machine = bird.machine();

        let word = against(&machine, "router id 10.0.0.1;\nprotocol bgp a { neighbour 10.0.0.2 as 1; }\n");
        let meaning = against(&machine, "router id 10.0.0.1;\nprotocol bgp a { neighbor 10.0.0.2 as 1; }\n");

        assert!(word.contains("bird.conf:2:"), "{bird:?}: {word}");
        assert!(meaning.contains("Local AS number must be set"), "{bird:?}: {meaning}");
    }
}
