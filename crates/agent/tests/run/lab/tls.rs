//! The status over mutual TLS, as configured.

use std::net::Ipv4Addr;

use ichor_bgp::agent::config::{AgentConfig, ConfigSource, DaemonFiles, SecretText, StatusListener};
use ichor_bgp::setting::LogLevel;
use ichor_values::Backend;

use super::node::Node;
use crate::status::authority::Authority;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;

const FILE: &str = "/usr/local/etc/frr/agent.json";

fn agent_config(status: Option<StatusListener>) -> AgentConfig {
    let configuration = SecretText("router bgp 65001\n bgp router-id 10.0.0.1\nexit\n".to_owned());
    let ready = DaemonFiles { configuration, daemons: None, veth: None };
    AgentConfig {
        backend: Backend::Frr,
        source: ConfigSource::Files(Box::new(ready)),
        mtu: None,
        extra_addresses: Vec::new(),
        health: None,
        drain: false,
        log: LogLevel::Debug,
        status,
    }
}

fn served(by: &Authority, port: u16) -> StatusListener {
    StatusListener {
        listen: Ipv4Addr::LOCALHOST.into(),
        port,
        ca: by.os.crt.text().into_owned(),
        certificate: by.agent.crt.text().into_owned(),
        key: SecretText(by.agent.key.text().into_owned()),
    }
}

/// Whether a client with a certificate of an authority gets a response from an agent with a certificate of the same.
fn responds(node: &Node, authority: &Authority, port: u16) -> bool {
    let key = authority.signed.key.text().replace("ED25519 PRIVATE", "PRIVATE");
    node.machine.write("/tmp/ca", &authority.os.crt.text());
    node.machine.write("/tmp/crt", &authority.signed.crt.text());
    node.machine.write("/tmp/key", &key);
    let asked = node.machine.run(&format!(
        "curl -s --max-time 5 --cacert /tmp/ca --cert /tmp/crt --key /tmp/key https://127.0.0.1:{port}/status"
    ));
    String::from_utf8_lossy(&asked.stdout).contains("\"ichor\":\"status\"")
}

#[test]
fn the_tls_listener_follows_the_configuration() {
    let node = Node::new(Frr::V8.machine());
    let [old, new] = [1, 2].map(Authority::new);
    let configure = |status| node.machine.write(FILE, &agent_config(status).text());
    let expect = |what: &str, by: &Authority, port, expected| {
        wait_for(what, || responds(&node, by, port) == expected, || node.state());
    };
    configure(Some(served(&old, 50180)));
    node.start(&[], "");
    expect("the first listener", &old, 50180, true);

    configure(Some(served(&old, 50181)));
    expect("another port", &old, 50181, true);
    assert!(!responds(&node, &old, 50180), "the old port is closed");

    configure(Some(served(&new, 50181)));
    expect("another certificate", &new, 50181, true);
    assert!(!responds(&node, &old, 50181), "the old authority is no longer accepted");

    configure(Some(StatusListener { certificate: "none".to_owned(), ..served(&new, 50181) }));
    let why = "`status_listener.certificate` has no valid certificate";
    node.wait_for("the reported problem", |status| status["waiting_for"].to_string().contains(why));
    assert!(responds(&node, &new, 50181), "the previous listener keeps running");

    configure(None);
    expect("no listener", &new, 50181, false);
    node.wait_for("no problem", |status| status["waiting_for"].is_null());
    node.stop();
}
