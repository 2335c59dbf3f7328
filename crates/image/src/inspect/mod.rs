//! Inspects boot media as a Talos release reads them, before a machine boots from them.
//!
//! [`BootMedia`] are everything that a machine finds when it boots: a command line, a configuration in the image, the META partition, and
//! [`ConfigVolume`]s, which are folders and volumes with files for a platform. They are read out of an image, a folder, a command line
//! or a schematic. [`inspect`] returns the effect on a [`TargetMachine`] as an [`Inspection`]: the platform, the network, the
//! [`ConfigSource`]s in the order Talos reads them, each with its [`ConfigSourceResult`], and each [`MediaProblem`].
//!
//! In the order they are used: `image`, `boot_entry`, `contents` and `schematic` read the media; `command_line` finds the platform,
//! `platform` its network and configuration, `config_source` validates configurations, `addressing` and `outcome` derive the result.
//!
//! Not here: opening files (the command), and Talos' formats themselves (`ichor_talos`).

mod addressing;
mod boot_entry;
mod command_line;
mod config_source;
mod config_volume;
mod contents;
mod image;
mod media;
mod outcome;
mod platform;
pub mod rules;
mod schematic;
#[cfg(test)]
mod tests;

use serde_json::Value;

use ichor_talos::extension::Layer;
use ichor_talos::nocloud::Link;
use ichor_values::{Explanation, Issue, TalosVersion};

pub use self::addressing::{AddressAssignment, AddressOrigin};
pub use self::config_source::{ConfigSource, ConfigSourceResult};
pub use self::config_volume::ConfigVolume;
pub use self::contents::DetectedRelease;
pub use self::media::{BootMedia, EmbeddedError, InspectError, MetaValuesError, inspect};
pub use self::outcome::BootOutcome;
pub use self::schematic::SchematicError;

/// The machine that is to boot.
#[derive(Clone, Debug)]
pub struct TargetMachine {
    /// The release it runs.
    pub talos: TalosVersion,
    /// Its physical links; none if unknown.
    pub links: Vec<Link>,
}

/// The result of an inspection.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// The platform; empty if unknown.
    pub platform: String,
    /// The release that the media have, where they say it.
    pub release: Option<DetectedRelease>,
    /// The extensions of the release, the lowest first; none if unknown.
    pub extensions: Option<Vec<Layer>>,
    /// The kernel arguments, without secrets; none if unknown.
    pub arguments: Option<Vec<String>>,
    /// Whether this is only a part of boot media, and the other parts are unknown.
    pub is_part: bool,
    /// The items found and their use in Talos, in the order they are read.
    pub found: Vec<MediaItem>,
    /// The network that the platform gives, in Talos' field names.
    pub network: Option<Value>,
    /// Why the platform gives none, although it should.
    pub error: Option<String>,
    /// Whether Talos keeps searching for missing links.
    pub needs_reconcile: bool,
    /// The hostname on the command line; any other source takes precedence.
    pub(crate) command_line_hostname: Option<String>,
    /// The sources of configurations, in the order Talos reads them.
    pub sources: Vec<ConfigSource>,
    /// The addresses of the machine and its operators for more.
    pub addressing: Vec<AddressAssignment>,
    /// The mistakes.
    pub mistakes: Vec<MediaProblem>,
}

/// An item on boot media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaItem {
    /// A partition, a file or a parameter.
    pub name: String,
    /// Its length in bytes.
    pub length: u64,
    /// Its use in Talos.
    pub taken_for: String,
}

/// A mistake of boot media.
#[derive(Clone, Debug)]
pub struct MediaProblem {
    /// The rule.
    pub rule: &'static Explanation,
    /// The problem and its effect. It is about the media in general; severity and help are the rule's.
    pub issue: Issue,
}

impl MediaProblem {
    fn new(rule: &'static Explanation, message: impl Into<String>) -> Self {
        Self { rule, issue: rule.issue("", message) }
    }
}

impl MediaItem {
    fn new(name: impl Into<String>, length: usize, taken_for: impl Into<String>) -> Self {
        Self { name: name.into(), length: length as u64, taken_for: taken_for.into() }
    }
}

impl Inspection {
    fn find(&mut self, name: &str, length: usize, taken_for: impl Into<String>) {
        self.found.push(MediaItem::new(name, length, taken_for));
    }

    fn mistake(&mut self, rule: &'static Explanation, message: impl Into<String>) {
        self.mistakes.push(MediaProblem::new(rule, message));
    }
}
