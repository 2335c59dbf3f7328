//! What there is on this machine to build a lab of, and what is missing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ichor_core::lab::HostCapabilities;
use ichor_core::plan::Plan;
use ichor_core::routing::BgpTopology;
use ichor_system::program::ProgramRun;
use ichor_values::Backend;
use ichor_values::SoftwareVersion;

use super::accelerator::QEMU;
use super::guest::OVMF;
use super::machine::PATH;
use super::vm;

/// How long a program may take to say its release, where all is emulated.
const VERSION_TIMEOUT: Duration = Duration::from_mins(1);

/// A program that a lab needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequiredProgram {
    program: &'static str,
    package: &'static str,
    /// Whether it runs in the machines, and not around them.
    inside: bool,
}

const IP: RequiredProgram = RequiredProgram { program: "ip", package: "iproute2", inside: false };
const NSENTER: RequiredProgram = RequiredProgram { program: "nsenter", package: "util-linux", inside: false };
const UNSHARE: RequiredProgram = RequiredProgram { program: "unshare", package: "util-linux", inside: false };
const VIRTUAL: RequiredProgram = RequiredProgram { program: QEMU, package: "qemu-system-x86", inside: false };
const UEFI: RequiredProgram = RequiredProgram { program: OVMF, package: "ovmf", inside: false };
const FRR: RequiredProgram = RequiredProgram { program: "/usr/lib/frr/bgpd", package: "frr", inside: true };
const VTYSH: RequiredProgram = RequiredProgram { program: "vtysh", package: "frr", inside: true };
const BIRD: RequiredProgram = RequiredProgram { program: "bird", package: "bird2", inside: true };
const GOBGPD: RequiredProgram = RequiredProgram { program: "gobgpd", package: "gobgpd", inside: true };
const GOBGP: RequiredProgram = RequiredProgram { program: "gobgp", package: "gobgpd", inside: true };

/// Programs that are not there.
#[derive(Debug, thiserror::Error)]
#[error("{}", missing_text(.root.as_deref(), .inside, .around))]
pub(crate) struct MissingPrograms {
    root: Option<PathBuf>,
    /// In the machines' file system, by the Debian package that has them.
    inside: Packages,
    /// On this machine.
    around: Packages,
}

type Packages = BTreeMap<&'static str, Vec<&'static str>>;

/// Refuses to begin where programs are missing, all of them at once.
pub(crate) fn check_programs(needs: &[RequiredProgram], root: Option<&Path>) -> Result<(), MissingPrograms> {
    let mut missing =
        MissingPrograms { root: root.map(Path::to_owned), inside: Packages::new(), around: Packages::new() };
    for need in needs {
        let root = root.filter(|_| need.inside);
        if find_program(need.program, root).is_none() {
            let packages = if root.is_some() { &mut missing.inside } else { &mut missing.around };
            packages.entry(need.package).or_default().push(need.program);
        }
    }
    if missing.inside.is_empty() && missing.around.is_empty() { Ok(()) } else { Err(missing) }
}

fn missing_text(root: Option<&Path>, inside: &Packages, around: &Packages) -> String {
    let list = |packages: &Packages| {
        let each =
            packages.iter().map(|(name, programs)| format!("{} (Debian: {name})", programs.join(", ")));
        each.collect::<Vec<_>>().join(", ")
    };
    let mut parts = Vec::new();
    if let Some(root) = root.filter(|_| !inside.is_empty()) {
        parts.push(format!("{} has no {}", root.display(), list(inside)));
    }
    if !around.is_empty() {
        let packages: Vec<_> = around.keys().copied().collect();
        parts.push(format!(
            "this machine has no {}; `apt-get install {}` brings it, or name a file system that has it with --root",
            list(around),
            packages.join(" ")
        ));
    }
    parts.join("; ")
}

/// What routers need, and nodes that are virtual machines.
pub(crate) fn programs_for_vms(uefi: bool) -> Vec<RequiredProgram> {
    let mut needs = vec![IP, NSENTER, UNSHARE, FRR, VTYSH, VIRTUAL];
    needs.extend(uefi.then_some(UEFI));
    needs
}

/// What the machines of a fabric need.
pub(crate) fn required_programs(plan: &Plan, network: &BgpTopology) -> Vec<RequiredProgram> {
    let routing = plan.nodes.iter().filter_map(|node| node.routing.as_deref());
    let backends: Vec<Backend> = routing.map(|routing| routing.backend.value).collect();
    let mut needs = vec![IP, NSENTER, UNSHARE, FRR, VTYSH];
    if backends.contains(&Backend::Bird) {
        needs.push(BIRD);
    }
    let speakers = network.nodes.iter().any(|model| model.workload.is_some());
    if speakers || backends.iter().any(|it| matches!(it, Backend::Gobgp | Backend::Native)) {
        needs.push(GOBGPD);
    }
    if speakers {
        needs.push(GOBGP);
    }
    needs
}

/// Where a program is, on a file system.
fn find_program(program: &str, root: Option<&Path>) -> Option<PathBuf> {
    let root = root.unwrap_or(Path::new("/"));
    let there = |path: &str| {
        let path = root.join(path.trim_start_matches('/'));
        // A link may lead to where only the other file system has something.
        path.symlink_metadata().is_ok().then_some(path)
    };
    if program.starts_with('/') {
        return there(program);
    }
    PATH.split(':').find_map(|folder| there(&format!("{folder}/{program}")))
}

/// Asks every daemon for its release, and the kernel for what it has.
pub(crate) fn detect_host(root: Option<&Path>) -> HostCapabilities {
    HostCapabilities {
        frr: program_release("/usr/lib/frr/bgpd", root),
        bird: program_release("bird", root),
        gobgp: program_release("gobgpd", root),
        vrf: kernel_has(&["vrf", "table", "1000"]),
        dummy: kernel_has(&["dummy"]),
        emulated: vm::is_emulated(),
    }
}

/// What a program says of its release.
fn program_release(program: &str, root: Option<&Path>) -> Option<SoftwareVersion> {
    find_program(program, root)?;
    let mut command = match root {
        Some(root) => {
            let mut command = Command::new("chroot");
            command.arg(root).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.arg("--version").env("PATH", PATH);
    let output = ProgramRun::new(command, VERSION_TIMEOUT).run().ok()?;
    parse_release(&format!("{}{}", output.stdout_text(), output.stderr_text()))
}

/// The first word of a text that is a release: `bgpd version 8.4.4`, `BIRD version 2.17.1`, `gobgpd version 3.36.0`.
fn parse_release(said: &str) -> Option<SoftwareVersion> {
    let words = said.split_whitespace().filter(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    let plain =
        |word: &str| word.chars().take_while(|it| it.is_ascii_digit() || *it == '.').collect::<String>();
    let mut releases = words.map(plain).filter(|word| word.contains('.'));
    releases.find_map(|word| SoftwareVersion::parse(word.trim_end_matches('.')).ok())
}

/// Whether a link of this kind can be made, tried in a network that is gone at once.
fn kernel_has(kind: &[&str]) -> bool {
    let mut command = Command::new("unshare");
    command.args(["--net", "ip", "link", "add", "lab", "type"]).args(kind);
    ProgramRun::new(command, VERSION_TIMEOUT).run().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_found_in_what_daemons_say() {
        let release = |said| parse_release(said).map(|version| version.to_string());

        assert_eq!(release("bgpd version 8.4.4\nCopyright 1996-2005").as_deref(), Some("8.4.4"));
        assert_eq!(release("bgpd version 10.3\n").as_deref(), Some("10.3"));
        assert_eq!(release("BIRD version 2.0.12\n").as_deref(), Some("2.0.12"));
        assert_eq!(release("gobgpd version 3.36.0\n").as_deref(), Some("3.36.0"));
        assert_eq!(release("usage: nothing"), None);
    }
}
