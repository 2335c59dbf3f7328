//! User templates: their output, and errors of invalid ones.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::{Run, folder, ichor_with};
use tempfile::TempDir;

const SECRETS: &str = include_str!("../../talos/tests/data/clusters/single-v1.12/secrets.yaml");

const PASSWORD: &str = "hush-of-the-session";

fn text(backend: &str) -> String {
    format!(
        "cluster: {{name: sol, id: 101, talos: v1.13.9, services: [172.20.0.0/16]}}
secrets: secrets.yaml
network: {{node: {{v6: \"fd00:101::/64\", v4: null}}}}
defaults: {{platform: nocloud, install: {{disk: /dev/sda}}}}
image: {{registry: ghcr.io/example/talos}}
routing:
  backend: {backend}
  neighbors: [{{address: \"fd00:101::fffe\", asn: 65001, password: {{env: PW}}}}]
  template: {{{backend}: my.conf.j2}}
nodes:
  - {{name: solcp01, role: controlplane, index: 11, macs: [bc:24:11:00:00:11]}}
"
    )
}

/// A cluster whose daemon configuration comes from a template.
fn cluster(backend: &str, template: Option<&str>) -> TempDir {
    cluster_of(&text(backend), template)
}

/// A cluster with an older BIRD.
fn old_bird(template: &str) -> TempDir {
    let text = text("bird").replace("backend: bird\n", "backend: bird\n  version: 2.0.12\n");
    cluster_of(&text, Some(template))
}

fn cluster_of(text: &str, template: Option<&str>) -> TempDir {
    let mut files = vec![("ichor.yaml", text), ("talosctl.yaml", SECRETS)];
    files.extend(template.map(|template| ("my.conf.j2", template)));
    let folder = folder(&files);
    let imported = run(&folder, "secrets import talosctl.yaml --plain -o secrets.yaml");
    assert_eq!(imported.code, 0, "{}", imported.all());
    folder
}

/// Runs `ichor` without installed daemons.
fn run(folder: &TempDir, words: &str) -> Run {
    ichor_with(folder.path(), words, &[("PW", PASSWORD), ("PATH", "/nowhere")])
}

/// Runs `ichor build` with one installed program, a script.
fn run_beside(folder: &TempDir, program: &str, script: &str) -> Run {
    let bin = folder.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = bin.join(program);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let paths = format!("{}:/usr/bin:/bin", bin.display());
    ichor_with(folder.path(), "build", &[("PW", PASSWORD), ("PATH", &paths)])
}

fn refused(run: &Run, folder: &TempDir, why: &str) {
    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.all().contains(why), "{}", run.all());
    assert!(!run.all().contains(PASSWORD), "{}", run.all());
    assert!(!folder.path().join("build").exists(), "something was written");
}

#[test]
fn a_rendered_template_is_private() {
    let template = "! {{ node }} {{ asn }}\n{% for one in fabric.neighbors %}\
                    ! {{ one.address }} {{ one.password }}\n{% endfor %}{{ default }}";
    let folder = cluster("frr", Some(template));

    let run = run(&folder, "build");

    assert_eq!(run.code, 0, "{}", run.all());
    let path = folder.path().join("build/sol/nodes/solcp01/frr.conf");
    let conf = fs::read_to_string(&path).unwrap();
    assert!(conf.starts_with(
        "! solcp01 4210101011\n! fd00:101::fffe hush-of-the-session\n! solcp01: written by ichor\n"
    ));
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    let machine = fs::read_to_string(folder.path().join("build/sol/nodes/solcp01/machine.yaml")).unwrap();
    assert!(machine.contains("! {{ node }} {{ asn }}"), "the agent receives the template");
    assert!(
        run.stderr
            .contains("the output of my.conf.j2 was not checked: vtysh is not installed on this machine"),
        "{}",
        run.stderr
    );
}

#[test]
fn backends_with_a_file_support_templates() {
    for (backend, file, version) in [("bird", "bird.conf", "2.17"), ("gobgp", "gobgpd.toml", "4.8")] {
        let folder = cluster(backend, Some("# {{ backend }} {{ version }}\n{{ default }}"));

        let run = run(&folder, "build");

        assert_eq!(run.code, 0, "{}", run.all());
        let conf = fs::read_to_string(folder.path().join("build/sol/nodes/solcp01").join(file)).unwrap();
        let start = format!("# {backend} {version}\n# solcp01: written by ichor\n");
        assert!(conf.starts_with(&start), "{conf}");
    }
}

#[test]
fn an_unknown_variable_is_reported_by_check_and_build() {
    let folder = cluster("frr", Some("! one\n! {{ router_idd }}\n"));

    let check = run(&folder, "check");
    let build = run(&folder, "build");

    assert!(
        check.stdout.contains("template-broken") && check.stdout.contains("routing.template.frr"),
        "{}",
        check.stdout
    );
    for run in [check, build] {
        refused(&run, &folder, "my.conf.j2:2: `router_idd` is not defined; did you mean `router_id`?");
    }
}

#[test]
fn an_endless_loop_is_stopped() {
    let folder =
        cluster("frr", Some("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"));

    refused(&run(&folder, "build"), &folder, "my.conf.j2:1: stopped after");
}

#[test]
fn a_syntax_error_is_reported_with_its_line() {
    let folder = cluster("frr", Some("! one\n{% for neighbor in fabric.neighbors %}\n"));

    refused(&run(&folder, "build"), &folder, "my.conf.j2:");
}

#[test]
fn a_missing_template_is_reported() {
    let folder = cluster("frr", None);

    refused(&run(&folder, "build"), &folder, "cannot read my.conf.j2: no such file");
}

#[test]
fn an_installed_daemon_checks_the_output_and_secrets_are_redacted() {
    let folder = cluster("frr", Some("{{ default }}"));

    let taken = run_beside(&folder, "vtysh", "grep -q 'router bgp' \"$3\"");
    fs::remove_dir_all(folder.path().join("build")).unwrap();
    let refused_here = run_beside(&folder, "vtysh", "echo \"$3 line 9: $(grep password \"$3\")\"; exit 2");

    assert_eq!(taken.code, 0, "{}", taken.all());
    assert!(!taken.stderr.contains("was not checked"), "{}", taken.stderr);
    refused(
        &refused_here,
        &folder,
        "vtysh on this machine rejects the output of my.conf.j2: frr.conf line 9: ",
    );
    assert!(refused_here.all().contains("password ***"), "{}", refused_here.all());
}

#[test]
fn output_with_ports_of_the_node_is_not_checked_by_gobgpd() {
    let folder = cluster("gobgp", Some("{{ default }}\n# neighbor-interface\n"));

    let run = run_beside(&folder, "gobgpd", "exit 1");

    assert_eq!(run.code, 0, "{}", run.all());
    assert!(run.stderr.contains("gobgpd resolves its interfaces"), "{}", run.stderr);
}

/// BIRD 2.0 lacks the keyword for the authentication type that 2.17 requires.
#[test]
fn a_file_for_a_newer_bird_is_not_checked_by_an_older_one() {
    let script = "[ \"$1\" != --version ] || exec echo BIRD version 2.0.12 >&2\nexit 1";
    let (newer, as_old) = (cluster("bird", Some("{{ default }}")), old_bird("{{ default }}"));

    let not_asked = run_beside(&newer, "bird", script);
    let run = run_beside(&as_old, "bird", script);

    assert_eq!(not_asked.code, 0, "{}", not_asked.all());
    let note = "it is for BIRD 2.17, but this machine has BIRD 2.0";
    assert!(not_asked.stderr.contains(note), "{}", not_asked.stderr);
    refused(&run, &as_old, "bird on this machine rejects the output of my.conf.j2");
}

mod lab {
    use super::*;

    /// With the real parser, installed by `scripts/tools frr`.
    #[test]
    fn vtysh_accepts_the_output_of_a_template() {
        let good = cluster("frr", Some("{{ default }}"));
        let bad = cluster("frr", Some("{{ default }}router bgp 65001\n neighbour 10.0.0.1 remote-as 1\n"));
        let build = |folder: &TempDir| ichor_with(folder.path(), "build", &[("PW", PASSWORD)]);

        let taken = build(&good);
        let not_taken = build(&bad);

        assert_eq!(taken.code, 0, "{}", taken.all());
        assert!(!taken.stderr.contains("was not checked"), "{}", taken.stderr);
        refused(&not_taken, &bad, "vtysh on this machine rejects the output of my.conf.j2");
    }

    fn assert_bird_accepts(folder: &dyn Fn(&str) -> TempDir, build: &dyn Fn(&TempDir) -> Run) {
        let good = folder("{{ default }}");
        let bad = folder("{{ default }}\nprotocol bgp more { neighbour 10.0.0.1 as 1; }\n");

        let (taken, not_taken) = (build(&good), build(&bad));

        assert_eq!(taken.code, 0, "{}", taken.all());
        assert!(!taken.stderr.contains("was not checked"), "{}", taken.stderr);
        refused(&not_taken, &bad, "bird on this machine rejects the output of my.conf.j2: ");
    }

    /// With the real BIRD, installed by `scripts/tools bird`.
    #[test]
    fn bird_2_0_accepts_the_output_of_a_template() {
        assert_bird_accepts(&old_bird, &|folder| ichor_with(folder.path(), "build", &[("PW", PASSWORD)]));
    }

    /// With the newer BIRD in `target/lab/` and its libraries.
    #[test]
    fn bird_2_17_accepts_the_output_of_a_template() {
        let root = crate::common::root().join("target/lab/trixie/usr");
        assert!(root.join("sbin/bird").exists(), "there is no BIRD in {}", root.display());
        let script = format!(
            "libraries=$(echo {0}/lib/*-linux-gnu)\n\
             exec \"$libraries\"/ld-linux-*.so.* --library-path \"$libraries\" {0}/sbin/bird \"$@\"",
            root.display()
        );

        assert_bird_accepts(&|template| cluster("bird", Some(template)), &|folder| {
            run_beside(folder, "bird", &script)
        });
    }

    /// With the real gobgpd in `target/lab/`.
    #[test]
    fn gobgpd_accepts_the_output_of_a_template() {
        let programs = crate::common::root().join("target/lab/gobgp4/usr/bin");
        assert!(programs.join("gobgpd").exists(), "there is no gobgpd in {}", programs.display());
        let good = cluster("gobgp", Some("{{ default }}"));
        let bad = cluster("gobgp", Some("{{ default }}\n[global.confog]\nas = 1\n"));
        let path = programs.to_str().unwrap();
        let build =
            |folder: &TempDir| ichor_with(folder.path(), "build", &[("PW", PASSWORD), ("PATH", path)]);

        let taken = build(&good);
        let not_taken = build(&bad);

        assert_eq!(taken.code, 0, "{}", taken.all());
        assert!(!taken.stderr.contains("was not checked"), "{}", taken.stderr);
        refused(&not_taken, &bad, "gobgpd on this machine rejects the output of my.conf.j2");
    }
}

#[test]
fn a_pipe_as_a_template_is_refused_without_blocking() {
    let folder = cluster("frr", None);
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("my.conf.j2")).status().unwrap();
    assert!(made.success());

    let run = run(&folder, "check");

    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("cannot read my.conf.j2: not a regular file"), "{}", run.all());
}

#[test]
fn a_template_that_is_not_text_is_not_reported_as_missing() {
    let folder = cluster("frr", Some(""));
    fs::write(folder.path().join("my.conf.j2"), b"\xff\xfeh\0i\0").unwrap();

    let run = run(&folder, "check");

    assert!(
        run.stdout.contains("error[file-not-text]") && run.stdout.contains("my.conf.j2 is not UTF-8"),
        "{}",
        run.all()
    );
    assert!(!run.stdout.contains("file-missing"), "{}", run.all());
}
