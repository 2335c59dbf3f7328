//! What a Talos release makes of boot media, before a machine boots from them.
//!
//! A [`Volume`] is the files of a medium, wherever they came from: a folder, an ISO, a disk. [`volume`] and
//! [`command_line`](mod@command_line) read one on a machine as [`Machine`] says, and give an [`Inspection`]: the platform, the
//! network, each configuration with Talos' verdict, what the machine will do, and each [`Mistake`].
//!
//! Not here: opening folders and images (the command), and Talos' formats themselves ([`talos`](crate::talos)).

pub mod command_line;
mod outcome;
mod verdict;
mod volume;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cluster::value::TalosVersion;
use crate::talos::nocloud::Link;

pub use self::command_line::command_line;
pub use self::outcome::Outcome;
pub use self::verdict::{Source, Verdict};
pub use self::volume::{VolumeError, volume};

/// The files in the root of a medium.
#[derive(Clone, Debug, Default)]
pub struct Volume {
    /// The label of its file system; none for a folder, which is taken for one with the right label.
    pub label: Option<String>,
    /// The files by their names.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// The machine that is to boot.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The release it runs.
    pub talos: TalosVersion,
    /// Its physical links.
    pub links: Vec<Link>,
}

/// What a release makes of a medium.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// The platform; empty where there is none.
    pub platform: String,
    /// What was found and what Talos takes it for, in the order it is looked at.
    pub found: Vec<Found>,
    /// The network that the platform gives, in Talos' field names.
    pub network: Option<Value>,
    /// Why the platform gives none, although it should.
    pub error: Option<String>,
    /// Whether Talos goes on looking for links that are not there.
    pub needs_reconcile: bool,
    /// What the command line calls the machine; any other name goes before it.
    pub command_line_hostname: Option<String>,
    /// Where configurations may come from, in the order Talos asks.
    pub sources: Vec<Source>,
    /// What is wrong.
    pub mistakes: Vec<Mistake>,
}

/// Something found on a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// A file or a parameter.
    pub name: String,
    /// Its length in bytes.
    pub length: usize,
    /// What Talos takes it for.
    pub taken_for: String,
}

/// Something wrong with a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What kind of mistake it is.
    pub rule: &'static str,
    /// What is wrong, and what comes of it.
    pub message: String,
    /// What would be right.
    pub fix: String,
}

impl Inspection {
    fn find(&mut self, name: &str, length: usize, taken_for: impl Into<String>) {
        self.found.push(Found { name: name.to_owned(), length, taken_for: taken_for.into() });
    }

    fn mistake(&mut self, rule: &'static str, message: impl Into<String>, fix: impl Into<String>) {
        self.mistakes.push(Mistake { rule, message: message.into(), fix: fix.into() });
    }
}
