//! Runs installed programs for what ichor cannot build itself.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramOutput, ProgramRun};

/// Folders of administration programs, which are often missing in the PATH of a normal user.
const SBIN_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Time limit, enough for the largest file system, so that a pipeline does not hang.
const PROGRAM_TIMEOUT: Duration = Duration::from_hours(1);

/// A missing program or file, with its purpose.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct MissingTool(pub(crate) String);

/// Errors of running a program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    /// The program did not start.
    #[error("cannot run {}", program.display())]
    Run { program: PathBuf, source: io::Error },
    /// The program failed.
    #[error("{} failed: {message}", program.display())]
    Failed { program: PathBuf, message: String },
    /// An input or output file of the program failed.
    #[error("cannot write {what} for {program}")]
    File { what: String, program: &'static str, source: io::Error },
}

/// Path of the first of these programs that is installed.
pub(super) fn find(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).chain(SBIN_FOLDERS.map(PathBuf::from)).collect();
    let paths = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    paths.into_iter().find(|path| path.is_file())
}

/// The usage text that a program prints without arguments.
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

/// Runs a program in `folder`; a failed exit status is an error.
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
    let text = output_text(&output);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let message = if lines.is_empty() { output.status.to_string() } else { lines.join("; ") };
    Err(ProgramError::Failed { program: program.to_owned(), message })
}
