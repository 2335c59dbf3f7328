//! The commands from a user's view, as far as they need no daemon.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::run::AGENT;
use ichor_testbed::lab::output_text;
use ichor_testbed::schema::assert_valid;

/// Runs the agent with these variables and arguments and no other configuration.
fn agent(variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(AGENT);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin").envs(variables.iter().copied()).args(arguments);
    command.output().unwrap()
}

/// The first console example of the documentation: the command and its output.
fn example() -> (String, String) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/agent.md");
    let docs = fs::read_to_string(docs).unwrap();
    let block = docs.split("```console\n$ ").nth(1).unwrap().split("```").next().unwrap();
    let (command, output) = block.split_once('\n').unwrap();
    (command.to_owned(), output.to_owned())
}

#[test]
fn all_invalid_variables_are_reported_at_once_as_documented() {
    let (typed, expected) = example();
    let words: Vec<&str> = typed.split(' ').collect();
    let variables: Vec<_> = words.iter().filter_map(|word| word.split_once('=')).collect();
    assert_eq!(words[variables.len()..], ["ichor-agent", "check"], "{typed}");

    for command in [&["check"][..], &["render"], &["run", "--run", "/nowhere/ichor"], &["down"]] {
        let output = agent(&variables, command);

        assert_eq!((output.status.code(), output_text(&output)), (Some(2), expected.clone()), "{command:?}");
    }
    assert!(!Path::new("/nowhere").exists());
}

#[test]
fn a_missing_configuration_is_an_error() {
    let output = agent(&[], &["run"]);

    assert_eq!(output.status.code(), Some(2));
    assert!(
        output_text(&output)
            .contains("apply the ExtensionServiceConfig that `ichor build` wrote for this node")
    );
}

#[test]
fn files_are_rendered_offline_from_saved_links() {
    let folder = tempfile::tempdir().unwrap();
    let links = folder.path().join("links.json");
    fs::write(
        &links,
        r#"{"links": [{"index": 2, "name": "enp1s0", "mac": "02:00:00:00:00:01", "up": true, "mtu": 9000}]}"#,
    )
    .unwrap();
    let variables = [
        ("NODE_IP", "10.0.0.1"),
        ("ASN_LOCAL", "65001"),
        ("FE_MACS", "02:00:00:00:00:01,02:00:00:00:00:02"),
        ("FE_MAC", "typo"),
    ];
    let of = |more: &[&str]| {
        let arguments = ["render", "--daemon-version", "10.3", "--links", links.to_str().unwrap()];
        agent(&variables, &[&arguments[..], more].concat())
    };

    let text = of(&[]);
    let json = of(&["--json"]);

    let (out, err) = (String::from_utf8(text.stdout).unwrap(), String::from_utf8(text.stderr).unwrap());
    assert!(text.status.success(), "{err}");
    assert!(out.contains("neighbor enp1s0 interface v6only remote-as external"), "{out}");
    assert!(out.contains("# ----- daemons") && out.contains("mgmtd=yes"), "{out}");
    assert!(err.contains("unknown variable FE_MAC; did you mean FE_MACS?"), "{err}");
    assert!(err.contains("waiting: no port has the MAC address 02:00:00:00:00:02 (fe1)"), "{err}");
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_valid("agent-render", &json);
    assert!(out.contains(json["files"]["frr.conf"].as_str().unwrap()), "{json}");
    fs::write(&links, json.to_string()).unwrap();
    assert_eq!(String::from_utf8(of(&[]).stdout).unwrap(), out, "the output of --json can be read back");
    fs::write(&links, "[1]").unwrap();
    let wrong = of(&[]);
    assert!(
        wrong.status.code() == Some(2) && output_text(&wrong).contains("is not a list of links"),
        "{wrong:?}"
    );
}

#[test]
fn status_without_a_running_agent_is_an_error_that_names_the_socket() {
    let folder = tempfile::tempdir().unwrap();

    let output = agent(&[], &["status", "--run", folder.path().to_str().unwrap()]);

    assert_eq!(output.status.code(), Some(2));
    assert!(output_text(&output).contains("status.sock"), "{output:?}");
}
