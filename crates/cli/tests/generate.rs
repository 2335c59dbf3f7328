//! `ichor talos gen` compared with the output of talosctl, and its output files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::{folder, ichor, ichor_with, root};
use ichor_talos::document;
use serde_json::Value;

fn cases() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("crates/talos/tests/data/clusters")).unwrap();
    let mut cases: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    cases
}

/// Command line of a case.
fn words(case: &Path) -> String {
    let input: Value = serde_json::from_str(&fs::read_to_string(case.join("input.json")).unwrap()).unwrap();
    let text = |key: &str| input[key].as_str().unwrap().to_owned();
    let mut words = vec![text("cluster_name"), text("endpoint")];
    let options = input["options"].as_object().unwrap();
    if !options.contains_key("talos-version") {
        words.extend(["--talos-version".to_owned(), text("generated_by_talos")]);
    }
    for (key, value) in options {
        words.push(match value {
            Value::Bool(on) => format!("--{key}={on}"),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| item.as_str().unwrap()).collect();
                format!("--{key}={}", items.join(","))
            }
            other => format!("--{key}={}", other.as_str().unwrap()),
        });
    }
    format!("talos gen {} --secrets {}", words.join(" "), case.join("secrets.yaml").display())
}

/// A case, and its command line up to the secrets.
fn solo() -> (PathBuf, String) {
    let case = root().join("crates/talos/tests/data/clusters/single-v1.12");
    let words = words(&case);
    (case, words)
}

#[test]
fn configurations_match_those_of_talosctl() {
    for case in cases() {
        let folder = folder(&[]);

        let run = ichor(folder.path(), &format!("{} -o out", words(&case)));

        assert_eq!(run.code, 0, "{}: {}", case.display(), run.stderr);
        assert!(!run.stderr.contains(".yaml: "), "{}: {}", case.display(), run.stderr);
        assert_eq!(run.stdout, "out/controlplane.yaml\nout/worker.yaml\nout/talosconfig\n");
        let [got, want] = [folder.path().join("out"), case.clone()].map(|folder| {
            ["controlplane.yaml", "worker.yaml", "talosconfig"]
                .map(|name| fs::read_to_string(folder.join(name)).unwrap())
        });
        assert_eq!(got[..2], want[..2], "{}", case.display());
        let [got, want] = [&got[2], &want[2]].map(|text| {
            let mut config = document::read(text).unwrap().remove(0);
            let context = config["context"].as_str().unwrap().to_owned();
            // Generated secrets differ each time.
            for key in ["crt", "key"] {
                assert!(
                    config["contexts"][&context][key].take().as_str().unwrap().starts_with("LS0tLS1CRUdJTi")
                );
            }
            config
        });
        assert_eq!(got, want, "{}", case.display());
    }
}

#[test]
fn files_are_private_and_not_overwritten() {
    let (_, words) = solo();
    let folder = folder(&[("worker.yaml", "mine\n")]);
    let path = folder.path();

    let refused = ichor(path, &words);
    assert_eq!(refused.code, 2);
    assert_eq!(refused.stderr, "error: worker.yaml already exists; overwrite it with --force\n");
    assert!(!path.join("controlplane.yaml").exists());
    assert_eq!(fs::read_to_string(path.join("worker.yaml")).unwrap(), "mine\n");

    let forced = ichor(path, &format!("{words} --force"));
    assert_eq!(forced.code, 0, "{}", forced.stderr);
    for name in ["controlplane.yaml", "worker.yaml", "talosconfig"] {
        let mode = fs::metadata(path.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_single_file_goes_to_standard_output_or_a_path() {
    let (case, words) = solo();
    let folder = folder(&[]);
    let want = fs::read_to_string(case.join("worker.yaml")).unwrap();

    let printed = ichor(folder.path(), &format!("{words} -t worker -o -"));
    let written = ichor(folder.path(), &format!("{words} -t worker -o a/w.yaml"));
    let several = ichor(folder.path(), &format!("{words} -o -"));
    let client = ichor(folder.path(), &format!("{words} -t talosconfig -o -").replace("v1.12.4", "v1.9"));

    assert_eq!((printed.code, printed.stdout.as_str()), (0, want.as_str()));
    assert_eq!((written.code, written.stdout.as_str()), (0, "a/w.yaml\n"));
    assert_eq!(fs::read_to_string(folder.path().join("a/w.yaml")).unwrap(), want);
    assert_eq!(client.code, 0, "{}", client.stderr);
    assert!(client.stdout.starts_with("context: "), "{}", client.stdout);
    let slashed = ichor(folder.path(), &format!("{words} -t worker -o new/folder/"));
    assert_eq!(
        (slashed.code, slashed.stdout.as_str()),
        (0, "new/folder/worker.yaml\n"),
        "{}",
        slashed.stderr
    );
    assert_eq!(several.code, 2);
    assert!(several.stderr.contains("--output-types controlplane"), "{}", several.stderr);
}

#[test]
fn invalid_arguments_are_refused() {
    let (case, _) = solo();
    let secrets = case.join("secrets.yaml").display().to_string();
    let folder = folder(&[("bad.yaml", "cluster: {id: hunter2}\n")]);
    for (words, message) in [
        ("10.0.0.1 --talos-version v1.13.9", "try https://10.0.0.1:6443"),
        ("https://base:6443 --talos-version v1.13", "pass a complete --talos-version, or --install-image"),
        ("https://base:6443 --talos-version v1.9.0", "pass --kubernetes-version"),
        ("https://base:6443 --talos-version latest", "not a Talos version"),
        ("https://base:6443 --talos-version v1.13.9 --registry-mirror ghcr.io", "want HOST=URL"),
        ("https://base:6443 --talos-version v1.13.9 --secrets bad.yaml", "cluster.secret is missing"),
        ("https://base:6443 --talos-version v1.13.9 --secrets none.yaml", "none.yaml"),
    ] {
        let given = if words.contains("--secrets") { String::new() } else { format!("--secrets {secrets}") };

        let run = ichor(folder.path(), &format!("talos gen home {words} {given}"));

        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words}");
        assert!(run.stderr.contains(message), "{words}: {}", run.stderr);
        assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn unsupported_options_are_warnings() {
    let (_, words) = solo();
    let folder = folder(&[]);

    let run = ichor(
        folder.path(),
        &format!("{words} --kubernetes-version 1.20.0 --with-docs --persist=false -t worker -o -"),
    );

    assert_eq!(run.code, 0, "{}", run.stderr);
    for message in
        ["v1.12.4 does not support Kubernetes v1.20.0", "without comments", "rejects worker.yaml: persist: "]
    {
        assert!(run.stderr.contains(message), "{message}: {}", run.stderr);
    }
}

#[test]
fn encrypted_secrets_are_decrypted_with_the_right_key() {
    // Made for this test.
    const KEY: &str = "AGE-SECRET-KEY-1UQX8MSL30GZPKWAGCCH9D53VTFDT2FP09HS4497LNPL2QQXNCDZQAXLZGT";
    const RECIPIENT: &str = "age170jaqq5z6hvamkxgefer6vs3vqwlh8r46cntpxmj75pwvzx99ywsk5z5zw";
    let (case, words) = solo();
    let plain = case.join("secrets.yaml").display().to_string();
    let words = words.replace(&plain, "secrets.sops.yaml");
    let folder = folder(&[("key.txt", KEY)]);
    let home = folder.path().display().to_string();
    let env =
        [("HOME", home.as_str()), ("XDG_CONFIG_HOME", ""), ("SOPS_AGE_KEY", ""), ("SOPS_AGE_KEY_FILE", "")];
    let import = ichor_with(folder.path(), &format!("secrets import {plain} --age {RECIPIENT}"), &env);
    assert_eq!(import.code, 0, "{}", import.stderr);

    let opened = ichor_with(folder.path(), &format!("{words} -t worker -o - --identity key.txt"), &env);
    let closed = ichor_with(folder.path(), &format!("{words} -t worker -o -"), &env);

    assert_eq!(opened.code, 0, "{}", opened.stderr);
    assert_eq!(opened.stdout, fs::read_to_string(case.join("worker.yaml")).unwrap());
    assert_eq!((closed.code, closed.stdout.as_str()), (2, ""));
    assert!(
        closed.stderr.contains("cannot decrypt secrets.sops.yaml: no age identity in "),
        "{}",
        closed.stderr
    );
}

#[test]
fn missing_secrets_are_generated() {
    let folder = folder(&[]);

    // Before Talos 1.7 there is no RSA key, which is slow to generate.
    let words = "talos gen home https://base:6443 --talos-version v1.6.0 --kubernetes-version 1.29.0 -o out";
    let run = ichor(folder.path(), words);

    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("new secrets"), "{}", run.stderr);
    let read = |name: &str| {
        document::read(&fs::read_to_string(folder.path().join("out").join(name)).unwrap()).unwrap().remove(0)
    };
    let (control_plane, worker) = (read("controlplane.yaml"), read("worker.yaml"));
    assert_eq!(control_plane["machine"]["ca"]["crt"], worker["machine"]["ca"]["crt"]);
    assert_eq!(read("talosconfig")["contexts"]["home"]["ca"], worker["machine"]["ca"]["crt"]);
}

#[test]
fn a_guessed_kubernetes_version_is_reported() {
    let (_, words) = solo();
    let folder = folder(&[]);
    let message = |talos: &str, more: &str| {
        let words = words.replace("v1.12.4", talos);
        let run = ichor(folder.path(), &format!("{words} -t worker -o - {more}"));
        assert_eq!(run.code, 0, "{talos}: {}", run.stderr);
        run.stderr
    };

    assert!(message("v1.14.9", "").contains("v1.37.0 is a guess"), "{}", message("v1.14.9", ""));
    assert!(message("v1.12.99", "").contains("is a guess; pass --kubernetes-version"));
    for (talos, more) in [("v1.14.9", "--kubernetes-version 1.37.0"), ("v1.14.0-rc.1", ""), ("v1.12.5", "")] {
        assert!(!message(talos, more).contains("guess"), "{talos}: {}", message(talos, more));
    }
}

#[test]
fn a_configuration_that_talos_rejects_is_a_warning() {
    let (_, words) = solo();
    let folder = folder(&[("name.yaml", "machine: {network: {hostname: x}}\n")]);
    for (more, message) in [
        ("--install-disk=", "v1.12.4 rejects worker.yaml: machine.install"),
        ("--with-kubespan --with-cluster-discovery=false", "v1.12.4 rejects worker.yaml: "),
        ("--config-patch-worker name.yaml", "v1.12.4 rejects worker.yaml: "),
        ("--additional-sans a$b", "warning: worker.yaml: machine.certSANs[0]: "),
    ] {
        let words = words.replace("--install-disk=/dev/sda", "");

        let run = ichor(folder.path(), &format!("{words} {more} -t worker -o -"));

        assert_eq!(run.code, 0, "{more}: {}", run.stderr);
        assert!(run.stdout.starts_with("version: v1alpha1\n"), "{}", run.stdout);
        assert!(run.stderr.contains(message), "{more}: {}", run.stderr);
    }
}
