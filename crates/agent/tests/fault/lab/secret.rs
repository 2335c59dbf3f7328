//! Secrets stay in the configuration.

use std::thread;
use std::time::Duration;

use crate::fault::node::Node;
use ichor_testbed::lab::output_text;

const PASSWORD: &str = "correct-horse-battery";

/// An agent configuration with a password, and lines around it.
fn agent_config(before: &str, after: &str) -> String {
    let lines = format!(
        "frr defaults datacenter\\nrouter bgp 65001\\n neighbor 192.0.2.1 remote-as 65100\\n{before} neighbor 192.0.2.1 \
         password {PASSWORD}\\n{after}exit\\n"
    );
    format!(
        r#"{{"version": "1.0", "backend": "frr", "log_level": "debug", "files": {{"config": "{lines}"}}}}"#
    )
}

#[test]
fn a_password_is_neither_logged_nor_shown() {
    let node = Node::without_leaf();
    node.machine.write("/tmp/agent.json", &agent_config("", ""));
    node.machine.ask("chmod 600 /tmp/agent.json");
    let (agent, log) = node.start_by("", "run --config /tmp/agent.json");
    let mut output = String::new();
    let refused = [
        agent_config(" neighbor without a command\\n", " neighbor 192.0.2.1 password\\n"),
        agent_config(
            "",
            &format!(" neighbor 192.0.2.9 password {PASSWORD}\\n neighbor 192.0.2.1 passwort {PASSWORD}\\n"),
        ),
        agent_config("", "").replace("files", "flies"),
        format!("{{\"backend\": \"{PASSWORD}\""),
    ];
    for text in [agent_config("", " neighbor 192.0.2.1 timers 3 9\\n")].iter().chain(&refused) {
        thread::sleep(Duration::from_secs(3));
        node.machine.write("/tmp/agent.json", text);
    }
    thread::sleep(Duration::from_secs(3));

    output.extend(log.try_iter().map(|line| line + "\n"));
    for words in ["status", "status --json"] {
        output += &output_text(&node.command(words).output().unwrap());
    }
    output += &node.machine.ask("cat /proc/[0-9]*/cmdline | tr '\\0' ' '");
    assert!(output.contains("keeping the previous configuration"), "{output}");
    assert!(output.contains("refuse"), "{output}");
    assert!(!output.contains(PASSWORD), "{output}");
    let seen = node
        .machine
        .run(&format!("find /run /tmp /var/tmp /etc/frr -type f -perm /077 | xargs grep -l {PASSWORD}"));
    assert_eq!(String::from_utf8_lossy(&seen.stdout), "");
    agent.stop();
}
