//! libvirt through virsh, which already has working connections and permissions.

use std::process::Command;
use std::time::Duration;

use crate::machines::FailureKind;
use crate::machines::program::{ExternalTool, PATIENCE, ToolError};

const VIRSH: ExternalTool = ExternalTool { name: "virsh", install_hint: "install libvirt-clients" };

/// Time limit for a file transfer.
const LONG: Duration = Duration::from_hours(1);

/// virsh connected to one host.
#[derive(Debug)]
pub(super) struct Virsh {
    uri: String,
}

impl Virsh {
    pub(super) fn new(uri: &str) -> Self {
        Self { uri: uri.to_owned() }
    }

    /// Address of the host, for messages.
    pub(super) fn location(&self) -> String {
        crate::http::redact_url(&self.uri)
    }

    /// Runs a virsh command.
    pub(super) fn run(&self, args: &[&str]) -> Result<String, ToolError> {
        self.run_within(args, None, PATIENCE)
    }

    /// Runs a virsh command that reads a document from standard input.
    pub(super) fn run_with_input(&self, args: &[&str], document: &str) -> Result<String, ToolError> {
        self.run_within(args, Some(document.as_bytes()), PATIENCE)
    }

    /// Runs a virsh command that takes long.
    pub(super) fn run_long(&self, args: &[&str]) -> Result<String, ToolError> {
        self.run_within(args, None, LONG)
    }

    /// Whether a virsh command succeeds while the host is reachable.
    pub(super) fn succeeds(&self, args: &[&str]) -> Result<bool, ToolError> {
        match self.run(args) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == FailureKind::Rejected && self.is_reachable()? => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Fails if the host is unreachable, which distinguishes that from a failing command.
    fn is_reachable(&self) -> Result<bool, ToolError> {
        self.run(&["version", "--daemon"]).map(|_| true)
    }

    fn run_within(
        &self,
        args: &[&str],
        input: Option<&[u8]>,
        patience: Duration,
    ) -> Result<String, ToolError> {
        let mut command = Command::new(VIRSH.name);
        command.args(["--quiet", "--connect", &self.uri]).args(args);
        VIRSH.run(&format!("virsh {}", args.join(" ")), command, input, patience)
    }
}
