//! Debian packages, fetched by apt into a folder of their own: what is installed here does not matter, and is not changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};
use ichor_values::Arch;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The package with the texts of licences that others only name.
const LICENCES: &str = "base-files";

/// Suites that have no updates of their own.
const ROLLING: [&str; 4] = ["sid", "unstable", "testing", "experimental"];

/// Time for hundreds of packages over a slow line, not to hang a pipeline.
const PATIENCE: Duration = Duration::from_hours(1);

/// A package could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AptError {
    #[error("`{}` is no suite of Debian's; want one such as trixie", .0.escape_debug())]
    Suite(String),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the package {0} depends on none")]
    NoNeed(String),
    #[error("there is no apt-get here to fetch packages with; {instead}")]
    Absent { instead: &'static str },
    #[error("cannot run {call}")]
    Run { call: String, source: io::Error },
    #[error("{call}: {said}")]
    Failed { call: String, said: String },
}

/// apt with a suite of Debian's, in a folder that is its own.
pub(crate) struct Apt<'f> {
    folder: &'f Path,
    arch: Arch,
    /// What to do on a machine without apt.
    instead: &'static str,
}

impl<'f> Apt<'f> {
    /// Asks which packages there are.
    pub(crate) fn open(
        folder: &'f Path,
        suite: &str,
        arch: Arch,
        instead: &'static str,
    ) -> Result<Self, AptError> {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if suite.is_empty() || suite.starts_with('-') || !suite.bytes().all(is_letter) {
            return Err(AptError::Suite(suite.to_owned()));
        }
        for part in ["lists/partial", "archives/partial"] {
            fs::create_dir_all(folder.join(part))
                .map_err(|source| AptError::Write { path: folder.to_owned(), source })?;
        }
        for (name, text) in [("status", String::new()), ("sources.list", sources(suite))] {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|source| AptError::Write { path, source })?;
        }
        let apt = Self { folder, arch, instead };
        apt.run("apt-get", &["update"])?;
        Ok(apt)
    }

    /// Fetches a package and everything it needs, and returns where the files are.
    pub(crate) fn fetch_with_needs(&self, package: &str) -> Result<Vec<PathBuf>, AptError> {
        self.run("apt-get", &["install", "--yes", "--download-only", package, LICENCES])?;
        self.files()
    }

    /// Fetches packages alone, and returns where the files are.
    pub(crate) fn fetch(&self, packages: &[&str]) -> Result<Vec<PathBuf>, AptError> {
        self.run("apt-get", &[&["download"], packages].concat())?;
        self.files()
    }

    /// The first package that another depends on.
    pub(crate) fn first_need(&self, package: &str) -> Result<String, AptError> {
        let output = self.run("apt-cache", &["show", "--no-all-versions", package])?;
        let text = output.stdout_text();
        let needs = text.lines().find_map(|line| line.strip_prefix("Depends: "));
        let first = needs.and_then(|needs| needs.split([' ', ',']).next());
        first.map(str::to_owned).ok_or_else(|| AptError::NoNeed(package.to_owned()))
    }

    fn archives(&self) -> PathBuf {
        self.folder.join("archives")
    }

    fn files(&self) -> Result<Vec<PathBuf>, AptError> {
        let archives = self.archives();
        let files = fs::read_dir(&archives).map_err(|source| AptError::Read { path: archives, source })?;
        let mut files: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|ending| ending == "deb"));
        files.sort();
        Ok(files)
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<ProgramOutput, AptError> {
        let mut command = Command::new(program);
        let set = |key: &str, value: String| ["-o".to_owned(), format!("{key}={value}")];
        let inside = |name: &str| self.folder.join(name).display().to_string();
        command.args(set("Dir::State::status", inside("status")));
        command.args(set("Dir::State::lists", inside("lists")));
        command.args(set("Dir::Cache", inside("")));
        command.args(set("Dir::Cache::archives", inside("archives")));
        command.args(set("Dir::Etc::sourcelist", inside("sources.list")));
        command.args(set("Dir::Etc::sourceparts", "-".to_owned()));
        command.args(set("Dir::Etc::preferences", "-".to_owned()));
        command.args(set("Dir::Etc::preferencesparts", "-".to_owned()));
        command.args(set("APT::Architecture", self.arch.to_string()));
        command.args(set("APT::Architectures", self.arch.to_string()));
        command.args(set("APT::Sandbox::User", "root".to_owned()));
        command.args(set("APT::Install-Recommends", "false".to_owned()));
        command.args(set("Debug::NoLocking", "true".to_owned()));
        command.arg("-qq").args(words);
        // Packages that are fetched alone come to the working folder.
        command.current_dir(self.archives()).env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        run(command, format!("{program} {}", words[0]), self.instead)
    }
}

/// Where packages come from: where this machine has its own from, so that a mirror nearby is used here too.
fn sources(suite: &str) -> String {
    let signed = if Path::new(KEYRING).exists() { format!("[signed-by={KEYRING}] ") } else { String::new() };
    let main = mirror("Debian").unwrap_or_else(|| "http://deb.debian.org/debian".to_owned());
    let mut lines = format!("deb {signed}{main} {suite} main\n");
    if !ROLLING.contains(&suite) {
        let security =
            mirror("Debian-Security").unwrap_or_else(|| "http://deb.debian.org/debian-security".to_owned());
        lines.push_str(&format!("deb {signed}{security} {suite}-security main\n"));
    }
    lines
}

fn mirror(label: &str) -> Option<String> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]);
    command.arg(format!("Label: {label}"));
    let output = ProgramRun::new(command, PATIENCE).run().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(|line| line.trim_end_matches('/').to_owned()).filter(|line| !line.is_empty())
}

fn run(command: Command, call: String, instead: &'static str) -> Result<ProgramOutput, AptError> {
    let ran = ProgramRun::new(command, PATIENCE).run().and_then(ProgramOutput::succeeded);
    ran.map_err(|error| match error {
        ProgramError::Missing { .. } => AptError::Absent { instead },
        ProgramError::Failed(output) => {
            let text = output.stderr_text();
            let lines: Vec<_> = text.lines().filter(|line| line.starts_with("E: ")).take(3).collect();
            let said = if lines.is_empty() { output.status.to_string() } else { lines.join("; ") };
            AptError::Failed { call, said }
        }
        error => AptError::Run { call, source: error.into() },
    })
}
