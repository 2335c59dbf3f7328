//! Talos' verdict on a configuration from one source.

use std::io::Read;

use flate2::read::MultiGzDecoder;

use super::Inspection;
use crate::inspect::rules;
use ichor_talos::config::{Config, Document};
use ichor_talos::validate::{Mode, Report};
use ichor_talos::{load, secret_value};
use ichor_values::{Severity, TalosVersion};

/// The longest configuration that is unpacked.
const LONGEST: u64 = 16 << 20;

/// A source of configurations.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigSource {
    /// Its name: `STATE`, `embedded`, `talos.config.early`, `platform`, `talos.config.inline`.
    pub name: String,
    /// Its result.
    pub verdict: ConfigSourceResult,
}

/// The result of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigSourceResult {
    /// None: Talos reads the next one.
    Nothing,
    /// Documents without a machine configuration: in force until a later source has a configuration.
    Partial(Config),
    /// A complete configuration: Talos reads no further source.
    Complete(Config),
    /// A configuration that Talos rejects: it stops here and reboots.
    Refused(Vec<String>),
    /// A configuration that is fetched when the machine boots.
    Elsewhere(String),
    /// A source that ichor cannot read; if it is a complete configuration, Talos reads no further one.
    Unread(String),
}

impl ConfigSourceResult {
    /// The verdict on the bytes of a platform, which may be gzipped.
    pub(super) fn read_platform(bytes: &[u8], talos: &TalosVersion, mode: Mode) -> Self {
        if !bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
            return Self::read(bytes, talos, mode);
        }
        let mut unpacked = Vec::new();
        match MultiGzDecoder::new(bytes).take(LONGEST + 1).read_to_end(&mut unpacked) {
            Ok(_) if unpacked.len() as u64 > LONGEST => ConfigSourceResult::Refused(vec![format!(
                "the configuration is larger than {} MiB when decompressed",
                LONGEST >> 20
            )]),
            Ok(_) => Self::read(&unpacked, talos, mode),
            Err(_) => ConfigSourceResult::Refused(vec![
                "cannot decompress the configuration: corrupt or truncated gzip data".to_owned(),
            ]),
        }
    }

    /// The verdict on uncompressed bytes.
    pub(super) fn read(bytes: &[u8], talos: &TalosVersion, mode: Mode) -> Self {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return ConfigSourceResult::Refused(vec!["the configuration is not UTF-8".to_owned()]);
        };
        let report = Report::validate(text, talos, mode, false);
        match load::load(text, talos) {
            Ok(config) if report.valid && config.machine().is_some() => ConfigSourceResult::Complete(config),
            Ok(config) if report.valid => ConfigSourceResult::Partial(config),
            _ => ConfigSourceResult::Refused(reasons(&report)),
        }
    }

    /// The verdict on a URL, whose secrets are not shown.
    pub(super) fn from_url(url: &str) -> Self {
        if secret_value::in_url(url) {
            return ConfigSourceResult::Elsewhere("a URL with a secret".to_owned());
        }
        ConfigSourceResult::Elsewhere(url.to_owned())
    }

    /// Whether Talos reads no source after it.
    pub fn ends_the_search(&self) -> bool {
        match self {
            ConfigSourceResult::Complete(_)
            | ConfigSourceResult::Refused(_)
            | ConfigSourceResult::Elsewhere(_) => true,
            ConfigSourceResult::Nothing | ConfigSourceResult::Partial(_) | ConfigSourceResult::Unread(_) => {
                false
            }
        }
    }

    /// The configuration that is in force by it.
    pub fn config(&self) -> Option<&Config> {
        match self {
            ConfigSourceResult::Partial(config) | ConfigSourceResult::Complete(config) => Some(config),
            ConfigSourceResult::Nothing
            | ConfigSourceResult::Refused(_)
            | ConfigSourceResult::Elsewhere(_)
            | ConfigSourceResult::Unread(_) => None,
        }
    }

    /// The kinds of its documents: their content may be secret.
    pub fn kinds(&self) -> Option<Vec<&'static str>> {
        let kind = |document: &Document| document.kind.map_or("machine and cluster", |kind| kind.name);
        self.config().map(|config| config.documents.iter().map(kind).collect())
    }

    /// The verdict in a word.
    pub fn word(&self) -> &'static str {
        match self {
            ConfigSourceResult::Nothing => "nothing",
            ConfigSourceResult::Partial(_) => "partial",
            ConfigSourceResult::Complete(_) => "complete",
            ConfigSourceResult::Refused(_) => "refused",
            ConfigSourceResult::Elsewhere(_) => "elsewhere",
            ConfigSourceResult::Unread(_) => "unread",
        }
    }
}

/// Adds a source, and a mistake if Talos rejects its content.
pub(super) fn add_config_source(
    name: &str,
    written_in: &str,
    verdict: ConfigSourceResult,
    inspection: &mut Inspection,
) {
    if let ConfigSourceResult::Refused(reasons) = &verdict {
        let message = format!(
            "Talos rejects the configuration in {written_in} and reboots in a loop, without maintenance mode: {}",
            reasons.join("; ")
        );
        inspection.mistake(&rules::CONFIG_REFUSED, message);
    }
    inspection.sources.push(ConfigSource { name: name.to_owned(), verdict });
}

/// The errors of a validation. Its messages name keys, never secrets.
fn reasons(report: &Report) -> Vec<String> {
    let errors = report.entries.iter().filter(|entry| entry.issue.severity == Severity::Error);
    errors.map(|entry| format!("line {}: {}", entry.line, entry.issue.headline())).collect()
}
