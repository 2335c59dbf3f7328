//! libvirt through its own program: connections, and whoever may make them, are set up for it already.

use std::process::Command;
use std::time::Duration;

use crate::machines::Kind;
use crate::machines::program::{PATIENCE, Tool, ToolError};

const VIRSH: Tool = Tool { name: "virsh", remedy: "install libvirt-clients" };

/// How long a file may be on its way.
const LONG: Duration = Duration::from_hours(1);

/// One host.
#[derive(Debug)]
pub(super) struct Virsh {
    uri: String,
}

impl Virsh {
    pub(super) fn new(uri: &str) -> Self {
        Self { uri: uri.to_owned() }
    }

    /// Its address, for people.
    pub(super) fn place(&self) -> String {
        crate::http::shown(&self.uri)
    }

    /// Says something to it.
    pub(super) fn say(&self, words: &[&str]) -> Result<String, ToolError> {
        self.run(words, None, PATIENCE)
    }

    /// Gives it a document: what is read from standard input is sent to the host.
    pub(super) fn give(&self, words: &[&str], document: &str) -> Result<String, ToolError> {
        self.run(words, Some(document.as_bytes()), PATIENCE)
    }

    /// Says something that takes long.
    pub(super) fn say_long(&self, words: &[&str]) -> Result<String, ToolError> {
        self.run(words, None, LONG)
    }

    /// Whether something is there that it can say something of.
    pub(super) fn has(&self, words: &[&str]) -> Result<bool, ToolError> {
        match self.say(words) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == Kind::Refused && self.answers()? => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the host answers at all. What fails then fails for its own reasons.
    fn answers(&self) -> Result<bool, ToolError> {
        self.say(&["version", "--daemon"]).map(|_| true)
    }

    fn run(&self, words: &[&str], input: Option<&[u8]>, patience: Duration) -> Result<String, ToolError> {
        let mut command = Command::new(VIRSH.name);
        command.args(["--quiet", "--connect", &self.uri]).args(words);
        VIRSH.run(&format!("virsh {}", words.join(" ")), command, input, patience)
    }
}
