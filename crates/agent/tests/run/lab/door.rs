//! The state over mutual TLS, as the configuration says.

use std::net::Ipv4Addr;

use ichor_bgp::agent::config::{AgentConfig, ConfigSource, DaemonFiles, SecretText, StatusListener};
use ichor_bgp::setting::LogLevel;
use ichor_values::Backend;

use super::node::Node;
use crate::status::authority::Authority;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;

const FILE: &str = "/usr/local/etc/frr/agent.json";

fn duty(status: Option<StatusListener>) -> AgentConfig {
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

/// Whether somebody with a certificate of an authority is answered by an agent that has one of the same.
fn answers(node: &Node, authority: &Authority, port: u16) -> bool {
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
fn the_door_follows_the_configuration() {
    let node = Node::new(Frr::V8.machine());
    let [old, new] = [1, 2].map(Authority::new);
    let tell = |status| node.machine.write(FILE, &duty(status).text());
    let meets = |what: &str, by: &Authority, port, meant| {
        wait_for(what, || answers(&node, by, port) == meant, || node.state());
    };
    tell(Some(served(&old, 50180)));
    node.start(&[], "");
    meets("the first door", &old, 50180, true);

    tell(Some(served(&old, 50181)));
    meets("another port", &old, 50181, true);
    assert!(!answers(&node, &old, 50180), "the old port is shut");

    tell(Some(served(&new, 50181)));
    meets("another certificate", &new, 50181, true);
    assert!(!answers(&node, &old, 50181), "the old authority is nobody's any more");

    tell(Some(StatusListener { certificate: "none".to_owned(), ..served(&new, 50181) }));
    let why = "`status_listener.certificate` has no certificate";
    node.wait_for("what is wrong with it", |status| status["waiting_for"].to_string().contains(why));
    assert!(answers(&node, &new, 50181), "what ran goes on");

    tell(None);
    meets("no door", &new, 50181, false);
    node.wait_for("nothing wrong", |status| status["waiting_for"].is_null());
    node.end();
}
