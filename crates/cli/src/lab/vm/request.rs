//! A command for the inside: what it is, and what it finds around it.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use ichor_values::format::{Document, FormatError, Version, Versioned};
use serde::{Deserialize, Serialize};

use super::terminal;

/// What only means something outside.
const OUTSIDE: [&str; 2] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// The version of what is said on a port, in requests and in frames. The virtual machine may have been booted by another release.
const VERSION: Version = Version::new(2, 0);

/// A command.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommandRequest {
    /// The program, and its arguments.
    #[serde(rename = "arguments")]
    pub words: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    /// The working folder.
    #[serde(rename = "working_directory")]
    pub folder: OsString,
    /// Files it may write that are wanted outside.
    #[serde(rename = "output_files")]
    pub files: Vec<OsString>,
    /// Which of the three standard streams are a terminal.
    pub terminal: [bool; 3],
    /// Lines and columns of the terminal.
    #[serde(rename = "terminal_size")]
    pub size: Option<(u16, u16)>,
}

impl CommandRequest {
    /// The request as it is sent.
    pub(super) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Versioned::new(VERSION, self))
    }

    /// Reads what was sent, by this release or another.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        Ok(Document::parse(&String::from_utf8_lossy(bytes), VERSION)?.read()?.0)
    }

    /// With everything around it as it is here.
    pub(super) fn new(words: Vec<OsString>, files: Vec<OsString>) -> io::Result<Self> {
        let (output, error) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let environment = env::vars_os().filter(|(name, _)| OUTSIDE.iter().all(|other| name != other));
        Ok(Self {
            words,
            environment: environment.collect(),
            folder: env::current_dir()?.into(),
            files,
            // Where nothing that is said is seen, nothing that is typed can be shown by the inside either.
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
    fn words_that_are_no_text_arrive() {
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
