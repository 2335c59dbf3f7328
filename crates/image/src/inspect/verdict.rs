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
pub struct Source {
    /// What it is called: `STATE`, `embedded`, `talos.config.early`, `platform`, `talos.config.inline`.
    pub name: String,
    /// What comes of it.
    pub verdict: Verdict,
}

/// What comes of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing: Talos asks the next.
    Nothing,
    /// Documents that are no whole configuration: in force until another source has something.
    Partial(Config),
    /// A whole configuration: nothing else is asked.
    Complete(Config),
    /// Something that Talos does not take: it stops here and starts again.
    Refused(Vec<String>),
    /// Something that is fetched from elsewhere when the machine boots.
    Elsewhere(String),
    /// Something that ichor does not read; where it is a whole configuration, nothing else is asked.
    Unread(String),
}

impl Verdict {
    /// The verdict on the bytes of a platform, which may be gzipped.
    pub(super) fn of_platform(bytes: &[u8], talos: &TalosVersion, mode: Mode) -> Self {
        if !bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
            return Self::of(bytes, talos, mode);
        }
        let mut unpacked = Vec::new();
        match MultiGzDecoder::new(bytes).take(LONGEST + 1).read_to_end(&mut unpacked) {
            Ok(_) if unpacked.len() as u64 > LONGEST => {
                Verdict::Refused(vec![format!("unpacked, it is longer than {} MiB", LONGEST >> 20)])
            }
            Ok(_) => Self::of(&unpacked, talos, mode),
            Err(_) => Verdict::Refused(vec![
                "it is gzipped and cannot be unpacked: it is broken or cut off".to_owned(),
            ]),
        }
    }

    /// The verdict on bytes as they are.
    pub(super) fn of(bytes: &[u8], talos: &TalosVersion, mode: Mode) -> Self {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Verdict::Refused(vec!["it is not UTF-8 text".to_owned()]);
        };
        let report = Report::of(text, talos, mode, false);
        match load::load(text, talos) {
            Ok(config) if report.valid && config.machine().is_some() => Verdict::Complete(config),
            Ok(config) if report.valid => Verdict::Partial(config),
            _ => Verdict::Refused(reasons(&report)),
        }
    }

    /// The verdict on a URL, whose secrets are not shown.
    pub(super) fn fetched(url: &str) -> Self {
        if secret_value::in_url(url) {
            return Verdict::Elsewhere("a URL with a secret in it".to_owned());
        }
        Verdict::Elsewhere(url.to_owned())
    }

    /// Whether Talos asks no source after it.
    pub fn ends_the_search(&self) -> bool {
        match self {
            Verdict::Complete(_) | Verdict::Refused(_) | Verdict::Elsewhere(_) => true,
            Verdict::Nothing | Verdict::Partial(_) | Verdict::Unread(_) => false,
        }
    }

    /// The configuration that is in force by it.
    pub fn config(&self) -> Option<&Config> {
        match self {
            Verdict::Partial(config) | Verdict::Complete(config) => Some(config),
            Verdict::Nothing | Verdict::Refused(_) | Verdict::Elsewhere(_) | Verdict::Unread(_) => None,
        }
    }

    /// The kinds of its documents: what is in them may be secret.
    pub fn kinds(&self) -> Option<Vec<&'static str>> {
        let kind = |document: &Document| document.kind.map_or("machine and cluster", |kind| kind.name);
        self.config().map(|config| config.documents.iter().map(kind).collect())
    }

    /// The verdict in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Nothing => "nothing",
            Verdict::Partial(_) => "partial",
            Verdict::Complete(_) => "complete",
            Verdict::Refused(_) => "refused",
            Verdict::Elsewhere(_) => "elsewhere",
            Verdict::Unread(_) => "unread",
        }
    }
}

/// Adds a source, and a mistake where Talos does not take what is in it.
pub(super) fn config_source(name: &str, written_in: &str, verdict: Verdict, inspection: &mut Inspection) {
    if let Verdict::Refused(reasons) = &verdict {
        let message = format!(
            "Talos does not take the configuration in {written_in} and starts again for ever, without maintenance mode: {}",
            reasons.join("; ")
        );
        inspection.mistake(&rules::CONFIG_REFUSED, message);
    }
    inspection.sources.push(Source { name: name.to_owned(), verdict });
}

/// What was said against it. Messages of the validation name keys, never secrets.
fn reasons(report: &Report) -> Vec<String> {
    let errors = report.entries.iter().filter(|entry| entry.issue.severity == Severity::Error);
    errors.map(|entry| format!("line {}: {}", entry.line, entry.issue.headline())).collect()
}
