//! The state in Prometheus' text exposition format, version 0.0.4.

use super::{Stage, Status};
use crate::agent::gate::Position;
use crate::agent::session::State;

/// How a metric is written down.
#[derive(Clone, Copy)]
enum Kind {
    Gauge,
    Counter,
}

/// The text under way.
#[derive(Default)]
struct Exposition(String);

impl Exposition {
    /// One metric with all its samples; nothing when there are none.
    fn metric(
        &mut self,
        kind: Kind,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'static str, String)>, u64)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
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

impl Status {
    /// The state as Prometheus reads it.
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
            ("version", self.agent.clone()),
            ("backend", self.backend.to_string()),
            ("backend_version", self.version.clone().unwrap_or_default()),
        ];
        let one = |value| [(Vec::new(), value)];
        text.metric(Kind::Gauge, "info", "The agent and the daemon it runs.", [(about, 1)]);
        let stages =
            Stage::ALL.map(|stage| (vec![("stage", stage.to_string())], u64::from(stage == self.stage)));
        text.metric(Kind::Gauge, "stage", "What the agent is about: 1 for one of the stages.", stages);
        let healthy = u64::from(self.health().is_ok());
        text.metric(Kind::Gauge, "healthy", "Whether the node's routing works.", one(healthy));
        text.metric(Kind::Gauge, "waiting", "Things that are missing.", one(self.waiting.len() as u64));
        let open = self.anycast.iter().map(|anycast| (Vec::new(), u64::from(anycast.gate == Position::Open)));
        text.metric(Kind::Gauge, "anycast_open", "Whether anycast addresses are announced.", open);
        let reloads = || self.reload.iter();
        let taken = reloads().map(|reload| (Vec::new(), u64::from(reload.refused.is_none())));
        text.metric(
            Kind::Gauge,
            "reload_taken",
            "Whether the daemon took its last new configuration.",
            taken,
        );
        let at = reloads().map(|reload| (Vec::new(), reload.time.unix()));
        text.metric(Kind::Gauge, "reload_time_seconds", "When it was given that.", at);
        let help = "Routes put back that another program took out of the kernel.";
        text.metric(Kind::Counter, "routes_restored_total", help, one(self.restored));
        text.metric(
            Kind::Gauge,
            "status_time_seconds",
            "When the state was looked at.",
            one(self.time.unix()),
        );
    }

    fn session_metrics(&self, text: &mut Exposition) {
        let sessions = self.each_once();
        let labels = |told: &super::Told| {
            let domain = told.session.domain.clone().unwrap_or_default();
            vec![("peer", told.session.peer.clone()), ("domain", domain), ("with", told.with.to_string())]
        };
        let mut each = |kind, name: &str, help: &str, value: &dyn Fn(&super::Told) -> Option<u64>| {
            let samples = sessions.iter().filter_map(|told| Some((labels(told), value(told)?)));
            text.metric(kind, name, help, samples);
        };
        each(Kind::Gauge, "session_established", "Whether the session stands.", &|told| {
            Some(u64::from(told.session.is_established()))
        });
        each(Kind::Gauge, "session_state", "How far it is: 0 is Idle, 5 is Established.", &|told| {
            State::ALL.iter().position(|state| *state == told.session.state).map(|nth| nth as u64)
        });
        each(Kind::Gauge, "session_uptime_seconds", "Seconds since it was established.", &|told| {
            told.session.uptime
        });
        each(Kind::Counter, "session_established_total", "How often it was established.", &|told| {
            Some(u64::from(told.session.established))
        });
        each(Kind::Gauge, "session_prefixes_received", "Prefixes that came in.", &|told| {
            Some(u64::from(told.session.received))
        });
        each(Kind::Gauge, "session_prefixes_sent", "Prefixes that went out.", &|told| {
            Some(u64::from(told.session.sent))
        });
        each(Kind::Gauge, "session_bfd_up", "Whether BFD says the path works.", &|told| {
            told.session.bfd.map(u64::from)
        });
        each(Kind::Gauge, "session_trouble", "Whether something is wrong with it.", &|told| {
            Some(u64::from(told.trouble.is_some()))
        });
    }

    fn daemon_metrics(&self, text: &mut Exposition) {
        let mut each = |kind, name: &str, help: &str, value: &dyn Fn(&super::Daemon) -> u64| {
            let samples =
                self.daemons.iter().map(|daemon| (vec![("daemon", daemon.name.clone())], value(daemon)));
            text.metric(kind, name, help, samples);
        };
        each(Kind::Gauge, "daemon_up", "Whether the daemon runs and answers.", &|daemon| {
            u64::from(daemon.answers)
        });
        each(Kind::Counter, "daemon_restarts_total", "How often it was started again.", &|daemon| {
            u64::from(daemon.restarts)
        });
        each(Kind::Gauge, "daemon_since_seconds", "Since when it runs, or does not.", &|daemon| {
            daemon.since.unix()
        });
    }
}
