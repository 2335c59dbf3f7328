//! Programs that keep passwords for registries: docker's and podman's `docker-credential-NAME`.

use std::io;
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramRun};
use serde::Deserialize;

/// How long one may take: it may ask a person to unlock what it keeps.
const PATIENCE: Duration = Duration::from_mins(1);
/// The longest answer that is read.
const LONGEST: usize = 1 << 20;
/// What one says that keeps nothing for a registry.
const NOTHING: &str = "credentials not found";

/// A helper does not say what it keeps. What it said is never shown: it may be the password.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HelperError {
    #[error("`{0}` is no name of a credential helper; want one such as `pass`, for docker-credential-pass")]
    Name(String),
    #[error(
        "{program}, which keeps the password for {server}, is not installed; install it, or take it out of the file and log in \
         again"
    )]
    Absent { program: String, server: String },
    #[error("cannot ask {program} for the password for {server}")]
    Run { program: String, server: String, source: io::Error },
    #[error(
        "{program} has not given the password for {server} within {} s; does it wait for somebody to unlock it?",
        patience.as_secs()
    )]
    Slow { program: String, server: String, patience: Duration },
    #[error(
        "{program} does not give the password for {server} ({status}); `echo {server} | {program} get` shows why"
    )]
    Failed { program: String, server: String, status: String },
    #[error(
        "{program} answers for {server} what is no name and password; `echo {server} | {program} get` shows it"
    )]
    Strange { program: String, server: String },
}

/// What a helper keeps for a server.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Kept {
    pub(super) username: String,
    pub(super) secret: String,
}

/// A helper.
pub(super) struct Helper {
    program: String,
}

impl Helper {
    /// One by the name that a file has for it.
    pub(super) fn named(name: &str) -> Result<Self, HelperError> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(HelperError::Name(name.chars().filter(|letter| !letter.is_control()).collect()));
        }
        Ok(Self { program: format!("docker-credential-{name}") })
    }

    /// What it keeps for a server; none where it keeps nothing.
    pub(super) fn get(&self, server: &str) -> Result<Option<Kept>, HelperError> {
        self.get_within(server, PATIENCE)
    }

    fn get_within(&self, server: &str, patience: Duration) -> Result<Option<Kept>, HelperError> {
        let mut command = Command::new(&self.program);
        command.arg("get");
        let run = ProgramRun::new(command, patience).input(format!("{server}\n"));
        let (program, server) = (self.program.clone(), server.to_owned());
        match run.without_stderr().limit(LONGEST).run() {
            Err(ProgramError::Missing { .. }) => Err(HelperError::Absent { program, server }),
            Err(ProgramError::TimedOut { .. }) => Err(HelperError::Slow { program, server, patience }),
            Err(error) => Err(HelperError::Run { program, server, source: error.into() }),
            Ok(output) if output.status.success() => match serde_json::from_slice::<Kept>(&output.stdout) {
                Ok(kept) => Ok((!kept.secret.is_empty()).then_some(kept)),
                Err(_) => Err(HelperError::Strange { program, server }),
            },
            Ok(output) if output.stdout_text().contains(NOTHING) => Ok(None),
            Ok(output) => Err(HelperError::Failed { program, server, status: output.status.to_string() }),
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
        let helper = Helper { program: program.display().to_string() };
        let kept = helper.get_within("ghcr.io", Duration::from_secs(2));
        let told = kept.map_err(|error| error.to_string().replace(&helper.program, "docker-credential-test"));
        Ok(told?.map(|kept| (kept.username, kept.secret)))
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
        let absent = Helper::named("nobody-has-this").unwrap().get("ghcr.io").map(drop);

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
            assert!(matches!(Helper::named(name), Err(HelperError::Name(_))), "{name}");
        }
    }
}
