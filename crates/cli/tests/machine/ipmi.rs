//! Physical machines with a stand-in for ipmitool.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::{folder, ichor_with};

const FILE: &str = "\
cluster: {name: sol, id: 101, talos: v1.13.9, services: [172.20.0.0/16]}
nodes:
  - {name: iron, role: controlplane, index: 11, macs: [bc:24:11:00:00:11], install: {disk: /dev/sda},
     power: {ipmi: 10.0.9.21, user: admin, password: {env: BMC}}}
";

/// Records its arguments, requires the password in the environment, and stores the power state.
const TOOL: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
echo "$@" >>calls
[ "$IPMI_PASSWORD" = "calvin and hobbes" ] || { echo "Error: Unable to establish IPMI v2 / RMCP+ session" >&2; exit 1; }
case $* in
*" status") echo "Chassis Power is $(cat power 2>/dev/null || echo off)" ;;
*" on") echo on >power; echo "Chassis Power Control: Up/On" ;;
*" off" | *" soft") echo off >power; echo "Chassis Power Control: Down/Off" ;;
esac
"#;

#[test]
fn a_machine_is_powered_on_and_off_without_a_password_argument() {
    let folder = folder(&[("ichor.yaml", FILE), ("bin/ipmitool", TOOL)]);
    let tool = folder.path().join("bin/ipmitool");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", tool.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let run = |words: &str, password: &str| {
        ichor_with(folder.path(), &format!("machine {words}"), &[("BMC", password), ("PATH", &path)])
    };
    let good = "calvin and hobbes";

    assert_eq!(run("check", good).all(), "no problems\n");
    assert_eq!(run("make", good).all(), "iron: exists\n");
    assert_eq!(run("start", good).all(), "iron: on\n");
    assert_eq!(run("ls --json", good).json()[0]["state"], "on");
    assert_eq!(run("stop", good).all(), "iron: off\n");
    assert_eq!(run("stop --cut", good).all(), "iron: off\n");
    let refused = run("start", "wrong secret");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("Unable to establish IPMI"), "{}", refused.stderr);
    assert!(!refused.all().contains("wrong secret"));

    let calls = fs::read_to_string(folder.path().join("bin/calls")).unwrap();
    assert!(!calls.contains("hobbes") && !calls.contains("secret"), "{calls}");
    let changes: Vec<_> = calls.lines().filter(|call| !call.ends_with(" status")).collect();
    let call = |word: &str| format!("-I lanplus -H 10.0.9.21 -U admin -E chassis power {word}");
    assert_eq!(changes, [call("on"), call("soft")]);
}

#[test]
fn a_missing_tool_is_named() {
    let folder = folder(&[("ichor.yaml", FILE)]);

    let run = ichor_with(folder.path(), "machine check", &[("BMC", "x"), ("PATH", "/nowhere")]);

    assert_eq!(run.code, 1);
    assert!(
        run.stdout.contains("ipmitool is not installed on this machine; install the package ipmitool"),
        "{}",
        run.all()
    );
}
