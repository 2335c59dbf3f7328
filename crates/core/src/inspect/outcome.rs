//! What a machine will do, and what it will be called.

use serde_json::Value;

use super::{Inspection, Verdict};
use crate::talos::config::Config;

/// What becomes of the machine at its first boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has a whole configuration, installs itself where it has to, and joins.
    Boots,
    /// It waits for a configuration, with an interface to apply one.
    Maintenance,
    /// It starts again and again, and never waits for a configuration.
    Loops,
    /// It depends on what another machine answers.
    Depends,
}

impl Outcome {
    /// The outcome in a word.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Boots => "boots",
            Outcome::Maintenance => "maintenance",
            Outcome::Loops => "loops",
            Outcome::Depends => "depends",
        }
    }
}

impl Inspection {
    /// What becomes of a machine that has nothing on its disk.
    pub fn outcome(&self) -> Outcome {
        if self.platform.is_empty() {
            return Outcome::Loops;
        }
        for source in &self.sources {
            match source.verdict {
                Verdict::Nothing | Verdict::Partial(_) => {}
                Verdict::Complete(_) => return Outcome::Boots,
                Verdict::Refused(_) => return Outcome::Loops,
                Verdict::Elsewhere(_) => return Outcome::Depends,
            }
        }
        Outcome::Maintenance
    }

    /// The configuration in force in the end: sources are not joined, each replaces the one before.
    pub fn effective(&self) -> Option<&Config> {
        let mut effective = None;
        for source in &self.sources {
            match &source.verdict {
                Verdict::Nothing => {}
                Verdict::Partial(config) => effective = Some(config),
                Verdict::Complete(config) => return Some(config),
                Verdict::Refused(_) | Verdict::Elsewhere(_) => return effective,
            }
        }
        effective
    }

    /// What the machine is called, as far as that is known: by its configuration, its platform or its command line.
    pub fn hostname(&self) -> Option<String> {
        let configured = self.effective().and_then(configured_hostname);
        let by_platform = || {
            let name = self.network.as_ref()?.get("hostnames")?.get(0)?;
            let [host, domain] = ["hostname", "domainname"].map(|key| name[key].as_str().unwrap_or_default());
            Some(if domain.is_empty() { host.to_owned() } else { format!("{host}.{domain}") })
        };
        configured.or_else(by_platform).or_else(|| self.command_line_hostname.clone())
    }

    /// The addresses that the platform gives, each with its link.
    pub fn addresses(&self) -> Vec<(String, String)> {
        self.listed("addresses", "address")
    }

    /// DHCP that the platform asks for, each with its link.
    pub fn dhcp(&self) -> Vec<(String, String)> {
        self.listed("operators", "operator")
    }

    fn listed(&self, list: &str, key: &str) -> Vec<(String, String)> {
        let items = self.network.as_ref().and_then(|network| network[list].as_array()).into_iter().flatten();
        let text = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
        items.map(|item| (text(item, "linkName"), text(item, key))).collect()
    }
}

fn configured_hostname(config: &Config) -> Option<String> {
    let document = config.of_kind("HostnameConfig").find_map(|document| document.value.get("hostname"));
    let old = || config.machine()?.value.pointer("/machine/network/hostname");
    document.or_else(old)?.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}
