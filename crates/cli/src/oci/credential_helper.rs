//! Programs that keep passwords for registries: docker's and podman's `docker-credential-NAME`.

use std::io;
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramRun};
use serde::Deserialize;

/// How long one may take: it may ask a person to unlock what it keeps.
const HELPER_TIMEOUT: Duration = Duration::from_mins(1);
/// The longest answer that is read.
const MAX_ANSWER: usize = 1 << 20;
/// What one says that keeps nothing for a registry.
const NOT_FOUND: &str = "credentials not found";

/// A helper does not say what it keeps. What it said is never shown: it may be the password.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialHelperError {
    #[error("`{0}` is no name of a credential helper; want one such as `pass`, for docker-credential-pass")]
    Name(String),
    #[error(
        "{program}, which keeps the password for {server}, is not installed; install it, or take it out of the file and log in \
         again"
    )]
    NotInstalled { program: String, server: String },
    #[error("cannot ask {program} for the password for {server}")]
    Run { program: String, server: String, source: io::Error },
    #[error(
        "{program} has not given the password for {server} within {} s; does it wait for somebody to unlock it?",
        timeout.as_secs()
    )]
    Timeout { program: String, server: String, timeout: Duration },
    #[error(
        "{program} does not give the password for {server} ({status}); `echo {server} | {program} get` shows why"
    )]
    Failed { program: String, server: String, status: String },
    #[error(
        "{program} answers for {server} what is no name and password; `echo {server} | {program} get` shows it"
    )]
    InvalidAnswer { program: String, server: String },
}

/// What a helper keeps for a server.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct StoredCredentials {
    pub(super) username: String,
    pub(super) secret: String,
}

/// A helper.
pub(super) struct CredentialHelper {
    program: String,
}

impl CredentialHelper {
    /// One by the name that a file has for it.
    pub(super) fn named(name: &str) -> Result<Self, CredentialHelperError> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(CredentialHelperError::Name(
                name.chars().filter(|letter| !letter.is_control()).collect(),
            ));
        }
        Ok(Self { program: format!("docker-credential-{name}") })
    }

    /// What it keeps for a server; none where it keeps nothing.
    pub(super) fn get(&self, server: &str) -> Result<Option<StoredCredentials>, CredentialHelperError> {
        self.get_within(server, HELPER_TIMEOUT)
    }

    fn get_within(
        &self,
        server: &str,
        timeout: Duration,
    ) -> Result<Option<StoredCredentials>, CredentialHelperError> {
        let mut command = Command::new(&self.program);
        command.arg("get");
        let run = ProgramRun::new(command, timeout).input(format!("{server}\n"));
        let (program, server) = (self.program.clone(), server.to_owned());
        match run.without_stderr().limit(MAX_ANSWER).run() {
            Err(ProgramError::Missing { .. }) => Err(CredentialHelperError::NotInstalled { program, server }),
            Err(ProgramError::TimedOut { .. }) => {
                Err(CredentialHelperError::Timeout { program, server, timeout })
            }
            Err(error) => Err(CredentialHelperError::Run { program, server, source: error.into() }),
            Ok(output) if output.status.success() => {
                match serde_json::from_slice::<StoredCredentials>(&output.stdout) {
                    Ok(kept) => Ok((!kept.secret.is_empty()).then_some(kept)),
                    Err(_) => Err(CredentialHelperError::InvalidAnswer { program, server }),
                }
            }
            Ok(output) if output.stdout_text().contains(NOT_FOUND) => Ok(None),
            Ok(output) => {
                Err(CredentialHelperError::Failed { program, server, status: output.status.to_string() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Instant;

    use super::*;

    /// What a program that is a shell script answers.
    fn answers(script: &str) -> Result<Option<(String, String)>, String> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("docker-credential-test");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let helper = CredentialHelper { program: program.display().to_string() };
        let kept = helper.get_within("ghcr.io", Duration::from_secs(2));
        let result =
            kept.map_err(|error| error.to_string().replace(&helper.program, "docker-credential-test"));
        Ok(result?.map(|kept| (kept.username, kept.secret)))
    }

    #[test]
    fn a_helper_is_asked_by_name_for_a_server() {
        let script = r#"read -r server; echo "{\"ServerURL\": \"$server\", \"Username\": \"$1\", \"Secret\": \"$server\"}""#;

        assert_eq!(answers(script), Ok(Some(("get".to_owned(), "ghcr.io".to_owned()))));
    }

    #[test]
    fn one_that_keeps_nothing_is_no_error() {
        assert_eq!(answers("echo credentials not found in native keychain; exit 1"), Ok(None));
        assert_eq!(answers(r#"echo '{"Username": "", "Secret": ""}'"#), Ok(None));
    }

    #[test]
    fn errors_name_helper_server_and_remedy_and_show_nothing_that_was_said() {
        let failed = answers(r#"echo '{"Username": "me", "Secret": "hunter2"}'; echo hunter2 >&2; exit 3"#);
        let strange = answers("echo hunter2");
        let absent = CredentialHelper::named("nobody-has-this").unwrap().get("ghcr.io").map(drop);

        let why = "docker-credential-test does not give the password for ghcr.io (exit status: 3); \
                   `echo ghcr.io | docker-credential-test get` shows why";
        assert_eq!(failed, Err(why.to_owned()));
        let why = "docker-credential-test answers for ghcr.io what is no name and password; \
                   `echo ghcr.io | docker-credential-test get` shows it";
        assert_eq!(strange, Err(why.to_owned()));
        let why = absent.unwrap_err().to_string();
        assert!(
            why.starts_with(
                "docker-credential-nobody-has-this, which keeps the password for ghcr.io, is not"
            )
        );
    }

    #[test]
    fn one_that_hangs_is_ended() {
        let start = Instant::now();

        let why = answers("exec sleep 60").unwrap_err();

        assert!(why.contains("has not given the password for ghcr.io within 2 s"), "{why}");
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }

    #[test]
    fn a_name_is_no_path() {
        for name in ["", "../x", "a b", "a;b"] {
            assert!(matches!(CredentialHelper::named(name), Err(CredentialHelperError::Name(_))), "{name}");
        }
    }
}
