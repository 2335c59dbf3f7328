//! What Talos says of a configuration that it could read, before a node does.
//!
//! [`validate`] judges a [`Config`] as `talosctl validate` of a release would: `machine` the document with `machine` and
//! `cluster`, `document` every other one by itself, `together` what only shows when they stand side by side.
//! What Talos lets pass although it cannot work is told as [`Weight::Advice`].
//!
//! Not here: whether the text can be read at all ([`load`](super::load)).

mod document;
mod endpoint;
pub mod field;
mod image;
mod kubelet;
mod machine;
mod report;
mod runtime_spec;
mod subnet;
mod together;
#[cfg(test)]
mod trial;

pub use report::{Entry, Report};

use ichor_values::TalosVersion;

use super::config::Config;
use super::release;

/// Where a configuration is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A machine that Talos installs itself on.
    Metal,
    /// A machine whose disk is Talos' image already.
    Cloud,
    /// A container.
    Container,
}

/// How much a flaw weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Talos refuses the configuration.
    Error,
    /// Talos warns, and may refuse when asked to be strict: see [`is_refused`].
    Warning,
    /// Talos says nothing, but it cannot be meant so.
    Advice,
}

/// Something wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// How much it weighs.
    pub weight: Weight,
    /// Which document, counted from 0.
    pub document: usize,
    /// The keys that lead to it, such as `machine.network.interfaces[0].vip`; empty for the whole document.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// What a validator knows beside the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The release that judges.
    pub talos: &'a TalosVersion,
    /// Where it is to run.
    pub mode: Mode,
}

impl Setting<'_> {
    /// Whether the release is at least 1.`minor`.
    pub fn at_least(&self, minor: u16) -> bool {
        release::at_least(self.talos, minor)
    }
}

/// Flaws, as they are found.
#[derive(Debug, Default)]
pub struct Flaws {
    found: Vec<Flaw>,
    document: usize,
}

impl Flaws {
    /// Talos refuses it.
    pub fn error(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.add(Weight::Error, path.into(), message.into());
    }

    /// Talos warns.
    pub fn warning(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.add(Weight::Warning, path.into(), message.into());
    }

    /// Talos says nothing.
    pub fn advice(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.add(Weight::Advice, path.into(), message.into());
    }

    fn add(&mut self, weight: Weight, path: String, message: String) {
        self.found.push(Flaw { weight, document: self.document, path, message });
    }
}

/// What a release says of a configuration in a mode.
pub fn validate(config: &Config, setting: Setting<'_>) -> Vec<Flaw> {
    let mut flaws = Flaws::default();
    for (nth, document) in config.documents.iter().enumerate() {
        flaws.document = nth;
        match document.kind {
            None => machine::validate(&document.value, setting, &mut flaws),
            Some(kind) => document::validate(kind, &document.value, setting, &mut flaws),
        }
    }
    together::validate(config, setting, &mut flaws);
    flaws.found
}

/// Whether Talos refuses a configuration with these flaws.
///
/// Asked to be strict it refuses what it warns of too, but only in the document with `machine` and `cluster`: every
/// release leaves warnings of the other documents at that.
pub fn is_refused(config: &Config, flaws: &[Flaw], strict: bool) -> bool {
    flaws.iter().any(|flaw| match flaw.weight {
        Weight::Error => true,
        Weight::Warning => {
            strict && config.documents.get(flaw.document).is_some_and(|document| document.kind.is_none())
        }
        Weight::Advice => false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::config::Document;
    use crate::kind;

    #[test]
    fn strictness_is_about_the_machine_document() {
        let document = |kind| Document { kind, value: Value::Null };
        let config = Config { documents: vec![document(None), document(kind::find("BGPInstanceConfig"))] };
        let flaw = |weight, document| Flaw { weight, document, path: String::new(), message: String::new() };
        let refused = |weight, document, strict| is_refused(&config, &[flaw(weight, document)], strict);

        assert!(refused(Weight::Error, 1, false) && refused(Weight::Warning, 0, true));
        assert!(!refused(Weight::Warning, 0, false) && !refused(Weight::Warning, 1, true));
        assert!(!refused(Weight::Advice, 0, true));
    }
}
