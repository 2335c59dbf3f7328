//! What a Talos release makes of boot media, before a machine boots from them.
//!
//! [`BootMedia`] are what is there when a machine boots: a command line, a configuration in the image, the META partition, and
//! [`ConfigVolume`]s, which are folders and volumes with files for a platform. They are read out of an image, a folder, a command line
//! or a schematic. [`inspect`] says what a [`TargetMachine`] does with them, in an [`Inspection`]: the platform, the network, the
//! [`ConfigSource`]s of configurations in the order Talos asks them, each with its [`ConfigSourceResult`], and each [`MediaProblem`].
//!
//! In the order they are used: `image`, `boot_entry`, `inside` and `schematic` make the media; `command_line` finds the platform, `platform`
//! its network and configuration, `verdict` judges configurations, `addressing` and `outcome` say what comes of it all.
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
    /// Its physical links; none where they are not known.
    pub links: Vec<Link>,
}

/// What a release makes of media.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// The platform; empty where there is none.
    pub platform: String,
    /// The release that the media have, where they say it.
    pub release: Option<DetectedRelease>,
    /// The extensions of the release, the lowest first; none where it is not known which there are.
    pub extensions: Option<Vec<Layer>>,
    /// What the kernel is told, without secrets; none where it is not known.
    pub arguments: Option<Vec<String>>,
    /// Whether this is only a part of what boots, of which nobody knows how.
    pub is_part: bool,
    /// What was found and what Talos takes it for, in the order it is looked at.
    pub found: Vec<MediaItem>,
    /// The network that the platform gives, in Talos' field names.
    pub network: Option<Value>,
    /// Why the platform gives none, although it should.
    pub error: Option<String>,
    /// Whether Talos goes on looking for links that are not there.
    pub needs_reconcile: bool,
    /// What the command line calls the machine; any other name goes before it.
    pub(crate) command_line_hostname: Option<String>,
    /// Where configurations may come from, in the order Talos asks.
    pub sources: Vec<ConfigSource>,
    /// The addresses of the machine and where it asks for more.
    pub addressing: Vec<AddressAssignment>,
    /// What is wrong.
    pub mistakes: Vec<MediaProblem>,
}

/// Something found on media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaItem {
    /// A partition, a file or a parameter.
    pub name: String,
    /// Its length in bytes.
    pub length: u64,
    /// What Talos takes it for.
    pub taken_for: String,
}

/// Something wrong with media.
#[derive(Clone, Debug)]
pub struct MediaProblem {
    /// What kind of mistake it is.
    pub rule: &'static Explanation,
    /// What is wrong, and what comes of it. It is about the media as a whole; severity and help are the rule's.
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
