//! The installation disk, and the boot order afterwards.

use crate::cluster::section::{BootDevice, Platform};
use crate::plan::NodePlan;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::release;
use ichor_values::WordOrRecord;

pub(super) const RULES: &[Rule] = &[NO_INSTALL_DISK, INSTALL_DISK_TWICE, ISO_FIRST];

const NO_INSTALL_DISK: Rule = Rule {
    id: "no-install-disk",
    severity: Severity::Error,
    summary: "a machine has no disk to install Talos on",
    failure: "Up to 1.13 Talos rejects the configuration of a metal machine without a disk, and the nocloud ISO fails \
              to install to an empty name. From 1.14 on Talos installs nothing: after a power failure the machine is \
              empty.",
    fix: "set `install.disk`, or `install.select` with size, type, model or serial",
    check: check_no_install_disk,
};

const INSTALL_DISK_TWICE: Rule = Rule {
    id: "install-disk-twice",
    severity: Severity::Error,
    summary: "a machine has both a disk and a disk selector to install to",
    failure: "If the defaults set `disk` and a group sets `select`, both apply to its nodes. Talos uses the selector \
              and may wipe a data disk.",
    fix: "clear the inherited one: `install: {disk: null, select: {…}}`",
    check: check_install_disk_twice,
};

const ISO_FIRST: Rule = Rule {
    id: "iso-first",
    severity: Severity::Warning,
    summary: "a virtual machine boots from CD-ROM or network although Talos is on its disk",
    failure: "The ISO's kernel has talos.halt_if_installed=1. After the installation the VM boots the ISO, finds Talos \
              on the disk and halts until the ISO is removed.",
    fix: "set `vm.boot: [disk, cdrom]`: an empty disk does not boot, so the ISO is used exactly once",
    check: check_iso_first,
};

/// Whether the only image is a disk image, which has Talos installed.
fn is_disk_image(node: &NodePlan) -> bool {
    let source = node.written().image.get().and_then(|image| image.source.get());
    match source {
        Some(WordOrRecord::Record(given)) => {
            given.disk.is_set() && !given.iso.is_set() && !given.kernel.is_set()
        }
        _ => false,
    }
}

fn check_no_install_disk(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class().filter(|(node, _)| node.boot.disk.is_none()) {
        let before_14 = !release::at_least(&node.talos.value, 14);
        let needed = match node.platform.value {
            Platform::Metal => before_14 || !is_disk_image(node),
            Platform::Nocloud => before_14 && !is_disk_image(node),
            _ => false,
        };
        let patched =
            || context.attachments.patches.in_settings(node.written()).any(|patch| patch.sets_install_disk());
        if needed && !patched() {
            let message = format!("no disk to install Talos on (platform {})", node.platform.value);
            problems.add_message("install", None, message, &kind.nodes);
        }
    }
    problems.report(context, findings);
}

fn check_install_disk_twice(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let Some(install) = node.written().install.get() else { continue };
        if let (Some(disk), Some(select)) = (install.disk.at(), install.select.at()) {
            let message = format!("both disk {} and a disk selector are set", disk.value);
            problems.add_message("install", Some(disk.place.max(select.place)), message, &kind.nodes);
        }
    }
    problems.report(context, findings);
}

fn check_iso_first(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let Some(vm) = &node.vm else { continue };
        let first = vm.boot.value.first();
        let message = match first {
            Some(BootDevice::Cdrom) => {
                "the CD-ROM comes before the disk: the ISO halts once Talos is installed"
            }
            Some(BootDevice::Net) => {
                "the network comes before the disk: every restart depends on the boot server"
            }
            Some(BootDevice::Disk) | None => continue,
        };
        problems.add_message("vm.boot", vm.boot.place(), message, &kind.nodes);
    }
    problems.report(context, findings);
}
