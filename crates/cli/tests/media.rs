//! `ichor media inspect`.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{folder, ichor, root};
use serde_json::Value;

const CONFIG: &str = include_str!("../../core/tests/talos/clusters/single-v1.12/worker.yaml");

fn cases(kind: &str) -> Vec<PathBuf> {
    let folder = root().join("crates/core/tests/talos").join(kind);
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|case| case.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() > 10);
    cases
}

fn case(path: &std::path::Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path.join("case.json")).unwrap()).unwrap()
}

#[test]
fn every_nocloud_case_is_answered_as_talos_does() {
    for path in cases("nocloud") {
        let says = case(&path);
        let links = says["links_present"].as_str().unwrap();
        let run = ichor(&path, &format!("media inspect . --talos v1.12.4 --links {links} --json"));
        let got = run.json();

        let is_ok = says["ok"] == true;
        assert_eq!(
            (got["network"].is_object(), got["error"].is_null()),
            (is_ok, is_ok),
            "{}",
            path.display()
        );
        if is_ok {
            assert_eq!(got["needs_reconcile"], says["needs_reconcile"], "{}", path.display());
        }
        assert_eq!(run.code, i32::from(!is_ok), "{}", path.display());
    }
}

#[test]
fn every_meta_case_is_answered_as_each_release_does() {
    for path in cases("metal-meta") {
        for (release, verdict) in case(&path)["unmarshals_on"].as_object().unwrap() {
            let got = ichor(
                &path,
                &format!("media inspect . --talos {release} --links eth0=52:54:00:00:01:0b --json"),
            );

            let want = *verdict == Value::Bool(true);
            assert_eq!(got.json()["network"].is_object(), want, "{} on {release}", path.display());
            assert_eq!(got.json()["error"].is_null(), want, "{} on {release}", path.display());
        }
    }
}

#[test]
fn a_person_is_told_what_the_machine_will_do() {
    let folder = folder(&[
        ("network-config", "version: 2\nethernets: {eth0: {addresses: [10.0.0.11/24], set-name: a}}\n"),
        ("meta-data", "local-hostname: solcp01\n"),
        ("user-data", CONFIG),
    ]);

    let run = ichor(folder.path(), "media inspect . --talos 1.13");

    assert_eq!(run.code, 0, "{}", run.all());
    for said in
        ["nocloud", "solcp01", "eth0 10.0.0.11/24", "boots with", "mistake[media-passed-over]", "set-name"]
    {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
}

#[test]
fn a_secret_is_not_repeated() {
    let broken = CONFIG.replace("machine:", "machine:\n    tokn: hunter2");
    let folder = folder(&[("user-data", &broken)]);
    let token = CONFIG.lines().find_map(|line| line.trim().strip_prefix("token: ")).unwrap();

    let run = ichor(folder.path(), "media inspect . --talos 1.13");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stdout.contains("media-config-refused"), "{}", run.stdout);
    assert!(!run.all().contains("hunter2") && !run.all().contains(token), "{}", run.all());
}

#[test]
fn a_command_line_is_words_or_a_file() {
    let folder = folder(&[("cmdline", "talos.platform=metal talos.config=none\n")]);

    let file = ichor(folder.path(), "media inspect cmdline --talos 1.13 --json").json();
    let words = ichor(folder.path(), "media inspect talos.platform=metal --talos 1.13 --json").json();

    assert_eq!((&file["platform"], &file["outcome"]), (&"metal".into(), &"maintenance".into()));
    assert_eq!(file["outcome"], words["outcome"]);
    assert_eq!(ichor(folder.path(), "media inspect quiet=1 --talos 1.13").code, 1);
}

#[test]
fn what_cannot_be_inspected_is_an_error_that_says_what_can() {
    let folder = folder(&[("disk.img", "a\0b"), ("empty/x", "")]);

    for (what, said) in [
        ("disk.img", "folders and kernel command lines"),
        ("empty", "network-config"),
        ("no", "does not exist"),
    ] {
        let run = ichor(folder.path(), &format!("media inspect {what} --talos 1.13"));
        assert_eq!(run.code, 2, "{what}");
        assert!(run.stderr.contains(said), "{what}: {}", run.stderr);
    }
    let links = ichor(folder.path(), "media inspect empty --talos 1.13 --links eth0=1");
    assert!(links.stderr.contains("want NAME=MAC"), "{}", links.stderr);
}
