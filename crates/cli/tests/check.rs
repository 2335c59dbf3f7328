//! `ichor check` on the command line.

use crate::common::{GOOD, folder, ichor, ichor_with};

#[test]
fn a_valid_file_has_no_problems() {
    let folder = folder(&[("ichor.yaml", GOOD)]);
    let run = ichor(folder.path(), "check");

    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (0, "ichor.yaml: no problems; 3 nodes\n", "")
    );
}

#[test]
fn problems_are_shown_with_location_and_fix() {
    let bad = GOOD.replace(
        "role: controlplane, index: 13, macs: [bc:24:11:00:00:13]",
        "rol: controlplane, index: 13, macs: [\"00:11:22\"]",
    );
    let folder = folder(&[("ichor.yaml", &bad)]);
    let run = ichor(folder.path(), "check");

    assert_eq!(run.code, 1);
    assert!(run.stdout.starts_with("error: ichor.yaml has 2 problems\n"), "{}", run.stdout);
    assert!(run.stdout.contains("  ichor.yaml:7:21  nodes.solcp03.rol\n"), "{}", run.stdout);
    assert!(run.stdout.contains("^^^ unknown key; did you mean `role`?"), "{}", run.stdout);
    assert!(
        run.stdout.contains("^^^^^^^^^^ not a MAC address\n     want six two-digit hex octets"),
        "{}",
        run.stdout
    );
}

#[test]
fn an_unreadable_file_has_another_exit_status_than_an_invalid_one() {
    let folder = folder(&[]);
    let run = ichor(folder.path(), "check");

    assert_eq!(run.code, 2);
    assert_eq!(run.stdout, "error: cannot read ichor.yaml: no such file or directory\n");
    assert_eq!(ichor(folder.path(), "check .").code, 2);
}

#[test]
fn json_has_every_problem_and_finding_with_its_location() {
    let folder =
        folder(&[("bad.yaml", "cluster: {nam: sol, talos: v1.13.9}\nnodes: []\n"), ("even.yaml", &even())]);
    let bad = ichor(folder.path(), "check bad.yaml --json");
    let even = ichor(folder.path(), "check even.yaml --json");

    assert_eq!((bad.code, even.code), (1, 0));
    let problem = &bad.json()["problems"][0];
    assert_eq!(
        (&problem["subject"], &problem["line"], &problem["column"]),
        (&"cluster.nam".into(), &1.into(), &11.into())
    );
    let even = even.json();
    assert_eq!((&even["ok"], &even["findings"][0]["rule"]), (&true.into(), &"even-control-planes".into()));
}

/// A valid cluster with one warning.
fn even() -> String {
    GOOD.replace("  - {name: solcp03, role: controlplane, index: 13, macs: [bc:24:11:00:00:13]}\n", "")
}

#[test]
fn warnings_fail_the_check_only_if_denied() {
    let folder = folder(&[("ichor.yaml", &even())]);

    assert_eq!(ichor(folder.path(), "check").code, 0);
    assert_eq!(ichor(folder.path(), "check --deny warnings").code, 1);
}

#[test]
fn a_silenced_finding_does_not_fail_and_an_unused_silence_is_reported() {
    let silenced = format!("{}silence: [{{rule: even-control-planes, why: a test}}]\n", even());
    let unused = format!("{GOOD}silence: [{{rule: even-control-planes, why: a test}}]\n");
    let folder = folder(&[("silenced.yaml", &silenced), ("unused.yaml", &unused)]);
    let run = ichor(folder.path(), "check --deny warnings silenced.yaml");

    assert_eq!((run.code, run.stdout.as_str()), (0, "silenced.yaml: 1 silenced; 2 nodes\n"));
    let run = ichor(folder.path(), "check --deny warnings unused.yaml");
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("warning[silence-unused]"), "{}", run.stdout);
}

#[test]
fn a_junit_report_names_every_rule() {
    let folder = folder(&[("ichor.yaml", &even())]);
    let run = ichor(folder.path(), "check --deny warnings --junit report.xml");
    let report = std::fs::read_to_string(folder.path().join("report.xml")).unwrap();

    assert_eq!(run.code, 1);
    let document = roxmltree::Document::parse(&report).unwrap();
    let failed = document.descendants().filter(|node| node.has_tag_name("failure"));
    let failed: Vec<_> = failed.filter_map(|node| node.parent()?.attribute("name")).collect();
    assert_eq!(failed, ["even-control-planes"]);
    assert!(document.descendants().filter(|node| node.has_tag_name("testcase")).count() > 50);
}

#[test]
fn clusters_checked_together_must_not_conflict() {
    let folder = folder(&[("a.yaml", GOOD), ("b.yaml", &GOOD.replace("name: sol,", "name: luna,"))]);
    let run = ichor(folder.path(), "check a.yaml b.yaml");

    assert_eq!(run.code, 1);
    for rule in ["clash-id", "clash-address", "clash-node-name"] {
        assert!(run.stdout.contains(rule), "{rule}: {}", run.stdout);
    }
    assert_eq!(ichor(folder.path(), "check a.yaml").code, 0);
}

#[test]
fn a_secret_in_the_file_is_refused_and_never_printed() {
    let bad = format!(
        "{GOOD}overlay: {{tailscale: {{key: hunter2}}}}\nrouting:\n  neighbors: [{{address: 10.0.0.1, asn: 65001, pasword: hunter2}}]\n"
    );
    let folder = folder(&[("ichor.yaml", &bad)]);

    for words in ["check", "check --json", "check --junit report.xml", "show", "show nodes"] {
        let run = ichor(folder.path(), words);
        assert_eq!(run.code, 1, "{words}");
        assert!(!run.all().contains("hunter2"), "{words}: {}", run.all());
    }
    assert!(!std::fs::read_to_string(folder.path().join("report.xml")).unwrap().contains("hunter2"));
}

#[test]
fn secret_references_are_resolved_only_on_request_and_never_printed() {
    let file = format!(
        "{GOOD}hypervisors:\n  a: {{proxmox: {{url: \"https://pve:8006\", token: {{env: ICHOR_TEST_TOKEN}}}}}}\n  \
         b: {{proxmox: {{url: \"https://pve:8006\", token: {{file: token.txt}}}}}}\n  \
         c: {{proxmox: {{url: \"https://pve:8006\", token: {{command: [echo, hunter2]}}}}}}\n  \
         d: {{proxmox: {{url: \"https://pve:8006\", token: {{command: [\"false\"]}}}}}}\n"
    );
    let folder = folder(&[("ichor.yaml", &file), ("token.txt", "hunter2\n")]);

    assert_eq!(ichor(folder.path(), "check").code, 0);
    let run = ichor(folder.path(), "check --resolve");
    assert_eq!(run.code, 1);
    assert!(
        run.stdout
            .contains("hypervisors.a.proxmox.token: the environment variable ICHOR_TEST_TOKEN is not set"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("hypervisors.d.proxmox.token: `false` failed"), "{}", run.stdout);
    assert!(!run.all().contains("hunter2"), "{}", run.all());
    let run = ichor_with(folder.path(), "check --resolve", &[("ICHOR_TEST_TOKEN", "hunter2")]);
    assert_eq!(run.stdout.matches("error:").count(), 1, "{}", run.stdout);
}

#[test]
fn includes_and_tables_are_read_from_the_folder_of_the_file() {
    let folder = folder(&[
        (
            "c/ichor.yaml",
            "include: [sites/*.yaml]\ncluster: {name: sol, id: 101, talos: v1.13.9, services: [172.20.0.0/16]}\ndefaults: {install: {disk: /dev/sda}}\nnodes: {csv: nodes.csv}\n",
        ),
        ("c/nodes.csv", "name,role,index,macs[0]\nsolcp01,controlplane,11,bc:24:11:00:00:11\n"),
        (
            "c/sites/a.yaml",
            "sites: {berlin: {}}\nnodes: [{name: solwk01, index: 21, site: berlin, macs: [bc:24:11:00:00:21]}]\n",
        ),
    ]);
    let run = ichor(folder.path(), "check c/ichor.yaml");

    assert_eq!((run.code, run.stdout.as_str()), (0, "c/ichor.yaml: no problems; 2 nodes\n"));
}

#[test]
fn a_password_in_a_url_or_a_variable_name_is_never_printed() {
    let bad = format!(
        "{GOOD}hypervisors:\n  a: {{proxmox: {{url: \"https://root:hunter2@pve:8006\", token: {{env: hunter2-is-no-name}}}}}}\n"
    );
    let folder = folder(&[("ichor.yaml", &bad)]);
    let run = ichor(folder.path(), "check");

    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("https://root:***@pve:8006"), "{}", run.stdout);
    assert!(!run.all().contains("hunter2"), "{}", run.all());
}

#[test]
fn a_closed_pipe_does_not_change_the_exit_status() {
    let many: Vec<_> = (0..5000).map(|nth| format!("bad{nth}: 1\n")).collect();
    let folder = folder(&[("ichor.yaml", &many.concat())]);
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_ichor"))
        .arg("check")
        .current_dir(folder.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());

    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn an_endless_file_is_refused() {
    let folder = folder(&[]);
    let run = ichor(folder.path(), "check /dev/zero");

    assert_eq!((run.code, run.stdout.as_str()), (2, "error: cannot read /dev/zero: larger than 256 MiB\n"));
}

#[test]
fn rules_of_an_invalid_file_are_skipped_in_the_junit_report() {
    let folder = folder(&[("ichor.yaml", "nodes: 5\n")]);
    ichor(folder.path(), "check --junit report.xml");
    let report = std::fs::read_to_string(folder.path().join("report.xml")).unwrap();
    let document = roxmltree::Document::parse(&report).unwrap();
    let count = |tag: &str| document.descendants().filter(|node| node.has_tag_name(tag)).count();

    assert_eq!((count("failure"), count("skipped")), (1, count("testcase") - 1));
}

#[test]
fn a_secret_in_a_kernel_argument_is_detected_and_not_quoted() {
    let bad = format!("{GOOD}image: {{source: factory}}\n").replace(
        "install: {disk: /dev/sda}",
        "install: {disk: /dev/sda}, kernel: {args: [\"talos.config=https://u:hunter2@x/?token=hunter2\"]}",
    );
    let folder = folder(&[("ichor.yaml", &bad)]);
    let run = ichor(folder.path(), "check");

    assert!(run.stdout.contains("error[boot-carrier-secret]"), "{}", run.stdout);
    assert!(!run.all().contains("hunter2"), "{}", run.all());
}

#[test]
fn an_invalid_session_password_is_refused_as_by_build() {
    let folder = folder(&[(
        "ichor.yaml",
        "cluster: {name: sol, id: 101, talos: v1.13.9, services: [172.20.0.0/16]}\nimage: {registry: example.com/talos}\n\
         fabric: {routers: [{name: gw, role: gateway, asn: 65001, addresses: [10.101.0.254], password: {env: PW}}]}\n\
         routing: {backend: frr, neighbors: [{router: gw}, {address: 10.101.0.253, asn: 65002, password: {env: PW}}]}\n\
         nodes: [{name: solcp01, role: controlplane, index: 11, platform: nocloud, macs: [\"bc:24:11:00:00:11\"], install: {disk: /dev/sda}}]\n",
    )]);

    let spaced = ichor_with(folder.path(), "check --resolve", &[("PW", "two words")]);
    let fine = ichor_with(folder.path(), "check --resolve", &[("PW", "one-word")]);

    assert_eq!((spaced.code, fine.code), (1, 0), "{}{}", spaced.all(), fine.all());
    assert_eq!(
        spaced.stdout.matches("the password of a session must be 1 to 80").count(),
        2,
        "{}",
        spaced.stdout
    );
    assert!(!spaced.all().contains("two words"));
}
