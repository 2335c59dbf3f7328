//! Checks rendered templates with the routing daemons installed on this machine. The daemons only parse the file.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ichor_bgp::render::{ConfigFile, Service};
use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};
use ichor_values::Backend;
use tempfile::NamedTempFile;

/// Time limit for parsing, enough for thousands of sessions.
const CHECK_TIMEOUT: Duration = Duration::from_mins(2);

/// Errors of checking the output of a template.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TemplateCheckError {
    #[error("{program} on this machine rejects the output of {template}: {message}")]
    Refused { program: &'static str, template: String, message: String },
    /// In one line with its cause, because it becomes the reason of a file that cannot be rendered.
    #[error("cannot check the output of {template} with {program}: {cause}")]
    Show { program: &'static str, template: String, cause: io::Error },
}

/// Result of a check.
enum CheckOutcome {
    Accepted,
    Rejected(String),
    Skipped(String),
}

/// Checks the output of templates, and collects skipped checks.
pub(crate) struct TemplateChecker<'h> {
    hide: Box<dyn Fn(&str) -> String + Sync + 'h>,
    skipped: Mutex<BTreeSet<String>>,
}

impl<'h> TemplateChecker<'h> {
    /// Creates a checker whose messages are redacted by `hide`.
    pub(crate) fn new(hide: impl Fn(&str) -> String + Sync + 'h) -> Self {
        Self { hide: Box::new(hide), skipped: Mutex::default() }
    }

    /// Checks the first file of a service, rendered from `template`, with the daemon of `backend`.
    pub(crate) fn check(
        &self,
        backend: Backend,
        template: &str,
        service: &Service,
    ) -> Result<(), TemplateCheckError> {
        let Some(file) = service.files.first() else { return Ok(()) };
        let program = program(backend);
        match run_daemon(backend, service.version, file) {
            Ok(CheckOutcome::Accepted) => Ok(()),
            Ok(CheckOutcome::Skipped(why)) => {
                let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
                skipped.insert(format!("the output of {template} was not checked: {why}"));
                Ok(())
            }
            Ok(CheckOutcome::Rejected(message)) => {
                let message = (self.hide)(&message);
                Err(TemplateCheckError::Refused { program, template: template.to_owned(), message })
            }
            Err(cause) => Err(TemplateCheckError::Show { program, template: template.to_owned(), cause }),
        }
    }

    /// Skipped checks, with reasons.
    pub(crate) fn skipped_checks(&self) -> Vec<String> {
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

fn program(backend: Backend) -> &'static str {
    match backend {
        Backend::Frr => "vtysh",
        Backend::Bird => "bird",
        Backend::Gobgp => "gobgpd",
        Backend::Native => "talos",
    }
}

fn run_daemon(backend: Backend, release: (u16, u16), rendered: &ConfigFile) -> io::Result<CheckOutcome> {
    let text = &rendered.text;
    let options: &[&str] = match backend {
        Backend::Frr => &["-C", "-f"],
        Backend::Bird => &["-p", "-c"],
        Backend::Gobgp if text.contains("neighbor-interface") => {
            return Ok(CheckOutcome::Skipped(
                "gobgpd resolves its interfaces, which exist only on the node".to_owned(),
            ));
        }
        Backend::Gobgp => &["-d", "-p", "-f"],
        Backend::Native => return Ok(CheckOutcome::Accepted),
    };
    // Readable by the owner only, and deleted on drop.
    let mut file = NamedTempFile::new()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    let program = program(backend);
    let mut command = Command::new(program);
    command.args(options).arg(file.path());
    let output = match ProgramRun::new(command, CHECK_TIMEOUT).run() {
        Err(ProgramError::Missing { .. }) => {
            return Ok(CheckOutcome::Skipped(format!("{program} is not installed on this machine")));
        }
        output => output?,
    };
    if output.status.success() {
        return Ok(CheckOutcome::Accepted);
    }
    if backend == Backend::Bird
        && let Some(installed) = bird_release()?.filter(|installed| *installed < release)
    {
        let ((major, minor), (wanted, part)) = (installed, release);
        return Ok(CheckOutcome::Skipped(format!(
            "it is for BIRD {wanted}.{part}, but this machine has BIRD {major}.{minor}"
        )));
    }
    let message = output_text(&output);
    let message = message.replace(&*file.path().to_string_lossy(), rendered.name);
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Ok(CheckOutcome::Rejected(if lines.is_empty() { output.status.to_string() } else { lines.join("; ") }))
}

fn output_text(output: &ProgramOutput) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Release of the installed BIRD, if known: an older one does not know newer keywords.
fn bird_release() -> io::Result<Option<(u16, u16)>> {
    let mut command = Command::new("bird");
    command.arg("--version");
    let text = output_text(&ProgramRun::new(command, CHECK_TIMEOUT).run()?);
    let release = |text: &str| {
        let mut numbers = text.trim().strip_prefix("BIRD version ")?.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    Ok(release(&text))
}
