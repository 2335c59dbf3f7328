//! `ichor talos patch` and `validate`.

use std::fs;
use std::process::Command;

use ichor_talos::document;
use serde_json::{Value, json};

use crate::common::{folder, ichor, root};

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
fn a_patch_that_does_not_apply_is_named_with_its_location() {
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
fn problems_of_a_configuration_have_a_line_and_a_path() {
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
fn an_unknown_release_is_refused() {
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
fn an_unreadable_file_does_not_prevent_the_validation_of_others() {
    let folder =
        folder(&[("base.yaml", BASE), ("bad.yaml", &BASE.replace("persist: true", "persist: false"))]);

    let json = ichor(folder.path(), "talos validate base.yaml nowhere.yaml bad.yaml --talos 1.12 --json");
    let run = ichor(folder.path(), "talos validate nowhere.yaml bad.yaml --talos 1.12");
    let one = ichor(folder.path(), "talos validate nowhere.yaml --talos 1.12 --json");

    assert_eq!(json.code, 2);
    let [base, nowhere, bad] = [0, 1, 2].map(|nth| json.json()[nth].clone());
    assert_eq!(
        (&base["valid"], &bad["valid"], &nowhere["valid"]),
        (&true.into(), &false.into(), &false.into())
    );
    assert_eq!(nowhere["file"], "nowhere.yaml");
    assert_eq!((&nowhere["load_error"], &nowhere["problems"]), (&true.into(), &json!([])));
    assert!(nowhere["read_error"].as_str().unwrap().contains("no such file"), "{nowhere}");
    assert_eq!(run.code, 2);
    assert!(run.stdout.contains("bad.yaml:3: error: persist: "), "{}", run.all());
    assert!(run.stderr.contains("error: cannot read nowhere.yaml"), "{}", run.all());
    assert_eq!((one.code, one.json()["file"].as_str()), (2, Some("nowhere.yaml")));
}

#[test]
fn a_configuration_is_read_from_standard_input() {
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
fn invalid_utf8_is_rejected_as_by_talos() {
    let folder = folder(&[]);
    std::fs::write(folder.path().join("bytes.yaml"), b"machine:\n  type: \xff\n").unwrap();

    let run = ichor(folder.path(), "talos validate bytes.yaml --talos 1.13 --json");

    let json = run.json();
    assert_eq!((run.code, &json["load_error"], &json["problems"][0]["line"]), (1, &true.into(), &2.into()));
}

#[test]
fn configurations_are_validated_as_by_each_release() {
    let data = root().join("crates/talos/tests/data/validate");
    let cases: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(data.join("verdicts.json")).unwrap()).unwrap();
    let files: Vec<&str> = cases.iter().map(|case| case["file"].as_str().unwrap()).collect();
    let expected = |case: &Value, release: &str, mode: &str| {
        let verdict = &case["verdicts"][release][mode];
        json!({"valid": verdict["valid"] == true, "load_error": verdict.get("load_error").is_some()})
    };
    let assert_agrees = |report: &Value, want: &Value, what: &str| {
        let got = json!({"valid": report["valid"], "load_error": report["load_error"]});
        assert_eq!(got, *want, "{what}");
        let problems = report["problems"].as_array().unwrap();
        if want["valid"] == true {
            assert!(problems.iter().all(|it| it["severity"] != "error"), "{what}: {problems:?}");
        } else {
            assert!(problems.iter().any(|it| it["severity"] != "note"), "{what}: {problems:?}");
        }
    };

    // The crate `talos` tests every mode on every release.
    let all = ["metal", "metal-strict", "cloud", "cloud-strict", "container", "container-strict"];
    for (release, modes) in
        [("v1.11.5", &all[..1]), ("v1.12.4", &all[1..2]), ("v1.13.9", &all[..]), ("v1.14.1", &all[..1])]
    {
        for mode in modes {
            let option = mode.replace("-strict", " --strict");
            let words = format!("{} --talos {release} --mode {option} --json", files.join(" "));
            let run = ichor(&data.join("configs"), &format!("talos validate {words}"));
            for (case, report) in cases.iter().zip(run.json().as_array().unwrap()) {
                assert_eq!(report["file"], case["file"]);
                let what = format!("{} {release} {mode}", report["file"]);
                assert_agrees(report, &expected(case, release, mode), &what);
            }
        }
        // A single file is printed as an object, and its result is the exit status.
        for case in &cases[..10] {
            let file = case["file"].as_str().unwrap();
            let want = expected(case, release, "metal");
            let words = format!("talos validate {file} --talos {release} --mode metal --json");
            let run = ichor(&data.join("configs"), &words);
            assert_agrees(&run.json(), &want, &format!("{file} {release}"));
            assert_eq!(run.code, i32::from(want["valid"] == false), "{file} {release}");
        }
    }
}

#[test]
fn patches_are_applied_as_by_each_release() {
    let data = root().join("crates/talos/tests/data/patches");
    let mut applied = 0;
    for case in fs::read_dir(data).unwrap().map(|case| case.unwrap().path()).filter(|path| path.is_dir()) {
        let patches: Vec<String> = (1..=99)
            .map(|nth| format!("patch-{nth}.yaml"))
            .take_while(|name| case.join(name).exists())
            .collect();
        for release in ["v1.11.5", "v1.12.4", "v1.13.9", "v1.14.1"] {
            let words = format!("talos patch base.yaml {} --talos {release}", patches.join(" "));
            let run = ichor(&case, &words);

            let other = case.join(format!("differs-on-{release}.yaml"));
            let usual = case.join("expected.yaml");
            let fails = case.join(format!("differs-on-{release}.error.txt")).exists();
            let result = [other, usual].into_iter().find(|path| !fails && path.exists());
            let what = format!("{} on {release}: {}", case.display(), run.stderr);
            match result {
                Some(result) => {
                    let want = document::read(&fs::read_to_string(result).unwrap()).unwrap();
                    assert_eq!(run.code, 0, "{what}");
                    assert_eq!(document::read(&run.stdout).unwrap(), want, "{what}");
                    applied += 1;
                }
                None => assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{what}"),
            }
        }
    }
    assert!(applied > 100, "only {applied} patches applied");
}
