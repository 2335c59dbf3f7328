//! From the machine to the release it runs.
#![expect(clippy::unnecessary_wraps, reason = "judges of the list have one form")]

use super::case::{Case, list};
use super::{MachineTold, Verdict};
use crate::machines::drives::{Inside, Kind};
use crate::observe::Answer;

pub(super) fn machine(case: &Case<'_>) -> Option<Verdict> {
    let name = case.name();
    Some(match case.seen.machine.as_ref()? {
        Ok(MachineTold::On) => Verdict::holds("it is switched on"),
        Ok(MachineTold::Off) => Verdict::broken(
            "it is switched off",
            format!("`ichor machine start --only {name}` switches it on"),
        ),
        Ok(MachineTold::Absent) => Verdict::broken("there is no such machine", "`ichor up` makes it"),
        Ok(MachineTold::Foreign(whose)) => Verdict::broken(
            format!("another machine is in its place: {whose}"),
            "give the node another `vm.id`, or take that machine away yourself",
        ),
        Err(error) => Verdict::unknown(error.to_string()),
    })
}

pub(super) fn drives(case: &Case<'_>) -> Option<Verdict> {
    let drives = match case.seen.drives.as_ref()? {
        Ok(drives) => drives,
        Err(error) => return Some(Verdict::unknown(error.to_string())),
    };
    if drives.inside.is_empty() && drives.missing.is_empty() {
        return None;
    }
    let named = |it: &Inside| match it.kind {
        Kind::Boots => format!("{} with Talos", it.what),
        Kind::Carries => format!("{} with its configuration", it.what),
        Kind::Foreign => format!("{} of somebody else", it.what),
    };
    let inside = drives.inside.iter().map(|it| format!("{} has {}", it.drive, named(it)));
    let inside = if drives.inside.is_empty() { "its drives are empty".to_owned() } else { list(inside) };
    let (name, missing) = (case.name(), list(drives.missing.iter().map(named)));
    Some(match &case.seen.answer {
        Answer::Configured(_) if drives.boots_cd => Verdict::broken(
            format!("{inside}; it boots that before its disk"),
            format!(
                "`ichor machine eject --only {name}` takes it out; put the disk first in its boot order, for at its next start it \
                 boots that CD and not what is installed"
            ),
        ),
        Answer::Configured(_) if drives.inside.iter().any(|it| it.kind != Kind::Foreign) => Verdict::holds(
            format!("it boots its disk first; {inside}, which `ichor machine eject --only {name}` takes out"),
        ),
        Answer::Configured(_) => Verdict::holds(format!("it boots its disk first; {inside}")),
        Answer::Maintenance { .. } if drives.missing.iter().any(|it| it.kind == Kind::Carries) => {
            Verdict::broken(
                format!("it lacks {missing}; {inside}"),
                format!("`ichor machine make --only {name}` puts it in; then start the machine anew"),
            )
        }
        Answer::Maintenance { .. } => Verdict::holds(inside),
        Answer::Silent { .. } | Answer::Other { .. } if drives.missing.is_empty() => Verdict::holds(inside),
        Answer::Silent { .. } | Answer::Other { .. }
            if drives.inside.iter().any(|it| it.kind == Kind::Foreign) =>
        {
            Verdict::broken(
                format!("{inside}; it lacks {missing}"),
                format!(
                    "take out what is not its own, and `ichor machine make --only {name}` puts in what is"
                ),
            )
        }
        Answer::Silent { .. } | Answer::Other { .. } => Verdict::unknown(format!(
            "{inside}: right if it is installed; if not, it lacks {missing}, which `ichor machine make --only {name}` puts in"
        )),
    })
}

pub(super) fn talos_api(case: &Case<'_>) -> Option<Verdict> {
    let at = || case.seen.at.map_or_else(|| "somewhere".to_owned(), |at| at.to_string());
    Some(match &case.seen.answer {
        Answer::Configured(_) => Verdict::holds(format!("it answers at {}", at())),
        Answer::Maintenance { .. } => {
            Verdict::holds(format!("it answers at {}, without a configuration", at()))
        }
        Answer::Other { .. } => Verdict::holds(format!("somebody answers at {}", at())),
        Answer::Silent { reasons } if reasons.is_empty() => Verdict::broken(
            "nobody knows where it is",
            "find it with `ichor discover`, then give its address by `address.dhcp` or --node-address",
        ),
        Answer::Silent { reasons } => Verdict::broken(
            reasons.join("; "),
            "look at its console: is it on, has it booted Talos, and has it one of these addresses? \
             `ichor discover` finds machines that have another one",
        ),
    })
}

pub(super) fn identity(case: &Case<'_>) -> Option<Verdict> {
    Some(match &case.seen.answer {
        Answer::Configured(_) => {
            Verdict::holds("it has a certificate of the cluster, and is not another node")
        }
        Answer::Maintenance { fingerprint, .. } if case.node.ports.iter().any(|port| port.mac.is_some()) => {
            Verdict::holds(format!(
                "it has the MAC addresses of the file; the fingerprint of its certificate is {fingerprint}"
            ))
        }
        Answer::Maintenance { fingerprint, .. } => Verdict::unknown(format!(
            "the file does not say by what this machine is known: write its `macs`; the fingerprint of its certificate \
             is {fingerprint}"
        )),
        Answer::Other { reason } => Verdict::broken(
            reason.clone(),
            "if that is the machine you mean, correct its `macs`; if it belongs to another cluster, reset it there; \
             else correct the address",
        ),
        Answer::Silent { .. } => case.silent(),
    })
}

pub(super) fn release(case: &Case<'_>) -> Option<Verdict> {
    let Some(told) = case.told() else { return Some(case.silent()) };
    let wanted = case.expected.talos.to_string();
    Some(match &told.talos {
        Some(talos) if *talos == wanted => Verdict::holds(format!("Talos {talos}")),
        Some(talos) if case.is_early() => Verdict::broken(
            format!("it booted Talos {talos}, and should have booted {wanted}"),
            "boot it from the image that `ichor image build` or the Image Factory makes for the file",
        ),
        Some(talos) => Verdict::broken(
            format!("it runs Talos {talos}, and should run {wanted}"),
            format!("upgrade it to {wanted}, or write {talos} into the file"),
        ),
        None if case.is_early() => {
            Verdict::unknown("Talos before 1.13 does not tell its release before it is configured")
        }
        None => Verdict::unknown("it does not tell its release"),
    })
}
