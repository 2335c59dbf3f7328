//! The running configuration of gobgpd, compared with its file.

use std::collections::{BTreeMap, BTreeSet};

/// Neighbours, prefix sets and policies of a file or of a running gobgpd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GobgpConfig {
    /// Neighbours by port or address.
    pub neighbors: BTreeMap<String, SessionTimers>,
    /// Prefixes of each set, as `NET LEAST..MOST`.
    pub sets: BTreeMap<String, BTreeSet<String>>,
    /// Statements of each policy.
    pub policies: BTreeMap<String, Vec<String>>,
}

/// Keepalive and hold time of a session; none where the file does not set them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTimers {
    /// Seconds between two keepalives.
    pub keepalive: Option<u64>,
    /// Seconds without messages after which the session is closed.
    pub hold: Option<u64>,
}

impl GobgpConfig {
    /// Parses a configuration file: lines `[table]`, `[[table]]` and `key = value`.
    pub fn parse(toml: &str) -> Self {
        let mut reader = TomlParser::default();
        for line in toml.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            if let Some((key, value)) = line.split_once('=') {
                reader.add_key(key.trim(), value.trim().trim_matches('"'));
            } else if line.starts_with('[') {
                reader.enter_table(line.trim_matches(['[', ']']));
            }
        }
        reader.running
    }

    /// The differences between this configuration of a file and a running one.
    pub fn missing_in(&self, running: &Self) -> Vec<String> {
        let mut all = Vec::new();
        for (name, timers) in &self.neighbors {
            match running.neighbors.get(name) {
                None => all.push(format!("neighbor {name} is missing")),
                Some(actual) if !timers.matches(*actual) => {
                    all.push(format!("neighbor {name} has different timers"));
                }
                Some(_) => {}
            }
        }
        for name in running.neighbors.keys().filter(|name| !self.neighbors.contains_key(*name)) {
            all.push(format!("neighbor {name} was not removed"));
        }
        let other = |what: &str, name: &str| format!("{what} {name} differs");
        let sets = self.sets.iter().filter(|(name, set)| running.sets.get(*name) != Some(set));
        all.extend(sets.map(|(name, _)| other("prefix set", name)));
        let policies = self.policies.iter().filter(|(name, list)| running.policies.get(*name) != Some(list));
        all.extend(policies.map(|(name, _)| other("policy", name)));
        all
    }
}

impl SessionTimers {
    /// Whether the running timers match; a timer that the file does not set matches any.
    fn matches(self, actual: Self) -> bool {
        let same =
            |configured: Option<u64>, actual: Option<u64>| configured.is_none() || configured == actual;
        same(self.keepalive, actual.keepalive) && same(self.hold, actual.hold)
    }
}

/// The position in a file.
#[derive(Default)]
struct TomlParser {
    running: GobgpConfig,
    table: String,
    /// The current neighbour; below the current set, prefix and policy.
    neighbor: String,
    set: String,
    prefix: String,
    policy: String,
}

impl TomlParser {
    fn enter_table(&mut self, name: &str) {
        name.clone_into(&mut self.table);
    }

    fn add_key(&mut self, key: &str, value: &str) {
        let running = &mut self.running;
        match (self.table.as_str(), key) {
            ("neighbors.config", "neighbor-interface" | "neighbor-address") => {
                value.clone_into(&mut self.neighbor);
                running.neighbors.entry(value.to_owned()).or_default();
            }
            ("neighbors.timers.config", "hold-time" | "keepalive-interval") => {
                let timers = running.neighbors.entry(self.neighbor.clone()).or_default();
                let slot = if key == "hold-time" { &mut timers.hold } else { &mut timers.keepalive };
                *slot = value.parse().ok();
            }
            ("defined-sets.prefix-sets", "prefix-set-name") => {
                value.clone_into(&mut self.set);
                running.sets.entry(value.to_owned()).or_default();
            }
            ("defined-sets.prefix-sets.prefix-list", "ip-prefix") => value.clone_into(&mut self.prefix),
            ("defined-sets.prefix-sets.prefix-list", "masklength-range") => {
                let set = running.sets.entry(self.set.clone()).or_default();
                set.insert(format!("{} {value}", self.prefix));
            }
            ("policy-definitions", "name") => {
                value.clone_into(&mut self.policy);
                running.policies.entry(value.to_owned()).or_default();
            }
            ("policy-definitions.statements", "name") => {
                running.policies.entry(self.policy.clone()).or_default().push(value.to_owned());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# n1: written by ichor

[global.config]
as = 65001

[[defined-sets.prefix-sets]]
prefix-set-name = \"node-addresses-v4\"

[[defined-sets.prefix-sets.prefix-list]]
ip-prefix = \"10.1.1.1/32\"
masklength-range = \"32..32\"

[[policy-definitions]]
name = \"import\"

[[policy-definitions.statements]]
name = \"import-node-addresses-v4\"

[[neighbors]]

[neighbors.config]
neighbor-interface = \"eth0\"

[neighbors.timers.config]
hold-time = 9
keepalive-interval = 3

[[neighbors]]

[neighbors.config]
neighbor-address = \"fd00::9\"
";

    fn running() -> GobgpConfig {
        let timers = SessionTimers { keepalive: Some(3), hold: Some(9) };
        let other = SessionTimers { keepalive: Some(30), hold: Some(90) };
        GobgpConfig {
            neighbors: [("eth0".to_owned(), timers), ("fd00::9".to_owned(), other)].into(),
            sets: [("node-addresses-v4".to_owned(), ["10.1.1.1/32 32..32".to_owned()].into())].into(),
            policies: [("import".to_owned(), vec!["import-node-addresses-v4".to_owned()])].into(),
        }
    }

    #[test]
    fn a_daemon_that_accepted_its_file_has_no_differences() {
        assert_eq!(GobgpConfig::parse(FILE).missing_in(&running()), [""; 0]);
    }

    #[test]
    fn every_difference_is_reported() {
        let configured =
            GobgpConfig::parse(&FILE.replace("10.1.1.1/32", "10.1.1.2/32").replace("= 9", "= 12"));
        let mut running = running();
        running.neighbors.remove("fd00::9");
        running.neighbors.insert("eth7".to_owned(), SessionTimers::default());
        running.policies.clear();

        assert_eq!(
            configured.missing_in(&running),
            [
                "neighbor eth0 has different timers",
                "neighbor fd00::9 is missing",
                "neighbor eth7 was not removed",
                "prefix set node-addresses-v4 differs",
                "policy import differs",
            ]
        );
    }
}
