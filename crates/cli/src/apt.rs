//! Downloads Debian packages with apt into a private folder. The packages installed on this machine are ignored and not changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};
use ichor_values::Arch;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Package with the licence texts that other packages refer to.
const LICENCES: &str = "base-files";

/// Suites without a security suite.
const ROLLING: [&str; 4] = ["sid", "unstable", "testing", "experimental"];

/// Time limit for apt: hundreds of packages over a slow link.
const APT_TIMEOUT: Duration = Duration::from_hours(1);

/// Errors of downloading packages.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AptError {
    #[error("`{}` is not a Debian suite; want one such as trixie", .0.escape_debug())]
    Suite(String),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the package {0} has no dependency")]
    NoDependency(String),
    #[error("apt-get is not installed on this machine; {fallback}")]
    NoAptGet { fallback: &'static str },
    #[error("cannot run {call}")]
    Run { call: String, source: io::Error },
    #[error("{call}: {message}")]
    Failed { call: String, message: String },
}

/// apt with a private folder and one Debian suite.
pub(crate) struct Apt<'f> {
    folder: &'f Path,
    arch: Arch,
    /// Hint for machines without apt.
    fallback: &'static str,
}

impl<'f> Apt<'f> {
    /// Prepares the folder and downloads the package lists.
    pub(crate) fn open(
        folder: &'f Path,
        suite: &str,
        arch: Arch,
        fallback: &'static str,
    ) -> Result<Self, AptError> {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if suite.is_empty() || suite.starts_with('-') || !suite.bytes().all(is_letter) {
            return Err(AptError::Suite(suite.to_owned()));
        }
        for part in ["lists/partial", "archives/partial"] {
            fs::create_dir_all(folder.join(part))
                .map_err(|source| AptError::Write { path: folder.to_owned(), source })?;
        }
        for (name, text) in [("status", String::new()), ("sources.list", sources_list(suite))] {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|source| AptError::Write { path, source })?;
        }
        let apt = Self { folder, arch, fallback };
        apt.run("apt-get", &["update"])?;
        Ok(apt)
    }

    /// Downloads a package with all dependencies, and returns the paths.
    pub(crate) fn download_with_dependencies(&self, package: &str) -> Result<Vec<PathBuf>, AptError> {
        self.run("apt-get", &["install", "--yes", "--download-only", package, LICENCES])?;
        self.files()
    }

    /// Downloads packages without dependencies, and returns the paths.
    pub(crate) fn download(&self, packages: &[&str]) -> Result<Vec<PathBuf>, AptError> {
        self.run("apt-get", &[&["download"], packages].concat())?;
        self.files()
    }

    /// First dependency of a package.
    pub(crate) fn first_dependency(&self, package: &str) -> Result<String, AptError> {
        let output = self.run("apt-cache", &["show", "--no-all-versions", package])?;
        let text = output.stdout_text();
        let needs = text.lines().find_map(|line| line.strip_prefix("Depends: "));
        let first = needs.and_then(|needs| needs.split([' ', ',']).next());
        first.map(str::to_owned).ok_or_else(|| AptError::NoDependency(package.to_owned()))
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
        // `apt-get download` writes to the working folder.
        command.current_dir(self.archives()).env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        run(command, format!("{program} {}", words[0]), self.fallback)
    }
}

/// Contents of `sources.list`, with the mirror that this machine uses.
fn sources_list(suite: &str) -> String {
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
    let output = ProgramRun::new(command, APT_TIMEOUT).run().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(|line| line.trim_end_matches('/').to_owned()).filter(|line| !line.is_empty())
}

fn run(command: Command, call: String, fallback: &'static str) -> Result<ProgramOutput, AptError> {
    let ran = ProgramRun::new(command, APT_TIMEOUT).run().and_then(ProgramOutput::require_success);
    ran.map_err(|error| match error {
        ProgramError::Missing { .. } => AptError::NoAptGet { fallback },
        ProgramError::Failed(output) => {
            let text = output.stderr_text();
            let lines: Vec<_> = text.lines().filter(|line| line.starts_with("E: ")).take(3).collect();
            let message = if lines.is_empty() { output.status.to_string() } else { lines.join("; ") };
            AptError::Failed { call, message }
        }
        error => AptError::Run { call, source: error.into() },
    })
}
