//! A command for the inside: what it is, and what it finds around it.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use serde::{Deserialize, Serialize};

use super::terminal;

/// What only means something outside.
const OUTSIDE: [&str; 2] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// A command.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    /// The program, and its arguments.
    pub words: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    /// The working folder.
    pub folder: OsString,
    /// Files it may write that are wanted outside.
    pub files: Vec<OsString>,
    /// Which of the three standard streams are a terminal.
    pub terminal: [bool; 3],
    /// Lines and columns of the terminal.
    pub size: Option<(u16, u16)>,
}

impl Request {
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
            terminal: [terminal::is_ours() && (output || error), output, error],
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
        let request = Request::new(vec!["ip".into(), odd.clone()], vec![odd]).unwrap();

        let bytes = serde_json::to_vec(&request).unwrap();

        assert_eq!(serde_json::from_slice::<Request>(&bytes).unwrap(), request);
    }
}
