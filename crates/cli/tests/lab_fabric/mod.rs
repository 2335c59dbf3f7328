//! `ichor lab up` and related commands: a fabric of real daemons, and its cleanup.

mod lab;

use std::fs;

use crate::common::{folder, ichor, ichor_with};

const CLUSTER: &str = include_str!("../../../../examples/namespace/ichor.yaml");

#[test]
fn missing_programs_are_reported_together_with_their_packages() {
    let desk = folder(&[("ichor.yaml", CLUSTER)]);
    fs::create_dir(desk.path().join("empty")).unwrap();

    let run = ichor(desk.path(), "lab up --root empty");

    assert_eq!(run.code, 2, "{}", run.all());
    for part in ["/usr/lib/frr/bgpd, vtysh (Debian: frr)", "gobgpd, gobgp (Debian: gobgpd)", "empty lacks"] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[test]
fn a_cluster_without_routing_has_no_lab() {
    let home = include_str!("../../../../examples/homelab/ichor.yaml");
    let desk = folder(&[("ichor.yaml", home)]);

    let run = ichor(desk.path(), "lab up");

    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("ichor.yaml has no fabric to start"), "{}", run.stderr);
}

#[test]
fn a_missing_lab_is_reported() {
    let desk = folder(&[]);
    let run_folder = [("XDG_RUNTIME_DIR", desk.path().to_str().unwrap())];

    for words in ["lab down missing", "lab exec --lab missing a -- true"] {
        let run = ichor_with(desk.path(), words, &run_folder);

        assert_eq!(run.code, 2, "{}", run.all());
        assert!(run.stderr.contains("no lab `missing`"), "{}", run.stderr);
    }
    let run = ichor_with(desk.path(), "lab down ../x", &run_folder);
    assert!(run.code == 2 && run.stderr.contains("`../x` is not a lab name"), "{}", run.all());
}

#[test]
fn the_containerlab_topology_matches_that_of_the_build() {
    let desk = folder(&[("ichor.yaml", CLUSTER)]);

    let run = ichor(desk.path(), "lab topology");
    let file = ichor(desk.path(), "lab topology -o lab.clab.yml");

    assert_eq!((run.code, file.code), (0, 0), "{}", run.all());
    assert!(run.stdout.contains("row1:eth0"), "{}", run.stdout);
    assert_eq!(fs::read_to_string(desk.path().join("lab.clab.yml")).unwrap(), run.stdout);
}
