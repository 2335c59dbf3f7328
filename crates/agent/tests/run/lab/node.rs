//! A node on which only the agent configures routing.

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
use ichor_testbed::schema::assert_valid;

/// The programs that an agent may have started.
const DAEMONS: &str = "mgmtd zebra bgpd staticd bfdd bird gobgpd";

pub struct Node {
    pub machine: LabMachine,
}

impl Node {
    /// A machine with the agent, which does not run yet.
    pub fn new(machine: LabMachine) -> Self {
        // The static program of `make agent` if it exists: it is a tenth of the other, and loads as fast under
        // emulation.
        let static_agent = env::var("ICHOR_AGENT").ok().filter(|agent| Path::new(agent).exists());
        let agent = static_agent.unwrap_or_else(|| AGENT.to_owned());
        if machine.path(&agent).exists() {
            machine.ask(&format!("ln -s {agent} /tmp/ichor-agent"));
        } else {
            // Without debug information it is small: it is in memory, which is all that machines have of their own.
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

    /// Runs another command of the agent.
    pub fn agent(&self, arguments: &str) -> Output {
        self.machine.run(&format!("/tmp/ichor-agent {arguments}"))
    }

    /// The status as reported by the agent; null without one.
    pub fn status(&self) -> Value {
        let status = serde_json::from_slice(&self.agent("status --json").stdout).unwrap_or_default();
        if status != Value::Null {
            assert_valid("agent-status", &status);
        }
        status
    }

    /// Waits until the agent's status fulfils a condition.
    pub fn wait_for(&self, what: &str, condition: impl Fn(&Value) -> bool) {
        wait_for(what, || condition(&self.status()), || self.state());
    }

    /// The problems of its sessions, as reported by the agent.
    pub fn problems(&self) -> String {
        let status = self.status();
        let sessions = status["sessions"].as_array().into_iter().flatten();
        sessions.filter_map(|session| session["problem"].as_str()).collect::<Vec<_>>().join("\n")
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
        // A process may have ended since it was listed.
        let each = format!("kill -{signal} $pid || test ! -e /proc/$pid || exit 1");
        self.machine.ask(&format!("for pid in $(pidof {programs}); do {each}; done"));
    }

    /// Stops the agent and its daemons as Talos stops a service: with a signal to all at once.
    pub fn stop(&self) {
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

    /// Adds a service address to the node as kube-proxy would: on a link that is not announced.
    pub fn serve(&self, address: &str) {
        self.machine.ask(&format!(
            "[ -e /sys/class/net/kube ] || ip link add kube type veth peer name kube-far\n\
             ip link set kube up; ip link set kube-far up; ip address add {address} dev kube nodad"
        ));
    }

    /// The kernel's route to an address, on one line.
    pub fn route_to(&self, net: &str) -> String {
        let family = if net.contains(':') { 6 } else { 4 };
        self.machine.ask(&format!("ip -o -{family} route show {net}"))
    }

    /// The state to print after a timeout.
    pub fn state(&self) -> String {
        let output = self.machine.run(
            "ip -br link; ip -br address; ip route; ip -6 route; /tmp/ichor-agent status; ps ax; tail -n 80 /tmp/log; \
             cat /run/ichor/frr.conf; vtysh -c 'show bgp vrf all summary'",
        );
        format!("----- node\n{}", String::from_utf8_lossy(&output.stdout))
    }
}

/// Variables in shell syntax.
pub fn shell(variables: &[(&str, &str)]) -> String {
    variables.iter().map(|(name, value)| format!("{name}='{value}'")).collect::<Vec<_>>().join(" ")
}

/// The model of variables, with FRR as the daemon.
pub fn model_of_variables(variables: &[(&str, &str)]) -> BgpModel {
    let variables: BTreeMap<_, _> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    model_of(environment::read_config(&variables, &NodeName::parse("node").unwrap(), Backend::Frr).unwrap())
}

/// The model of a configuration.
pub fn model_of(config: AgentConfig) -> BgpModel {
    let ConfigSource::Model(bgp) = config.source else { panic!("{:?}", config.source) };
    bgp.model
}
