//! Routing daemons that are installed here, asked what they make of a file. Nothing is started: they only read.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ichor_bgp::render::{File, Service};
use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};
use ichor_values::Backend;
use tempfile::NamedTempFile;

/// Time to read a file of thousands of sessions, not to hang a pipeline.
const PATIENCE: Duration = Duration::from_mins(2);

/// What a template gives was not accepted by a daemon.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JudgeError {
    #[error("the {program} of this machine refuses what {template} gives: {words}")]
    Refused { program: &'static str, template: String, words: String },
    /// In one line with its cause: it becomes the reason of a file that cannot be rendered.
    #[error("cannot show {program} what {template} gives: {cause}")]
    Show { program: &'static str, template: String, cause: io::Error },
}

/// What a daemon says of a file.
enum Verdict {
    Accepted,
    Refused(String),
    NotAsked(String),
}

/// Shows daemons what templates give, and remembers which could not be asked.
pub(crate) struct Judge<'h> {
    hide: Box<dyn Fn(&str) -> String + Sync + 'h>,
    unasked: Mutex<BTreeSet<String>>,
}

impl<'h> Judge<'h> {
    /// One that shows nothing that `hide` takes out.
    pub(crate) fn new(hide: impl Fn(&str) -> String + Sync + 'h) -> Self {
        Self { hide: Box::new(hide), unasked: Mutex::default() }
    }

    /// Asks the daemon of `backend` about the first file of a service, which `template` gave; a refusal is an error in its words.
    pub(crate) fn ask(&self, backend: Backend, template: &str, service: &Service) -> Result<(), JudgeError> {
        let Some(file) = service.files.first() else { return Ok(()) };
        let program = program(backend);
        match read(backend, service.version, file) {
            Ok(Verdict::Accepted) => Ok(()),
            Ok(Verdict::NotAsked(why)) => {
                let mut unasked = self.unasked.lock().unwrap_or_else(PoisonError::into_inner);
                unasked.insert(format!("no daemon has read what {template} gives: {why}"));
                Ok(())
            }
            Ok(Verdict::Refused(words)) => {
                let words = (self.hide)(&words);
                Err(JudgeError::Refused { program, template: template.to_owned(), words })
            }
            Err(cause) => Err(JudgeError::Show { program, template: template.to_owned(), cause }),
        }
    }

    /// Which templates no daemon has read, and why.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.unasked.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
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

fn read(backend: Backend, release: (u16, u16), told: &File) -> io::Result<Verdict> {
    let text = &told.text;
    let options: &[&str] = match backend {
        Backend::Frr => &["-C", "-f"],
        Backend::Bird => &["-p", "-c"],
        Backend::Gobgp if text.contains("neighbor-interface") => {
            return Ok(Verdict::NotAsked(
                "gobgpd looks for the ports in it, which are on the node".to_owned(),
            ));
        }
        Backend::Gobgp => &["-d", "-p", "-f"],
        Backend::Native => return Ok(Verdict::Accepted),
    };
    // For the owner alone, and gone with the variable.
    let mut file = NamedTempFile::new()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    let program = program(backend);
    let mut command = Command::new(program);
    command.args(options).arg(file.path());
    let output = match ProgramRun::new(command, PATIENCE).run() {
        Err(ProgramError::Missing { .. }) => {
            return Ok(Verdict::NotAsked(format!("{program} is not installed here")));
        }
        output => output?,
    };
    if output.status.success() {
        return Ok(Verdict::Accepted);
    }
    if backend == Backend::Bird
        && let Some(here) = bird()?.filter(|here| *here < release)
    {
        let ((major, minor), (wanted, part)) = (here, release);
        return Ok(Verdict::NotAsked(format!(
            "it is for BIRD {wanted}.{part}, and BIRD {major}.{minor} of this machine cannot read it"
        )));
    }
    let words = said(&output);
    let words = words.replace(&*file.path().to_string_lossy(), told.name);
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Ok(Verdict::Refused(if lines.is_empty() { output.status.to_string() } else { lines.join("; ") }))
}

fn said(output: &ProgramOutput) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// The release of the BIRD that is installed here, if it tells: an older one does not know the words of a newer one.
fn bird() -> io::Result<Option<(u16, u16)>> {
    let mut command = Command::new("bird");
    command.arg("--version");
    let said = said(&ProgramRun::new(command, PATIENCE).run()?);
    let release = |said: &str| {
        let mut numbers = said.trim().strip_prefix("BIRD version ")?.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    Ok(release(&said))
}
