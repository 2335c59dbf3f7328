//! Checks of the machine, its drives, the Talos API, its identity and release.
#![expect(clippy::unnecessary_wraps, reason = "all checks have the same signature")]

use super::context::{NodeContext, join_list};
use super::{CheckResult, MachinePower};
use crate::machines::drives::{DriveMedium, MediumKind};
use crate::observe::QueryOutcome;

pub(super) fn check_machine(case: &NodeContext<'_>) -> Option<CheckResult> {
    let name = case.name();
    Some(match case.seen.machine.as_ref()? {
        Ok(MachinePower::On) => CheckResult::passed("powered on"),
        Ok(MachinePower::Off) => CheckResult::failed(
            "the machine is powered off",
            format!("run `ichor machine start --only {name}`"),
        ),
        Ok(MachinePower::Absent) => {
            CheckResult::failed("the machine does not exist", "run `ichor up`, which creates it")
        }
        Ok(MachinePower::Foreign(whose)) => CheckResult::failed(
            format!("another machine has its name or VM ID: {whose}"),
            "set another `vm.id` for the node, or remove the other machine",
        ),
        Err(error) => CheckResult::unknown(error.to_string()),
    })
}

pub(super) fn check_drives(case: &NodeContext<'_>) -> Option<CheckResult> {
    let drives = match case.seen.drives.as_ref()? {
        Ok(drives) => drives,
        Err(error) => return Some(CheckResult::unknown(error.to_string())),
    };
    if drives.inside.is_empty() && drives.missing.is_empty() {
        return None;
    }
    let named = |it: &DriveMedium| match it.kind {
        MediumKind::Boots => format!("{} (boots Talos)", it.what),
        MediumKind::Carries => format!("{} (its configuration)", it.what),
        MediumKind::Foreign => format!("{} (not inserted by ichor)", it.what),
    };
    let inside = drives.inside.iter().map(|it| format!("{} has {}", it.drive, named(it)));
    let inside =
        if drives.inside.is_empty() { "no media are inserted".to_owned() } else { join_list(inside) };
    let (name, missing) = (case.name(), join_list(drives.missing.iter().map(named)));
    Some(match &case.seen.answer {
        QueryOutcome::Configured(_) if drives.boots_cd => CheckResult::failed(
            format!("{inside}; the machine boots it before its disk"),
            format!(
                "run `ichor machine eject --only {name}` and put the disk first in the boot order: at its next start the machine \
                 would boot that CD instead of the installed system"
            ),
        ),
        QueryOutcome::Configured(_) if drives.inside.iter().any(|it| it.kind != MediumKind::Foreign) => {
            CheckResult::passed(format!(
                "the machine boots its disk first; {inside}; `ichor machine eject --only {name}` ejects it"
            ))
        }
        QueryOutcome::Configured(_) => {
            CheckResult::passed(format!("the machine boots its disk first; {inside}"))
        }
        QueryOutcome::Maintenance { .. }
            if drives.missing.iter().any(|it| it.kind == MediumKind::Carries) =>
        {
            CheckResult::failed(
                format!("boot media are missing: {missing}; {inside}"),
                format!("run `ichor machine make --only {name}` to insert them, then restart the machine"),
            )
        }
        QueryOutcome::Maintenance { .. } => CheckResult::passed(inside),
        QueryOutcome::Silent { .. } | QueryOutcome::Other { .. } if drives.missing.is_empty() => {
            CheckResult::passed(inside)
        }
        QueryOutcome::Silent { .. } | QueryOutcome::Other { .. }
            if drives.inside.iter().any(|it| it.kind == MediumKind::Foreign) =>
        {
            CheckResult::failed(
                format!("{inside}; boot media are missing: {missing}"),
                format!(
                    "eject the other media, then run `ichor machine make --only {name}` to insert its own"
                ),
            )
        }
        QueryOutcome::Silent { .. } | QueryOutcome::Other { .. } => CheckResult::unknown(format!(
            "{inside}, which is correct once Talos is installed; until then {missing} is missing (`ichor machine make --only {name}`)"
        )),
    })
}

pub(super) fn check_talos_api(case: &NodeContext<'_>) -> Option<CheckResult> {
    let at = || case.seen.at.map_or_else(|| "an unknown address".to_owned(), |at| at.to_string());
    Some(match &case.seen.answer {
        QueryOutcome::Configured(_) => CheckResult::passed(format!("answers at {}", at())),
        QueryOutcome::Maintenance { .. } => {
            CheckResult::passed(format!("answers at {}, in maintenance mode", at()))
        }
        QueryOutcome::Other { .. } => {
            CheckResult::passed(format!("an unidentified machine answers at {}", at()))
        }
        QueryOutcome::Silent { reasons } if reasons.is_empty() => CheckResult::failed(
            "no address of the node is known",
            "find it with `ichor discover`, then set `address.dhcp` or pass --node-address",
        ),
        QueryOutcome::Silent { reasons } => CheckResult::failed(
            reasons.join("; "),
            "check on its console that the machine is on, has booted Talos and has one of these addresses; \
             `ichor discover` finds machines at other addresses",
        ),
    })
}

pub(super) fn check_identity(case: &NodeContext<'_>) -> Option<CheckResult> {
    Some(match &case.seen.answer {
        QueryOutcome::Configured(_) => CheckResult::passed("certificate of this cluster, identity matches"),
        QueryOutcome::Maintenance { fingerprint, .. }
            if case.node.ports.iter().any(|port| port.mac.is_some()) =>
        {
            CheckResult::passed(format!(
                "MAC addresses match the cluster file; certificate fingerprint {fingerprint}"
            ))
        }
        QueryOutcome::Maintenance { fingerprint, .. } => CheckResult::unknown(format!(
            "the cluster file does not identify this machine: add its `macs`; certificate fingerprint {fingerprint}"
        )),
        QueryOutcome::Other { reason } => CheckResult::failed(
            reason.clone(),
            "if this is the right machine, correct its `macs`; if it belongs to another cluster, reset it there; \
             otherwise correct the address",
        ),
        QueryOutcome::Silent { .. } => case.unreachable(),
    })
}

pub(super) fn check_release(case: &NodeContext<'_>) -> Option<CheckResult> {
    let Some(snapshot) = case.snapshot() else { return Some(case.unreachable()) };
    let wanted = case.expected.talos.to_string();
    Some(match &snapshot.talos {
        Some(talos) if *talos == wanted => CheckResult::passed(format!("Talos {talos}")),
        Some(talos) if case.is_in_maintenance() => CheckResult::failed(
            format!("the node booted Talos {talos}, expected {wanted}"),
            "boot the image that `ichor image build` or the Image Factory makes for the cluster file",
        ),
        Some(talos) => CheckResult::failed(
            format!("the node runs Talos {talos}, expected {wanted}"),
            format!("upgrade it to {wanted} (`ichor upgrade`), or set {talos} in the cluster file"),
        ),
        None if case.is_in_maintenance() => {
            CheckResult::unknown("Talos before 1.13 does not report its release in maintenance mode")
        }
        None => CheckResult::unknown("the node does not report its release"),
    })
}
