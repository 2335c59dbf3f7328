//! The outcome of a boot, and the machine's hostname.

use serde_json::Value;

use super::{ConfigSourceResult, Inspection};
use ichor_talos::config::Config;
use ichor_talos::{encode, secret_value};
use ichor_values::go_yaml::emit;
use ichor_values::{Severity, TalosVersion};

/// The outcome of the machine's first boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootOutcome {
    /// It has a complete configuration, installs itself if necessary, and joins.
    Boots,
    /// It waits for a configuration, with an interface to apply one.
    Maintenance,
    /// It starts again and again, and never waits for a configuration.
    Loops,
    /// It depends on a source elsewhere, or on one that was not read.
    Depends,
}

impl BootOutcome {
    /// The outcome in a word.
    pub fn word(self) -> &'static str {
        match self {
            BootOutcome::Boots => "boots",
            BootOutcome::Maintenance => "maintenance",
            BootOutcome::Loops => "loops",
            BootOutcome::Depends => "depends",
        }
    }
}

impl Inspection {
    /// The outcome of the boot.
    pub fn outcome(&self) -> BootOutcome {
        if self.is_part {
            return BootOutcome::Depends;
        }
        if self.platform.is_empty() {
            return BootOutcome::Loops;
        }
        for source in &self.sources {
            match source.verdict {
                ConfigSourceResult::Nothing | ConfigSourceResult::Partial(_) => {}
                ConfigSourceResult::Complete(_) => return BootOutcome::Boots,
                ConfigSourceResult::Refused(_) => return BootOutcome::Loops,
                ConfigSourceResult::Elsewhere(_) | ConfigSourceResult::Unread(_) => {
                    return BootOutcome::Depends;
                }
            }
        }
        BootOutcome::Maintenance
    }

    /// Whether Talos accepts the media: the machine does not reboot in a loop, and no mistake is an error.
    pub fn is_accepted(&self) -> bool {
        let has_error = self.mistakes.iter().any(|mistake| mistake.issue.severity == Severity::Error);
        self.error.is_none() && self.outcome() != BootOutcome::Loops && !has_error
    }

    /// Which source is in force in the end: sources are not joined, each replaces the one before.
    pub fn effective_source(&self) -> Option<usize> {
        let mut taken = None;
        for (nth, source) in self.sources.iter().enumerate() {
            if source.verdict.config().is_some() {
                taken = Some(nth);
            }
            if source.verdict.ends_the_search() {
                break;
            }
        }
        taken
    }

    /// The effective configuration, as far as it is known.
    pub fn effective(&self) -> Option<&Config> {
        self.sources[self.effective_source()?].verdict.config()
    }

    /// The configuration in force as a release writes it, without its secrets.
    pub fn effective_text(&self, talos: &TalosVersion) -> Option<String> {
        let documents = encode::encode(self.effective()?, talos);
        let redacted: Vec<Value> = documents.iter().map(secret_value::redact).collect();
        Some(emit::emit_all(&redacted))
    }

    /// The hostname, as far as it is known: from the configuration, the platform or the command line.
    pub fn hostname(&self) -> Option<String> {
        let configured = self.effective().and_then(configured_hostname);
        let by_platform = || {
            let name = self.network.as_ref()?.get("hostnames")?.get(0)?;
            let [host, domain] = ["hostname", "domainname"].map(|key| name[key].as_str().unwrap_or_default());
            Some(if domain.is_empty() { host.to_owned() } else { format!("{host}.{domain}") })
        };
        configured.or_else(by_platform).or_else(|| self.command_line_hostname.clone())
    }
}

fn configured_hostname(config: &Config) -> Option<String> {
    let document = config.of_kind("HostnameConfig").find_map(|document| document.value.get("hostname"));
    let old = || config.machine()?.value.pointer("/machine/network/hostname");
    document.or_else(old)?.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}
