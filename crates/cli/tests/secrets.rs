//! `ichor secrets` on the command line.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{GOOD, Run, folder, ichor_with};
use ichor_talos::secrets::{Bundle, read_admin};

const IDENTITY: &str = "AGE-SECRET-KEY-12Z3AY3W4TVEEY6PM3AMVS97NLN7PPML7U24VRKDN3AVQ4YUD877SY6TYF8";
const RECIPIENT: &str = "age1rgvu05uhv88ehtl7qvhlat5q6ca5l6zjfkcd5r5g3rydp25cxdgszefe82";
const OTHER_IDENTITY: &str = "AGE-SECRET-KEY-1VRWNRJWWNTGXTR68UK8KYDTQCRRGLMHMVA79248S52YA3NPMXK6QV6AC4H";
const BUNDLE: &str = include_str!("../../talos/tests/data/secrets-check/001-ok.yaml");
const CONFIG: &str = include_str!("../../talos/tests/data/secrets-import/v1.14/controlplane.yaml");
const CONFIG_BUNDLE: &str = include_str!("../../talos/tests/data/secrets-import/v1.14/secrets.yaml");
const VALUES: &str = include_str!("secrets/values.sops.yaml");

/// Runs `ichor` with this age identity and otherwise empty settings.
fn run_as(identity: &str, folder: &Path, words: &str) -> Run {
    let home = folder.to_str().unwrap();
    let env = [
        ("SOPS_AGE_KEY", identity),
        ("SOPS_AGE_KEY_FILE", ""),
        ("SOPS_AGE_RECIPIENTS", ""),
        ("XDG_CONFIG_HOME", home),
        ("HOME", home),
    ];
    ichor_with(folder, words, &env)
}

fn run(folder: &Path, words: &str) -> Run {
    run_as(IDENTITY, folder, words)
}

/// A folder with an imported bundle.
fn imported() -> tempfile::TempDir {
    let folder = folder(&[("talos.yaml", BUNDLE)]);
    let run = run(folder.path(), &format!("secrets import talos.yaml --age {RECIPIENT}"));
    assert_eq!(run.code, 0, "{}", run.all());
    folder
}

fn mode(path: PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Verifies with OpenSSL that the administrator's certificate chains to Talos' CA.
fn openssl_verifies(folder: &Path, bundle: &Bundle, admin: &str) -> bool {
    let admin = read_admin(admin).unwrap();
    fs::write(folder.join("ca.pem"), bundle.os.crt.text().as_bytes()).unwrap();
    fs::write(folder.join("crt.pem"), admin.crt.text().as_bytes()).unwrap();
    let words = ["verify", "-purpose", "sslclient", "-CAfile", "ca.pem", "crt.pem"];
    let output = Command::new("openssl").args(words).current_dir(folder).output();
    output.expect("openssl is missing: apt-get install openssl").status.success()
}

#[test]
fn new_secrets_are_complete_and_encrypted() {
    let folder = folder(&[]);
    let made = run(folder.path(), &format!("secrets new --talos v1.14.1 --age {RECIPIENT}"));

    assert_eq!(
        (made.code, made.stdout.as_str()),
        (0, "secrets.sops.yaml\nadmin.sops.yaml\n"),
        "{}",
        made.stderr
    );
    assert_eq!(made.stderr, format!("encrypted for {RECIPIENT}\n"));
    let text = fs::read_to_string(folder.path().join("secrets.sops.yaml")).unwrap();
    assert!(!text.contains("LS0tLS1CRUdJTi"), "{text}");
    let check = run(folder.path(), "secrets check");
    assert_eq!(
        (check.code, check.stdout.as_str()),
        (0, "secrets.sops.yaml: no problems\n"),
        "{}",
        check.stderr
    );

    let exported = run(folder.path(), "secrets export -o -");
    let bundle = Bundle::read(&exported.stdout).unwrap();
    assert!(bundle.service_account.text().starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
    let again = run(folder.path(), &format!("secrets new --talos v1.14 --age {RECIPIENT}"));
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("secrets.sops.yaml already exists"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("secrets.sops.yaml")).unwrap(), text);
}

#[test]
fn unencrypted_secrets_need_an_option_and_are_private() {
    let folder = folder(&[("talos.yaml", BUNDLE)]);

    let refused = run(folder.path(), "secrets import talos.yaml");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("no age recipient: set one with --age"), "{}", refused.stderr);
    assert_eq!(names(folder.path()), ["talos.yaml"]);

    let made = run(folder.path(), "secrets import talos.yaml --plain");
    assert_eq!((made.code, made.stdout.as_str()), (0, "secrets.yaml\nadmin.yaml\n"), "{}", made.stderr);
    assert!(made.stderr.contains("not encrypted"), "{}", made.stderr);
    assert_eq!(mode(folder.path().join("secrets.yaml")), 0o600);
    assert_eq!(mode(folder.path().join("admin.yaml")), 0o600);
    assert_eq!(run(folder.path(), "secrets check").stdout, "secrets.yaml: no problems\n");
    fs::set_permissions(folder.path().join("secrets.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    let open = run(folder.path(), "secrets check");
    assert_eq!(open.code, 0);
    assert!(open.stdout.contains("secrets.yaml is not encrypted and readable by other users (mode 0640)"));
    assert!(openssl_verifies(
        folder.path(),
        &Bundle::read(BUNDLE).unwrap(),
        &fs::read_to_string(folder.path().join("admin.yaml")).unwrap()
    ));
}

#[test]
fn an_imported_bundle_is_exported_unchanged() {
    let folder = imported();

    let run = run(folder.path(), "secrets export -o out.yaml");

    assert_eq!((run.code, run.stdout.as_str()), (0, "out.yaml\n"), "{}", run.stderr);
    let out = fs::read_to_string(folder.path().join("out.yaml")).unwrap();
    assert_eq!(Bundle::read(&out).unwrap(), Bundle::read(BUNDLE).unwrap());
    assert_eq!(mode(folder.path().join("out.yaml")), 0o600);
}

#[test]
fn an_export_to_a_closed_pipe_is_an_error() {
    let folder = imported();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);

    let status = Command::new(env!("CARGO_BIN_EXE_ichor"))
        .args(["secrets", "export", "-o", "-"])
        .current_dir(folder.path())
        .env("SOPS_AGE_KEY", IDENTITY)
        .stdout(writer)
        .stderr(std::process::Stdio::null())
        .status();

    assert_eq!(status.unwrap().code(), Some(2));
}

#[test]
fn secrets_are_imported_from_a_control_plane_configuration() {
    let folder = folder(&[("cp.yaml", CONFIG), ("worker.yaml", "machine: {type: worker}\ncluster: {}\n")]);

    let run_it = |words: &str| run(folder.path(), &format!("secrets import {words} --age {RECIPIENT}"));

    let worker = run_it("--from-config worker.yaml");
    assert_eq!(worker.code, 2);
    assert!(worker.stderr.contains("only a control plane's holds all secrets"), "{}", worker.stderr);
    let taken = run_it("--from-config cp.yaml --from-config cp.yaml");
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    let exported = run(folder.path(), "secrets export -o -");
    assert_eq!(Bundle::read(&exported.stdout).unwrap(), Bundle::read(CONFIG_BUNDLE).unwrap());
}

#[test]
fn missing_secrets_are_reported_and_nothing_is_written() {
    let half = BUNDLE.replace("  token: wmewal", "  tokens: wmewal").replace("  os:", "  oss:");
    let folder = folder(&[("talos.yaml", &half)]);

    let run = run(folder.path(), &format!("secrets import talos.yaml --age {RECIPIENT}"));

    assert_eq!(run.code, 2);
    assert_eq!(
        run.stderr,
        "error: talos.yaml is not a complete secrets bundle: trustdinfo.token is missing; certs.os is missing\n"
    );
    assert_eq!(names(folder.path()), ["talos.yaml"]);
}

#[test]
fn a_wrong_key_a_tampered_value_and_a_tampered_mac_each_have_their_error() {
    let folder = imported();
    let path = folder.path().join("secrets.sops.yaml");
    let good = fs::read_to_string(&path).unwrap();

    let wrong = run_as(OTHER_IDENTITY, folder.path(), "secrets export -o out.yaml");
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("no identity matches; the file is encrypted for age1rgvu05"),
        "{}",
        wrong.stderr
    );

    // The values of two keys are swapped.
    let (id, secret) = (value(&good, "    id: "), value(&good, "    secret: "));
    let swapped = good.replace(&id, "#").replace(&secret, &id).replace('#', &secret);
    fs::write(&path, swapped).unwrap();
    let tampered = run(folder.path(), "secrets export -o out.yaml");
    assert_eq!(
        tampered.stderr,
        "error: cannot decrypt secrets.sops.yaml: cluster.id was changed, or put there from elsewhere, after it was encrypted\n"
    );

    let line = good.lines().find(|line| line.contains("lastmodified")).unwrap();
    fs::write(&path, good.replace(line, "    lastmodified: \"2020-01-01T00:00:00Z\"")).unwrap();
    let mac = run(folder.path(), "secrets export -o out.yaml");
    assert!(mac.stderr.contains("sops.mac or sops.lastmodified was changed"), "{}", mac.stderr);

    let armored = |changed: &dyn Fn(&str) -> String| {
        let lines: Vec<_> = good.lines().map(changed).collect();
        fs::write(&path, lines.join("\n")).unwrap();
        run(folder.path(), "secrets export -o out.yaml").stderr
    };
    let garbled = armored(&|line| line.replace("YWdlLWVuY3J5cHRpb24ub3Jn", "YWdlLWVuY3J5cHRpb24ub3Jm"));
    assert!(garbled.contains("the data key for age1rgvu05"), "{garbled}");
    let cut = good.split_once("sops:\n").unwrap().0;
    fs::write(&path, cut).unwrap();
    let cut = run(folder.path(), "secrets export -o out.yaml");
    assert!(cut.stderr.contains("the section `sops` is missing"), "{}", cut.stderr);
    assert!(!folder.path().join("out.yaml").exists());
}

fn value(text: &str, key: &str) -> String {
    text.lines().find_map(|line| line.strip_prefix(key)).unwrap().to_owned()
}

#[test]
fn a_renewal_replaces_only_the_administrators_certificate() {
    let folder = imported();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (bundle, admin) = (read("secrets.sops.yaml"), read("admin.sops.yaml"));

    let run_it = run(folder.path(), "secrets renew --ttl 48h");

    assert_eq!((run_it.code, run_it.stdout.as_str()), (0, "admin.sops.yaml\n"), "{}", run_it.stderr);
    assert_eq!(read("secrets.sops.yaml"), bundle);
    assert_ne!(read("admin.sops.yaml"), admin);
    let check = run(folder.path(), "secrets check --json");
    assert_eq!(check.code, 0);
    let answer = check.json();
    assert_eq!(answer["valid"], true);
    assert_eq!(answer["warnings"][0]["subject"], "admin.sops.yaml: admin.crt");
    let life = run(folder.path(), "secrets renew --ttl 1x");
    assert_eq!(life.stderr, "error: --ttl 1x: not a duration; want one such as 8760h or 365d\n");
    let role = run(folder.path(), "secrets renew --role root -o root.yaml");
    assert!(role.stderr.contains("`root` is not a role"), "{}", role.stderr);
}

#[test]
fn a_certificate_with_another_role_does_not_replace_the_administrators() {
    let folder = imported();
    let admin = || fs::read_to_string(folder.path().join("admin.sops.yaml")).unwrap();
    let before = admin();

    for words in ["", " -o admin.sops.yaml", " -o ./admin.sops.yaml"] {
        let refused = run(folder.path(), &format!("secrets renew --role os:reader{words}"));
        assert_eq!(refused.code, 2, "{words}");
        assert!(refused.stderr.contains("choose another file with -o"), "{}", refused.stderr);
    }
    let reader = "secrets renew --role os:reader -o reader.sops.yaml";
    assert_eq!(run(folder.path(), reader).stdout, "reader.sops.yaml\n");
    assert!(run(folder.path(), reader).stderr.contains("already exists"));

    assert_eq!(admin(), before);
    assert_eq!(mode(folder.path().join("reader.sops.yaml")), 0o600);
    fs::rename(folder.path().join("reader.sops.yaml"), folder.path().join("admin.sops.yaml")).unwrap();
    let check = run(folder.path(), "secrets check");
    assert!(check.stdout.contains("admin.crt allows os:reader and not os:admin"), "{}", check.stdout);
}

#[test]
fn an_administrators_certificate_of_another_cluster_is_reported() {
    let (folder, other) = (imported(), folder(&[("cp.yaml", CONFIG)]));
    let taken = run(other.path(), &format!("secrets import --from-config cp.yaml --age {RECIPIENT}"));
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    fs::copy(other.path().join("admin.sops.yaml"), folder.path().join("admin.sops.yaml")).unwrap();

    let check = run(folder.path(), "secrets check");

    assert_eq!(check.code, 0, "{}", check.all());
    assert!(check.stdout.contains("admin.crt is of another cluster"), "{}", check.stdout);
    assert_eq!(run(folder.path(), "secrets renew").code, 0);
    assert_eq!(run(folder.path(), "secrets check").stdout, "secrets.sops.yaml: no problems\n");
}

#[test]
fn the_exit_status_is_the_validation_result_of_talos() {
    let cases = crate::common::root().join("crates/talos/tests/data/secrets-check");
    let verdicts = fs::read_to_string(cases.join("verdicts.json")).unwrap();
    let verdicts: Vec<serde_json::Value> = serde_json::from_str(&verdicts).unwrap();
    let folder = folder(&[]);
    for case in verdicts {
        let name = case["file"].as_str().unwrap();
        let valid = case["verdict"]["v1.12.4"] == "ok";

        let run = run(folder.path(), &format!("secrets check {} --json", cases.join(name).display()));

        assert_eq!((run.code, run.json()["valid"].as_bool()), (i32::from(!valid), Some(valid)), "{name}");
        assert_eq!(run.json()["problems"].as_array().unwrap().is_empty(), valid, "{name}");
    }
    assert_eq!(run(folder.path(), "secrets check nothing.yaml").code, 2);
}

#[test]
fn file_and_recipients_come_from_the_cluster_file() {
    let file = format!("{GOOD}secrets: keep/sol-secrets.yaml\nsecrets_for: [{RECIPIENT}]\n");
    let folder = folder(&[("ichor.yaml", &file), ("keep/empty", ""), ("talos.yaml", BUNDLE)]);

    let run_it = run(folder.path(), "secrets import talos.yaml");

    assert_eq!(
        (run_it.code, run_it.stdout.as_str()),
        (0, "keep/sol-secrets.yaml\nkeep/sol-admin.yaml\n"),
        "{}",
        run_it.stderr
    );
    assert_eq!(run(folder.path(), "secrets check").stdout, "keep/sol-secrets.yaml: no problems\n");
}

#[test]
fn the_cluster_file_is_not_read_if_all_options_are_set() {
    let folder = folder(&[("ichor.yaml", "cluster: 1\n"), ("talos.yaml", BUNDLE)]);
    let import = format!("secrets import talos.yaml --age {RECIPIENT}");

    let asked = run(folder.path(), &import);
    assert!(asked.stderr.contains("it has problems; run `ichor check`"), "{}", asked.stderr);
    let named = run(folder.path(), &format!("{import} -o secrets.sops.yaml"));
    assert_eq!(named.code, 0, "{}", named.stderr);
    // No key is generated for the next one: its file already exists.
    let new = run(folder.path(), &format!("secrets new secrets.sops.yaml --talos v1.13 --age {RECIPIENT}"));
    assert!(new.stderr.contains("already exists"), "{}", new.stderr);
}

#[test]
fn recipients_come_from_the_rules_of_sops() {
    let rules = format!(
        "creation_rules:\n  - path_regex: other\n    age: {IDENTITY}\n  - path_regex: sops\\.yaml$\n    age: >-\n      {RECIPIENT}\n"
    );
    let folder = folder(&[(".sops.yaml", &rules), ("talos.yaml", BUNDLE), ("below/empty", "")]);

    let run_it = run(folder.path(), "secrets import talos.yaml -o below/secrets.sops.yaml");

    assert_eq!(run_it.code, 0, "{}", run_it.stderr);
    assert_eq!(run_it.stderr, format!("encrypted for {RECIPIENT}\n"));
    let other = run(folder.path(), "secrets import talos.yaml -o below/plain.yaml");
    assert!(other.stderr.contains("no rule in creation_rules has an age recipient"), "{}", other.stderr);
}

#[test]
fn identities_are_found_where_sops_finds_them() {
    let folder = imported();
    let keys = format!("# mine\n{IDENTITY}\n");
    fs::create_dir_all(folder.path().join("sops/age")).unwrap();
    fs::write(folder.path().join("keys.txt"), &keys).unwrap();

    let nothing = run_as("", folder.path(), "secrets check");
    assert_eq!(nothing.code, 2);
    assert!(nothing.stderr.contains("no age identity in SOPS_AGE_KEY, "), "{}", nothing.stderr);
    assert!(nothing.stderr.contains("age-keygen -o") && !nothing.stderr.contains("no identity matches"));
    assert_eq!(run_as("", folder.path(), "secrets check --identity keys.txt").code, 0);
    fs::write(folder.path().join("sops/age/keys.txt"), &keys).unwrap();
    assert_eq!(run_as("", folder.path(), "secrets check").code, 0);
    let bad = run_as("hunter2", folder.path(), "secrets check");
    assert!(bad.stderr.contains("line 1 of SOPS_AGE_KEY is not an age identity"), "{}", bad.stderr);
    assert!(!bad.stderr.contains("hunter2"), "{}", bad.stderr);
}

#[test]
fn a_reference_into_a_sops_file_is_resolved() {
    let cluster = |key: &str| {
        format!(
            "{GOOD}hypervisors: {{pve: {{proxmox: {{url: https://pve:8006, token: {{sops: values.sops.yaml, key: {key}}}}}}}}}\n"
        )
    };
    let folder = folder(&[("values.sops.yaml", VALUES)]);
    let resolve = |identity: &str, key: &str| {
        fs::write(folder.path().join("ichor.yaml"), cluster(key)).unwrap();
        let run = run_as(identity, folder.path(), "check --resolve --json");
        run.json()["unresolved_secrets"].to_string()
    };

    assert_eq!(resolve(IDENTITY, "apps.token"), "[]");
    assert_eq!(resolve(IDENTITY, "apps.ports.1"), "[]");
    assert!(resolve(IDENTITY, "apps.nothing").contains("has no text at apps.nothing"));
    assert!(resolve(OTHER_IDENTITY, "apps.token").contains("no identity matches"));
    fs::write(folder.path().join("values.sops.yaml"), "apps: {token: hunter2}\n").unwrap();
    assert!(resolve(IDENTITY, "apps.token").contains("is not in the SOPS format; encrypt it"));
}
