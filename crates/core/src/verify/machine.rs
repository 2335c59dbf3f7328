//! From the machine to the release it runs.
#![expect(clippy::unnecessary_wraps, reason = "judges of the list have one form")]

use super::case::{NodeContext, list};
use super::{CheckResult, MachinePower};
use crate::machines::drives::{DriveMedium, MediumKind};
use crate::observe::QueryOutcome;

pub(super) fn machine(case: &NodeContext<'_>) -> Option<CheckResult> {
    let name = case.name();
    Some(match case.seen.machine.as_ref()? {
        Ok(MachinePower::On) => CheckResult::holds("powered on"),
        Ok(MachinePower::Off) => CheckResult::broken(
            "the machine is powered off",
            format!("run `ichor machine start --only {name}`"),
        ),
        Ok(MachinePower::Absent) => {
            CheckResult::broken("the machine does not exist", "run `ichor up`, which creates it")
        }
        Ok(MachinePower::Foreign(whose)) => CheckResult::broken(
            format!("another machine has its name or VM ID: {whose}"),
            "set another `vm.id` for the node, or remove the other machine",
        ),
        Err(error) => CheckResult::unknown(error.to_string()),
    })
}

pub(super) fn drives(case: &NodeContext<'_>) -> Option<CheckResult> {
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
    let inside = if drives.inside.is_empty() { "no media are inserted".to_owned() } else { list(inside) };
    let (name, missing) = (case.name(), list(drives.missing.iter().map(named)));
    Some(match &case.seen.answer {
        QueryOutcome::Configured(_) if drives.boots_cd => CheckResult::broken(
            format!("{inside}; the machine boots it before its disk"),
            format!(
                "run `ichor machine eject --only {name}` and put the disk first in the boot order: at its next start the machine \
                 would boot that CD instead of the installed system"
            ),
        ),
        QueryOutcome::Configured(_) if drives.inside.iter().any(|it| it.kind != MediumKind::Foreign) => {
            CheckResult::holds(format!(
                "the machine boots its disk first; {inside}; `ichor machine eject --only {name}` ejects it"
            ))
        }
        QueryOutcome::Configured(_) => {
            CheckResult::holds(format!("the machine boots its disk first; {inside}"))
        }
        QueryOutcome::Maintenance { .. }
            if drives.missing.iter().any(|it| it.kind == MediumKind::Carries) =>
        {
            CheckResult::broken(
                format!("boot media are missing: {missing}; {inside}"),
                format!("run `ichor machine make --only {name}` to insert them, then restart the machine"),
            )
        }
        QueryOutcome::Maintenance { .. } => CheckResult::holds(inside),
        QueryOutcome::Silent { .. } | QueryOutcome::Other { .. } if drives.missing.is_empty() => {
            CheckResult::holds(inside)
        }
        QueryOutcome::Silent { .. } | QueryOutcome::Other { .. }
            if drives.inside.iter().any(|it| it.kind == MediumKind::Foreign) =>
        {
            CheckResult::broken(
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

pub(super) fn talos_api(case: &NodeContext<'_>) -> Option<CheckResult> {
    let at = || case.seen.at.map_or_else(|| "an unknown address".to_owned(), |at| at.to_string());
    Some(match &case.seen.answer {
        QueryOutcome::Configured(_) => CheckResult::holds(format!("answers at {}", at())),
        QueryOutcome::Maintenance { .. } => {
            CheckResult::holds(format!("answers at {}, in maintenance mode", at()))
        }
        QueryOutcome::Other { .. } => {
            CheckResult::holds(format!("an unidentified machine answers at {}", at()))
        }
        QueryOutcome::Silent { reasons } if reasons.is_empty() => CheckResult::broken(
            "no address of the node is known",
            "find it with `ichor discover`, then set `address.dhcp` or pass --node-address",
        ),
        QueryOutcome::Silent { reasons } => CheckResult::broken(
            reasons.join("; "),
            "check on its console that the machine is on, has booted Talos and has one of these addresses; \
             `ichor discover` finds machines at other addresses",
        ),
    })
}

pub(super) fn identity(case: &NodeContext<'_>) -> Option<CheckResult> {
    Some(match &case.seen.answer {
        QueryOutcome::Configured(_) => CheckResult::holds("certificate of this cluster, identity matches"),
        QueryOutcome::Maintenance { fingerprint, .. }
            if case.node.ports.iter().any(|port| port.mac.is_some()) =>
        {
            CheckResult::holds(format!(
                "MAC addresses match the cluster file; certificate fingerprint {fingerprint}"
            ))
        }
        QueryOutcome::Maintenance { fingerprint, .. } => CheckResult::unknown(format!(
            "the cluster file does not identify this machine: add its `macs`; certificate fingerprint {fingerprint}"
        )),
        QueryOutcome::Other { reason } => CheckResult::broken(
            reason.clone(),
            "if this is the right machine, correct its `macs`; if it belongs to another cluster, reset it there; \
             otherwise correct the address",
        ),
        QueryOutcome::Silent { .. } => case.silent(),
    })
}

pub(super) fn release(case: &NodeContext<'_>) -> Option<CheckResult> {
    let Some(told) = case.told() else { return Some(case.silent()) };
    let wanted = case.expected.talos.to_string();
    Some(match &told.talos {
        Some(talos) if *talos == wanted => CheckResult::holds(format!("Talos {talos}")),
        Some(talos) if case.is_early() => CheckResult::broken(
            format!("the node booted Talos {talos}, expected {wanted}"),
            "boot the image that `ichor image build` or the Image Factory makes for the cluster file",
        ),
        Some(talos) => CheckResult::broken(
            format!("the node runs Talos {talos}, expected {wanted}"),
            format!("upgrade it to {wanted} (`ichor upgrade`), or set {talos} in the cluster file"),
        ),
        None if case.is_early() => {
            CheckResult::unknown("Talos before 1.13 does not report its release in maintenance mode")
        }
        None => CheckResult::unknown("the node does not report its release"),
    })
}
