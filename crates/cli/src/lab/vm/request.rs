//! A request to run a command in the virtual machine, with its environment.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use ichor_values::format::{Document, FormatError, Version, Versioned};
use serde::{Deserialize, Serialize};

use super::terminal;

/// Environment variables that are only valid on the host.
const OUTSIDE: [&str; 2] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// Protocol version of requests and frames. Another release may have booted the virtual machine.
const VERSION: Version = Version::new(2, 0);

/// A command to run.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommandRequest {
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory.
    #[serde(rename = "working_directory")]
    pub folder: OsString,
    /// Files to copy to the host after the command has exited.
    #[serde(rename = "output_files")]
    pub files: Vec<OsString>,
    /// Which of the three standard streams are terminals.
    pub terminal: [bool; 3],
    /// Lines and columns of the terminal.
    #[serde(rename = "terminal_size")]
    pub size: Option<(u16, u16)>,
}

impl CommandRequest {
    /// Serializes the request.
    pub(super) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Versioned::new(VERSION, self))
    }

    /// Parses a request of this or another release.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        Ok(Document::parse(&String::from_utf8_lossy(bytes), VERSION)?.read()?.0)
    }

    /// Creates a request with the environment of this process.
    pub(super) fn new(arguments: Vec<OsString>, files: Vec<OsString>) -> io::Result<Self> {
        let (output, error) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let environment = env::vars_os().filter(|(name, _)| OUTSIDE.iter().all(|other| name != other));
        Ok(Self {
            arguments,
            environment: environment.collect(),
            folder: env::current_dir()?.into(),
            files,
            // If no output is a terminal, the command cannot echo typed input to one either.
            terminal: [terminal::is_foreground() && (output || error), output, error],
            size: terminal::size(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn arguments_that_are_not_utf8_are_preserved() {
        let odd = OsString::from_vec(b"caf\xe9".to_vec());
        let request = CommandRequest::new(vec!["ip".into(), odd.clone()], vec![odd]).unwrap();

        let bytes = request.to_json().unwrap();

        assert_eq!(CommandRequest::parse(&bytes), Ok(request));
    }

    #[test]
    fn a_request_of_a_newer_release_is_refused_with_both_versions() {
        let newer = CommandRequest::parse(br#"{"version": "3.0", "argv": []}"#).unwrap_err().to_string();

        assert_eq!(newer, "format version 3.0 is newer than 2.0, the newest that this release reads");
    }
}
