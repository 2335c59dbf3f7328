//! `ichor talos patch` and `validate`.

use std::fs;
use std::process::Command;

use crate::common::{folder, ichor};

const BASE: &str = include_str!("../../talos/tests/data/clusters/single-v1.12/controlplane.yaml");

#[test]
fn a_patched_configuration_is_printed_or_written() {
    let folder = folder(&[
        ("base.yaml", BASE),
        ("one.yaml", "machine: {sysctls: {a: b}}\n"),
        ("two.yaml", "apiVersion: v1alpha1\nkind: HostnameConfig\nauto: \"off\"\nhostname: cp1\n"),
    ]);

    let printed = ichor(folder.path(), "talos patch base.yaml one.yaml two.yaml");
    let written = ichor(folder.path(), "talos patch base.yaml one.yaml two.yaml --talos v1.13.9 -o out.yaml");

    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert!(printed.stdout.contains("sysctls:") && printed.stdout.contains("hostname: cp1"));
    assert_eq!((written.code, written.stdout.as_str()), (0, ""));
    let valid = ichor(folder.path(), "talos validate out.yaml --talos v1.13.9 --strict --json");
    assert_eq!(
        (valid.code, &valid.json()["valid"], &valid.json()["load_error"]),
        (0, &true.into(), &false.into())
    );
}

#[test]
fn a_patch_that_does_not_fit_is_named_with_its_place() {
    let folder = folder(&[
        ("base.yaml", BASE),
        ("typo.yaml", "machine:\n  kubelet:\n    extraArg: {v: \"2\"}\n"),
        ("gone.yaml", "machine:\n  network:\n    kubespan:\n      mtu:\n        $patch: delete\n"),
    ]);

    let typo = ichor(folder.path(), "talos patch base.yaml typo.yaml");
    let gone = ichor(folder.path(), "talos patch base.yaml gone.yaml");
    let missing = ichor(folder.path(), "talos patch base.yaml nowhere.yaml");

    assert_eq!((typo.code, typo.stdout.as_str()), (1, ""));
    assert!(typo.stderr.contains("typo.yaml: line 3: machine.kubelet.extraArg: "), "{}", typo.stderr);
    assert!(typo.stderr.contains("did you mean `extraArgs`?"), "{}", typo.stderr);
    assert_eq!(gone.code, 1);
    assert!(gone.stderr.contains("machine.network.kubespan.mtu"), "{}", gone.stderr);
    assert_eq!(missing.code, 2);
}

#[test]
fn what_is_wrong_with_a_configuration_has_a_line_and_a_path() {
    let folder = folder(&[
        ("base.yaml", BASE),
        ("bad.yaml", &BASE.replace("persist: true", "persist: false")),
        ("worse.yaml", "machine: [\n"),
    ]);

    let run = ichor(folder.path(), "talos validate base.yaml bad.yaml worse.yaml --talos v1.12.4");
    let json = ichor(folder.path(), "talos validate bad.yaml --talos 1.12 --mode cloud --json").json();

    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("bad.yaml:3: error: persist: "), "{}", run.stdout);
    assert!(run.stdout.contains("worse.yaml:"), "{}", run.stdout);
    assert!(!run.stdout.contains("base.yaml") && run.stderr.contains("base.yaml: valid"), "{}", run.all());
    assert_eq!(
        (&json["valid"], &json["problems"][0]["line"], &json["problems"][0]["subject"]),
        (&false.into(), &3.into(), &"persist".into())
    );
}

#[test]
fn a_release_that_is_not_known_judges_nothing() {
    let folder = folder(&[("base.yaml", BASE), ("one.yaml", "machine: {sysctls: {a: b}}\n")]);
    for words in ["talos validate base.yaml", "talos patch base.yaml one.yaml"] {
        for talos in ["1.15", "1.9", "v1.10.3", "2.12"] {
            let run = ichor(folder.path(), &format!("{words} --talos {talos}"));

            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words} {talos}");
            assert!(run.stderr.contains("the rules of Talos 1.11 to 1.14"), "{}", run.stderr);
        }
        for talos in ["1.12", "v1.12.99", "v1.13.0-alpha.1"] {
            let run = ichor(folder.path(), &format!("{words} --talos {talos}"));

            assert_eq!(run.code, 0, "{words} {talos}: {}", run.all());
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_keeps_no_other_from_being_judged() {
    let folder =
        folder(&[("base.yaml", BASE), ("bad.yaml", &BASE.replace("persist: true", "persist: false"))]);

    let json = ichor(folder.path(), "talos validate base.yaml nowhere.yaml bad.yaml --talos 1.12 --json");
    let told = ichor(folder.path(), "talos validate nowhere.yaml bad.yaml --talos 1.12");
    let one = ichor(folder.path(), "talos validate nowhere.yaml --talos 1.12 --json");

    assert_eq!(json.code, 2);
    let [base, nowhere, bad] = [0, 1, 2].map(|nth| json.json()[nth].clone());
    assert_eq!(
        (&base["valid"], &bad["valid"], &nowhere["valid"]),
        (&true.into(), &false.into(), &false.into())
    );
    assert_eq!(nowhere["file"], "nowhere.yaml");
    assert!(nowhere["read_error"].as_str().unwrap().contains("no such file"), "{nowhere}");
    assert_eq!(told.code, 2);
    assert!(told.stdout.contains("bad.yaml:3: error: persist: "), "{}", told.all());
    assert!(told.stderr.contains("error: cannot read nowhere.yaml"), "{}", told.all());
    assert_eq!((one.code, one.json()["file"].as_str()), (2, Some("nowhere.yaml")));
}

#[test]
fn a_configuration_comes_from_standard_input_too() {
    let folder = folder(&[("base.yaml", BASE), ("one.yaml", "machine: {sysctls: {a: b}}\n")]);
    let piped = |words: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_ichor"))
            .args(words.split_whitespace())
            .current_dir(folder.path())
            .stdin(fs::File::open(folder.path().join("base.yaml")).unwrap())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };

    let (code, text) = piped("talos patch - one.yaml");
    assert_eq!((code, text.contains("sysctls:")), (Some(0), true), "{text}");
    assert_eq!(piped("talos validate - --talos 1.12").0, Some(0));
    assert_eq!(piped("talos patch - -").0, Some(2));
}

#[test]
fn bytes_that_are_no_text_are_refused_as_talos_does() {
    let folder = folder(&[]);
    std::fs::write(folder.path().join("bytes.yaml"), b"machine:\n  type: \xff\n").unwrap();

    let run = ichor(folder.path(), "talos validate bytes.yaml --talos 1.13 --json");

    let json = run.json();
    assert_eq!((run.code, &json["load_error"], &json["problems"][0]["line"]), (1, &true.into(), &2.into()));
}
