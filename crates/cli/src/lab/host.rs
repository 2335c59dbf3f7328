//! Programs and kernel features of this machine that a lab needs.

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

/// Time limit for printing a version, enough with emulation.
const VERSION_TIMEOUT: Duration = Duration::from_mins(1);

/// A program that a lab needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequiredProgram {
    program: &'static str,
    package: &'static str,
    /// Whether it runs inside the machines.
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

/// Missing programs.
#[derive(Debug, thiserror::Error)]
#[error("{}", missing_text(.root.as_deref(), .inside, .around))]
pub(crate) struct MissingPrograms {
    root: Option<PathBuf>,
    /// Missing in the machines' file system, by Debian package.
    inside: Packages,
    /// Missing on this machine, by Debian package.
    around: Packages,
}

type Packages = BTreeMap<&'static str, Vec<&'static str>>;

/// Fails with all missing programs.
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
        parts.push(format!("{} lacks {}", root.display(), list(inside)));
    }
    if !around.is_empty() {
        let packages: Vec<_> = around.keys().copied().collect();
        parts.push(format!(
            "missing programs: {}; install them with `apt-get install {}`, or set --root to a file system that has them",
            list(around),
            packages.join(" ")
        ));
    }
    parts.join("; ")
}

/// Programs for routers and for nodes that are VMs.
pub(crate) fn programs_for_vms(uefi: bool) -> Vec<RequiredProgram> {
    let mut needs = vec![IP, NSENTER, UNSHARE, FRR, VTYSH, VIRTUAL];
    needs.extend(uefi.then_some(UEFI));
    needs
}

/// Programs for the machines of a fabric.
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

/// Path of a program in a file system.
fn find_program(program: &str, root: Option<&Path>) -> Option<PathBuf> {
    let root = root.unwrap_or(Path::new("/"));
    let installed = |path: &str| {
        let path = root.join(path.trim_start_matches('/'));
        // An absolute symlink may have a target that exists only in the other file system.
        path.symlink_metadata().is_ok().then_some(path)
    };
    if program.starts_with('/') {
        return installed(program);
    }
    PATH.split(':').find_map(|folder| installed(&format!("{folder}/{program}")))
}

/// Detects the versions of the daemons and the features of the kernel.
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

/// Version of a program, as printed by it.
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

/// The first version number in a text: `bgpd version 8.4.4`, `BIRD version 2.17.1`, `gobgpd version 3.36.0`.
fn parse_release(text: &str) -> Option<SoftwareVersion> {
    let words = text.split_whitespace().filter(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    let plain =
        |word: &str| word.chars().take_while(|it| it.is_ascii_digit() || *it == '.').collect::<String>();
    let mut releases = words.map(plain).filter(|word| word.contains('.'));
    releases.find_map(|word| SoftwareVersion::parse(word.trim_end_matches('.')).ok())
}

/// Whether the kernel supports a link type, tested in a temporary network namespace.
fn kernel_has(kind: &[&str]) -> bool {
    let mut command = Command::new("unshare");
    command.args(["--net", "ip", "link", "add", "lab", "type"]).args(kind);
    ProgramRun::new(command, VERSION_TIMEOUT).run().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_from_the_output_of_daemons() {
        let release = |text| parse_release(text).map(|version| version.to_string());

        assert_eq!(release("bgpd version 8.4.4\nCopyright 1996-2005").as_deref(), Some("8.4.4"));
        assert_eq!(release("bgpd version 10.3\n").as_deref(), Some("10.3"));
        assert_eq!(release("BIRD version 2.0.12\n").as_deref(), Some("2.0.12"));
        assert_eq!(release("gobgpd version 3.36.0\n").as_deref(), Some("3.36.0"));
        assert_eq!(release("usage: nothing"), None);
    }
}
