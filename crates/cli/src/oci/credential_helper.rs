//! Credential helpers of docker and podman: programs named `docker-credential-NAME` that store passwords for registries.

use std::io;
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramRun};
use serde::Deserialize;

/// Time limit, enough to unlock a key store by hand.
const HELPER_TIMEOUT: Duration = Duration::from_mins(1);
/// Size limit of the output.
const MAX_ANSWER: usize = 1 << 20;
/// Output of a helper without credentials for a registry.
const NOT_FOUND: &str = "credentials not found";

/// Errors of querying a credential helper. Its output is never shown: it may contain the password.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialHelperError {
    #[error(
        "`{0}` is not the name of a credential helper; want a name such as `pass`, for docker-credential-pass"
    )]
    Name(String),
    #[error(
        "{program}, the credential helper for {server}, is not installed; install it, or remove it from the file and \
         log in again"
    )]
    NotInstalled { program: String, server: String },
    #[error("cannot query {program} for the credentials of {server}")]
    Run { program: String, server: String, source: io::Error },
    #[error(
        "{program} did not return the credentials of {server} within {} s; unlock its key store",
        timeout.as_secs()
    )]
    Timeout { program: String, server: String, timeout: Duration },
    #[error(
        "{program} cannot return the credentials of {server} ({status}); run `echo {server} | {program} get` to see why"
    )]
    Failed { program: String, server: String, status: String },
    #[error(
        "{program} returned invalid credentials of {server}; run `echo {server} | {program} get` to see them"
    )]
    InvalidAnswer { program: String, server: String },
}

/// Credentials of a server, from a helper.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct StoredCredentials {
    pub(super) username: String,
    pub(super) secret: String,
}

/// A credential helper.
pub(super) struct CredentialHelper {
    program: String,
}

impl CredentialHelper {
    /// Creates a helper by its name in a configuration file.
    pub(super) fn named(name: &str) -> Result<Self, CredentialHelperError> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(CredentialHelperError::Name(
                name.chars().filter(|letter| !letter.is_control()).collect(),
            ));
        }
        Ok(Self { program: format!("docker-credential-{name}") })
    }

    /// Queries the credentials of a server; none if the helper has none.
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
                    Ok(stored) => Ok((!stored.secret.is_empty()).then_some(stored)),
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

    /// Runs a helper that is a shell script.
    fn query_script(script: &str) -> Result<Option<(String, String)>, String> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("docker-credential-test");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let helper = CredentialHelper { program: program.display().to_string() };
        let stored = helper.get_within("ghcr.io", Duration::from_secs(2));
        let result =
            stored.map_err(|error| error.to_string().replace(&helper.program, "docker-credential-test"));
        Ok(result?.map(|stored| (stored.username, stored.secret)))
    }

    #[test]
    fn a_helper_receives_the_server_name_on_stdin() {
        let script = r#"read -r server; echo "{\"ServerURL\": \"$server\", \"Username\": \"$1\", \"Secret\": \"$server\"}""#;

        assert_eq!(query_script(script), Ok(Some(("get".to_owned(), "ghcr.io".to_owned()))));
    }

    #[test]
    fn missing_credentials_are_not_an_error() {
        assert_eq!(query_script("echo credentials not found in native keychain; exit 1"), Ok(None));
        assert_eq!(query_script(r#"echo '{"Username": "", "Secret": ""}'"#), Ok(None));
    }

    #[test]
    fn errors_name_helper_server_and_remedy_but_never_its_output() {
        let failed =
            query_script(r#"echo '{"Username": "me", "Secret": "hunter2"}'; echo hunter2 >&2; exit 3"#);
        let invalid = query_script("echo hunter2");
        let absent = CredentialHelper::named("missing").unwrap().get("ghcr.io").map(drop);

        let why = "docker-credential-test cannot return the credentials of ghcr.io (exit status: 3); \
                   run `echo ghcr.io | docker-credential-test get` to see why";
        assert_eq!(failed, Err(why.to_owned()));
        let why = "docker-credential-test returned invalid credentials of ghcr.io; \
                   run `echo ghcr.io | docker-credential-test get` to see them";
        assert_eq!(invalid, Err(why.to_owned()));
        let why = absent.unwrap_err().to_string();
        assert!(
            why.starts_with("docker-credential-missing, the credential helper for ghcr.io, is not installed"),
            "{why}"
        );
    }

    #[test]
    fn a_helper_that_hangs_is_killed() {
        let start = Instant::now();

        let why = query_script("exec sleep 60").unwrap_err();

        assert!(why.contains("did not return the credentials of ghcr.io within 2 s"), "{why}");
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }

    #[test]
    fn a_helper_name_must_not_be_a_path() {
        for name in ["", "../x", "a b", "a;b"] {
            assert!(matches!(CredentialHelper::named(name), Err(CredentialHelperError::Name(_))), "{name}");
        }
    }
}
