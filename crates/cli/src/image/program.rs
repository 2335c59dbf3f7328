//! Programs of this machine that make what ichor cannot.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramOutput, ProgramRun};

/// Where programs are that belong to root, which others may run too.
const SBIN_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Time to make the largest file system, not to hang a pipeline.
const PROGRAM_TIMEOUT: Duration = Duration::from_hours(1);

/// What is not installed here, and what that is for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct MissingTool(pub(crate) String);

/// A program did not do what it was to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    /// It could not be started.
    #[error("cannot run {}", program.display())]
    Run {
        /// Where it is.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It failed.
    #[error("{} failed: {said}", program.display())]
    Failed {
        /// Where it is.
        program: PathBuf,
        /// What it said.
        said: String,
    },
    /// What it reads or writes could not be handled.
    #[error("cannot write {what} for {program}")]
    File {
        /// What it is.
        what: String,
        /// Who would have read it.
        program: &'static str,
        /// Why not.
        source: io::Error,
    },
}

/// Where the first of these programs is that is installed.
pub(super) fn find(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).chain(SBIN_FOLDERS.map(PathBuf::from)).collect();
    let paths = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    paths.into_iter().find(|path| path.is_file())
}

/// What a program says that is asked for nothing.
pub(super) fn usage(program: &Path) -> Result<String, ProgramError> {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C");
    Ok(output_text(&run_command(program, command)?))
}

fn run_command(program: &Path, command: Command) -> Result<ProgramOutput, ProgramError> {
    let output = ProgramRun::new(command, PROGRAM_TIMEOUT).run();
    output.map_err(|error| ProgramError::Run { program: program.to_owned(), source: error.into() })
}

fn output_text(output: &ProgramOutput) -> String {
    format!("{}{}", output.stderr_text(), output.stdout_text())
}

/// Runs a program in a folder, which has to work.
pub(super) fn run(
    program: &Path,
    folder: &Path,
    configure: impl FnOnce(&mut Command),
) -> Result<(), ProgramError> {
    let mut command = Command::new(program);
    command.current_dir(folder).env("LC_ALL", "C");
    configure(&mut command);
    let output = run_command(program, command)?;
    if output.status.success() {
        return Ok(());
    }
    let words = output_text(&output);
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = if lines.is_empty() { output.status.to_string() } else { lines.join("; ") };
    Err(ProgramError::Failed { program: program.to_owned(), said })
}
