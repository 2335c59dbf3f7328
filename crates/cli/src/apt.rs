//! Debian packages, fetched by apt into a folder of their own: what is installed here does not matter, and is not changed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, bail};
use ichor_core::cluster::section::Arch;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The package with the texts of licences that others only name.
const LICENCES: &str = "base-files";

/// Suites that have no updates of their own.
const ROLLING: [&str; 4] = ["sid", "unstable", "testing", "experimental"];

/// Fetches a package of a suite and everything it needs, and returns where the files are in `folder`.
pub(crate) fn download(
    folder: &Path,
    suite: &str,
    package: &str,
    arch: Arch,
) -> anyhow::Result<Vec<PathBuf>> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if suite.is_empty() || suite.starts_with('-') || !suite.bytes().all(is_letter) {
        bail!("`{}` is no suite of Debian's; want one such as trixie", suite.escape_debug());
    }
    let archives = folder.join("archives");
    for part in ["lists/partial", "archives/partial"] {
        fs::create_dir_all(folder.join(part))
            .with_context(|| format!("cannot write {}", folder.display()))?;
    }
    for (name, text) in [("status", String::new()), ("sources.list", sources(suite))] {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        let set = |key: &str, value: String| ["-o".to_owned(), format!("{key}={value}")];
        let inside = |name: &str| folder.join(name).display().to_string();
        command.args(set("Dir::State::status", inside("status")));
        command.args(set("Dir::State::lists", inside("lists")));
        command.args(set("Dir::Cache", inside("")));
        command.args(set("Dir::Cache::archives", inside("archives")));
        command.args(set("Dir::Etc::sourcelist", inside("sources.list")));
        command.args(set("Dir::Etc::sourceparts", "-".to_owned()));
        command.args(set("Dir::Etc::preferences", "-".to_owned()));
        command.args(set("Dir::Etc::preferencesparts", "-".to_owned()));
        command.args(set("APT::Architecture", arch.to_string()));
        command.args(set("APT::Architectures", arch.to_string()));
        command.args(set("APT::Sandbox::User", "root".to_owned()));
        command.args(set("Debug::NoLocking", "true".to_owned()));
        command.args(["-qq", "--no-install-recommends"]).args(words);
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        run(&mut command, &format!("apt-get {}", words[0]))
    };
    apt(&["update"])?;
    apt(&["install", "--yes", "--download-only", package, LICENCES])?;
    let files = fs::read_dir(&archives).with_context(|| format!("cannot read {}", archives.display()))?;
    let mut files: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "deb"));
    files.sort();
    Ok(files)
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
    let output = command.arg(format!("Label: {label}")).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(|line| line.trim_end_matches('/').to_owned()).filter(|line| !line.is_empty())
}

fn run(command: &mut Command, what: &str) -> anyhow::Result<Output> {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!(
                "there is no apt-get here to fetch packages with; give them with --packages, or an image with --from"
            )
        }
        Err(error) => return Err(error).with_context(|| format!("cannot run {what}")),
    };
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("E: ")).take(3).collect();
        bail!("{what}: {}", if lines.is_empty() { output.status.to_string() } else { lines.join("; ") });
    }
    Ok(output)
}
