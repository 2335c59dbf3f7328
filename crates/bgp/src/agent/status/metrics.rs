//! The status as Prometheus metrics, in the text exposition format, version 0.0.4.

use super::{AgentStage, AgentStatus, PeerRole};
use crate::agent::health_gate::GateState;
use crate::agent::session::SessionState;

/// The type of a metric.
#[derive(Clone, Copy)]
enum MetricType {
    Gauge,
    Counter,
}

/// The text of the exposition format.
#[derive(Default)]
struct Exposition(String);

impl Exposition {
    /// Writes one metric with all its samples; nothing without samples.
    fn metric(
        &mut self,
        kind: MetricType,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'static str, String)>, u64)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        let kind = match kind {
            MetricType::Gauge => "gauge",
            MetricType::Counter => "counter",
        };
        self.0.push_str(&format!("# HELP ichor_agent_{name} {help}\n# TYPE ichor_agent_{name} {kind}\n"));
        for (labels, value) in samples {
            let labels: Vec<_> =
                labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escape(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            self.0.push_str(&format!("ichor_agent_{name}{labels} {value}\n"));
        }
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl AgentStatus {
    /// The status as Prometheus metrics.
    pub fn metrics(&self) -> String {
        let mut text = Exposition::default();
        self.node_metrics(&mut text);
        self.session_metrics(&mut text);
        self.daemon_metrics(&mut text);
        text.0
    }

    fn node_metrics(&self, text: &mut Exposition) {
        let about = vec![
            ("node", self.node.clone()),
            ("agent_version", self.agent.clone()),
            ("backend", self.backend.to_string()),
            ("daemon_version", self.version.clone().unwrap_or_default()),
        ];
        let one = |value| [(Vec::new(), value)];
        text.metric(MetricType::Gauge, "info", "Releases of the agent and its routing daemon.", [(about, 1)]);
        let stages =
            AgentStage::ALL.map(|stage| (vec![("stage", stage.to_string())], u64::from(stage == self.stage)));
        text.metric(MetricType::Gauge, "stage", "Stage of the agent: 1 for the current one.", stages);
        let healthy = u64::from(self.health().is_ok());
        text.metric(MetricType::Gauge, "healthy", "Whether the node's routing is healthy.", one(healthy));
        text.metric(
            MetricType::Gauge,
            "waiting_for",
            "Number of missing or failing prerequisites.",
            one(self.waiting.len() as u64),
        );
        let open =
            self.anycast.iter().map(|anycast| (Vec::new(), u64::from(anycast.gate == GateState::Open)));
        text.metric(MetricType::Gauge, "anycast_announced", "Whether anycast addresses are announced.", open);
        let reloads = || self.reload.iter();
        let accepted = reloads().map(|reload| (Vec::new(), u64::from(reload.refused.is_none())));
        text.metric(
            MetricType::Gauge,
            "last_reload_successful",
            "Whether the daemon accepted its last configuration.",
            accepted,
        );
        let at = reloads().map(|reload| (Vec::new(), reload.time.unix()));
        text.metric(MetricType::Gauge, "last_reload_time_seconds", "Unix time of the last reload.", at);
        let help = "Routes restored after another program removed them from the kernel.";
        text.metric(MetricType::Counter, "routes_restored_total", help, one(self.restored));
        text.metric(
            MetricType::Gauge,
            "status_time_seconds",
            "Unix time of this status.",
            one(self.time.unix()),
        );
    }

    fn session_metrics(&self, text: &mut Exposition) {
        let sessions = self.unique_sessions();
        let labels = |status: &super::SessionStatus| {
            let domain = status.session.domain.clone().unwrap_or_default();
            let role = match status.with {
                PeerRole::Fabric => "fabric",
                PeerRole::Speaker => "load_balancer",
            };
            vec![
                ("peer", status.session.peer.clone()),
                ("vrf_or_namespace", domain),
                ("peer_role", role.to_owned()),
            ]
        };
        let mut each =
            |kind, name: &str, help: &str, value: &dyn Fn(&super::SessionStatus) -> Option<u64>| {
                let samples = sessions.iter().filter_map(|status| Some((labels(status), value(status)?)));
                text.metric(kind, name, help, samples);
            };
        each(MetricType::Gauge, "session_established", "Whether the session is established.", &|status| {
            Some(u64::from(status.session.is_established()))
        });
        each(
            MetricType::Gauge,
            "session_state",
            "State of the session, from 0 (Idle) to 5 (Established).",
            &|status| {
                SessionState::ALL
                    .iter()
                    .position(|state| *state == status.session.state)
                    .map(|nth| nth as u64)
            },
        );
        each(
            MetricType::Gauge,
            "session_uptime_seconds",
            "Seconds since the session was established.",
            &|status| status.session.uptime,
        );
        each(
            MetricType::Counter,
            "session_established_total",
            "Number of times the session was established.",
            &|status| Some(u64::from(status.session.established)),
        );
        each(MetricType::Gauge, "session_prefixes_received", "Prefixes received from the peer.", &|status| {
            Some(u64::from(status.session.received))
        });
        each(MetricType::Gauge, "session_prefixes_sent", "Prefixes sent to the peer.", &|status| {
            Some(u64::from(status.session.sent))
        });
        each(MetricType::Gauge, "session_bfd_up", "Whether BFD reports the path as up.", &|status| {
            status.session.bfd.map(u64::from)
        });
        each(MetricType::Gauge, "session_problem", "Whether the session has a problem.", &|status| {
            Some(u64::from(status.trouble.is_some()))
        });
    }

    fn daemon_metrics(&self, text: &mut Exposition) {
        let mut each = |kind, name: &str, help: &str, value: &dyn Fn(&super::DaemonStatus) -> u64| {
            let samples =
                self.daemons.iter().map(|daemon| (vec![("daemon", daemon.name.clone())], value(daemon)));
            text.metric(kind, name, help, samples);
        };
        each(MetricType::Gauge, "daemon_up", "Whether the daemon runs and responds.", &|daemon| {
            u64::from(daemon.answers)
        });
        each(MetricType::Counter, "daemon_restarts_total", "Number of restarts of the daemon.", &|daemon| {
            u64::from(daemon.restarts)
        });
        each(
            MetricType::Gauge,
            "daemon_state_change_time_seconds",
            "Unix time at which the daemon started or ended.",
            &|daemon| daemon.since.unix(),
        );
    }
}
