//! `ichor lab up` and what goes with it: a fabric of real daemons, and nothing of it left behind.

mod lab;

use std::fs;

use crate::common::{folder, ichor, ichor_with};

const CLUSTER: &str = include_str!("../../../../examples/namespace/ichor.yaml");

#[test]
fn all_programs_that_are_missing_are_told_at_once_with_their_packages() {
    let desk = folder(&[("ichor.yaml", CLUSTER)]);
    fs::create_dir(desk.path().join("empty")).unwrap();

    let run = ichor(desk.path(), "lab up --root empty");

    assert_eq!(run.code, 2, "{}", run.all());
    for part in ["/usr/lib/frr/bgpd, vtysh (Debian: frr)", "gobgpd, gobgp (Debian: gobgpd)", "empty has no"] {
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
fn a_lab_that_is_not_there_is_told() {
    let desk = folder(&[]);
    let run_folder = [("XDG_RUNTIME_DIR", desk.path().to_str().unwrap())];

    for words in ["lab down nobody-has-this", "lab exec --lab nobody-has-this a -- true"] {
        let run = ichor_with(desk.path(), words, &run_folder);

        assert_eq!(run.code, 2, "{}", run.all());
        assert!(run.stderr.contains("there is no lab `nobody-has-this`"), "{}", run.stderr);
    }
    let run = ichor_with(desk.path(), "lab down ../x", &run_folder);
    assert!(run.code == 2 && run.stderr.contains("`../x` is no name for a lab"), "{}", run.all());
}

#[test]
fn a_topology_for_containerlab_is_what_a_build_has() {
    let desk = folder(&[("ichor.yaml", CLUSTER)]);

    let run = ichor(desk.path(), "lab topology");
    let file = ichor(desk.path(), "lab topology -o lab.clab.yml");

    assert_eq!((run.code, file.code), (0, 0), "{}", run.all());
    assert!(run.stdout.contains("row1:eth0"), "{}", run.stdout);
    assert_eq!(fs::read_to_string(desk.path().join("lab.clab.yml")).unwrap(), run.stdout);
}
