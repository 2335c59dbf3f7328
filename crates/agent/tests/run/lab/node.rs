//! A node on which nothing but the agent does anything about routing.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::process::{Command, Output};

use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_bgp::agent::environment;
use ichor_bgp::model::BgpModel;
use ichor_values::Backend;
use ichor_values::NodeName;
use serde_json::Value;

use crate::run::AGENT;
use ichor_testbed::lab::{LabMachine, output_text, wait_for};

/// The programs that an agent may have started.
const DAEMONS: &str = "mgmtd zebra bgpd staticd bfdd bird gobgpd";

pub struct Node {
    pub machine: LabMachine,
}

impl Node {
    /// A machine with the agent, which does not run yet.
    pub fn new(machine: LabMachine) -> Self {
        // The static one of `make agent` where there is one: it is a tenth of the other, and reads as fast in an emulation.
        let made = env::var("ICHOR_AGENT").ok().filter(|agent| Path::new(agent).exists());
        let agent = made.unwrap_or_else(|| AGENT.to_owned());
        if machine.path(&agent).exists() {
            machine.ask(&format!("ln -s {agent} /tmp/ichor-agent"));
        } else {
            // Without what debuggers want it is small: it lies in memory, as machines have nothing else of their own.
            let mut strip = Command::new("strip");
            let copied = strip.arg("-o").arg(machine.path("/tmp/ichor-agent")).arg(agent).output().unwrap();
            assert!(copied.status.success(), "{}", output_text(&copied));
        }
        machine.ask("mount -t tmpfs none /usr/local/etc && mkdir /usr/local/etc/frr");
        Self { machine }
    }

    /// Starts the agent with these variables and arguments.
    pub fn start(&self, variables: &[(&str, &str)], arguments: &str) {
        self.machine.ask(&format!(
            "env -i PATH=/usr/sbin:/usr/bin ICHOR_LOG=debug {} /tmp/ichor-agent run {arguments} >>/tmp/log 2>&1 &",
            shell(variables)
        ));
    }

    /// What another command of the agent says.
    pub fn agent(&self, arguments: &str) -> Output {
        self.machine.run(&format!("/tmp/ichor-agent {arguments}"))
    }

    /// The state as the agent tells it; null while it tells none.
    pub fn status(&self) -> Value {
        serde_json::from_slice(&self.agent("status --json").stdout).unwrap_or_default()
    }

    /// Waits until the agent tells something.
    pub fn wait_for(&self, what: &str, holds: impl Fn(&Value) -> bool) {
        wait_for(what, || holds(&self.status()), || self.state());
    }

    /// What is wrong with its sessions, in the agent's words.
    pub fn troubles(&self) -> String {
        let status = self.status();
        let sessions = status["sessions"].as_array().into_iter().flatten();
        sessions.filter_map(|session| session["problem"]["message"].as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Waits until that many sessions are up.
    pub fn wait_for_sessions(&self, number: usize) {
        let up = |status: &Value| {
            let sessions = status["sessions"].as_array().into_iter().flatten();
            sessions.filter(|session| session["state"] == "established").count() == number
        };
        self.wait_for(&format!("{number} sessions"), up);
    }

    /// Sends a signal to every process of these programs.
    pub fn signal(&self, signal: &str, programs: &str) {
        // One may have ended by itself since it was listed.
        let each = format!("kill -{signal} $pid || test ! -e /proc/$pid || exit 1");
        self.machine.ask(&format!("for pid in $(pidof {programs}); do {each}; done"));
    }

    /// Ends the agent and its daemons as Talos ends a service: it tells all at once.
    pub fn end(&self) {
        self.signal("TERM", &format!("ichor-agent {DAEMONS}"));
        self.wait_until_ended();
    }

    /// Waits until no process is left.
    pub fn wait_until_ended(&self) {
        let ended = || self.processes(&format!("ichor-agent {DAEMONS}")).is_empty();
        wait_for("the end of all processes", ended, || self.state());
    }

    /// The processes of these programs.
    pub fn processes(&self, programs: &str) -> String {
        String::from_utf8(self.machine.run(&format!("pidof {programs}")).stdout).unwrap().trim().to_owned()
    }

    /// Gives the node a service address as kube-proxy would: on a link that nobody announces.
    pub fn serve(&self, address: &str) {
        self.machine.ask(&format!(
            "[ -e /sys/class/net/kube ] || ip link add kube type veth peer name kube-far\n\
             ip link set kube up; ip link set kube-far up; ip address add {address} dev kube nodad"
        ));
    }

    /// The kernel's way to an address, on one line.
    pub fn way(&self, net: &str) -> String {
        let family = if net.contains(':') { 6 } else { 4 };
        self.machine.ask(&format!("ip -o -{family} route show {net}"))
    }

    /// What can be said when something never comes.
    pub fn state(&self) -> String {
        let said = self.machine.run(
            "ip -br link; ip -br address; ip route; ip -6 route; /tmp/ichor-agent status; ps ax; tail -n 80 /tmp/log; \
             cat /run/ichor/frr.conf; vtysh -c 'show bgp vrf all summary'",
        );
        format!("----- node\n{}", String::from_utf8_lossy(&said.stdout))
    }
}

/// Variables as a shell reads them.
pub fn shell(variables: &[(&str, &str)]) -> String {
    variables.iter().map(|(name, value)| format!("{name}='{value}'")).collect::<Vec<_>>().join(" ")
}

/// What variables mean, where the daemon is FRR.
pub fn told(variables: &[(&str, &str)]) -> BgpModel {
    let variables: BTreeMap<_, _> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    meant(environment::read(&variables, &NodeName::parse("node").unwrap(), Backend::Frr).unwrap())
}

/// What a duty means.
pub fn meant(duty: AgentConfig) -> BgpModel {
    let ConfigSource::Model(meant) = duty.source else { panic!("{:?}", duty.source) };
    meant.model
}
