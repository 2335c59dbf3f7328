//! What Talos says of a configuration that it could read, before a node does.
//!
//! [`validate`] judges a [`Config`] as `talosctl validate` of a release would: [`machine`] the document with `machine` and
//! `cluster`, [`document`] every other one by itself, [`together`] what only shows when they stand side by side.
//! What Talos lets pass although it cannot work is told as [`Weight::Advice`].
//!
//! Not here: whether the text can be read at all ([`load`](super::load)).

mod document;
pub mod field;
mod machine;
mod runtime_spec;
mod together;
#[cfg(test)]
mod trial;

use crate::cluster::value::TalosVersion;

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
    /// Talos warns, and refuses when asked to be strict.
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
