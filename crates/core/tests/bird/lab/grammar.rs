//! BIRD parses the files, without running.

use super::bird::{Bird, node_files};
use ichor_testbed::lab::{LabMachine, output_text};

/// BIRD's objections to a file.
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
fn every_release_accepts_all_of_its_files() {
    for bird in Bird::ALL {
        let machine = bird.machine();
        for node_file in node_files(bird) {
            assert_eq!(against(&machine, &node_file.conf), "", "{bird:?} {}", node_file.name);
        }
    }
}

#[test]
fn an_invalid_bird_file_is_rejected() {
    for bird in Bird::ALL {
        let machine = bird.machine();

        let word = against(&machine, "router id 10.0.0.1;\nprotocol bgp a { neighbour 10.0.0.2 as 1; }\n");
        let meaning = against(&machine, "router id 10.0.0.1;\nprotocol bgp a { neighbor 10.0.0.2 as 1; }\n");

        assert!(word.contains("bird.conf:2:"), "{bird:?}: {word}");
        assert!(meaning.contains("Local AS number must be set"), "{bird:?}: {meaning}");
    }
}
