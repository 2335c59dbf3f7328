//! The installer as a folder.

use std::fs;

use super::*;

const FOLDER: &str = "images/talos-v1.13.9-metal-amd64-installer";

#[test]
fn an_installer_is_written_as_a_layout() {
    let folder = desk();
    let words = format!("--talos {TALOS} --base imager.tar --extension frr.tar --product installer,layout");

    let run = build(folder.path(), &format!("{words} --json"));

    assert_eq!(run.code, 0, "{}", run.all());
    let files = &run.json()["images"][0]["products"][1]["files"];
    assert_eq!(files[0]["path"], FOLDER);
    assert_eq!(names(&folder.path().join(FOLDER)), ["blobs", "index.json", "oci-layout"]);
    for name in [FOLDER, "images/talos-v1.13.9-metal-amd64-installer.tar"] {
        let seen = ichor(folder.path(), &format!("media inspect {name} --json"));
        assert_eq!(seen.code, 0, "{name}: {}", seen.all());
        assert_eq!(seen.json()["extensions"][0]["name"], "frr", "{name}");
    }
    let again = build(folder.path(), &format!("--talos {TALOS} --base {FOLDER} --product uki -o again"));
    assert_eq!(again.code, 0, "{}", again.all());
}

#[test]
fn a_layout_replaces_only_an_earlier_layout() {
    let folder = desk();
    let words = |extension: &str| format!("--talos {TALOS} --base imager.tar {extension} --product layout");
    let blobs = || names(&folder.path().join(FOLDER).join("blobs/sha256"));
    assert_eq!(build(folder.path(), &words("")).code, 0);
    let first = blobs();

    assert_eq!(build(folder.path(), &words("--extension frr.tar")).code, 0);
    let second = blobs();
    fs::write(folder.path().join(FOLDER).join("mine"), "not to be lost").unwrap();
    let refused = build(folder.path(), &words(""));

    assert_eq!(first.len(), second.len());
    assert_ne!(first, second);
    assert_eq!((refused.code, blobs()), (2, second), "{}", refused.all());
    assert!(refused.stderr.contains("mine is not part of an OCI layout"), "{}", refused.stderr);
}
