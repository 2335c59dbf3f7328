//! The state of a running lab as a table and as JSON.

use std::io::Write;

use ichor_core::lab::topology::LabSession;
use serde_json::json;

use crate::lab::{Lab, collect, established};
use crate::{style, table};

/// Prints the differences from the cluster file, every session, how long the start took, and how to end the lab.
pub(super) fn print_lab(lab: &Lab, stays: bool, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let (topology, up) = (lab.topology(), established::established_sessions(lab));
    let troubles: Vec<_> = topology.sessions.iter().map(|session| trouble(lab, session)).collect();
    if as_json {
        let sessions = topology.sessions.iter().enumerate().map(|(nth, session)| {
            json!({
                "local": session.one, "remote": session.other, "bfd": session.bfd,
                "established": up.contains(&nth), "expected_down": session.fault, "problem": troubles[nth],
            })
        });
        let value = json!({
            "lab": lab.dir.name(),
            "cluster": topology.cluster,
            "cluster_file": lab.record.file,
            "host": lab.record.host,
            "emulated": lab.record.emulated,
            "convergence_ms": lab.record.convergence_ms,
            "machines": topology.machines.iter().map(|machine| &machine.name).collect::<Vec<_>>(),
            "links": topology.cables.iter().map(|cable| &cable.name).collect::<Vec<_>>(),
            "sessions": sessions.collect::<Vec<_>>(),
            "deviations": topology.deviations,
        });
        serde_json::to_writer_pretty(&mut *out, &value)?;
        return Ok(writeln!(out)?);
    }
    for line in &topology.deviations {
        style::say(&format!("{}note:{} {line}", style::NOTE, style::NOTE.render_reset()));
    }
    let row = |(nth, session): (usize, &LabSession)| {
        let state = match (up.contains(&nth), session.fault.as_ref().or(troubles[nth].as_ref())) {
            (true, _) => "established".to_owned(),
            (false, None) => "down".to_owned(),
            (false, Some(reason)) => format!("down: {reason}"),
        };
        let bfd = if session.bfd { "yes" } else { "" };
        vec![
            session.one.name.clone(),
            session.one.peer.clone(),
            session.other.name.clone(),
            bfd.to_owned(),
            state,
        ]
    };
    let rows: Vec<_> = topology.sessions.iter().enumerate().map(row).collect();
    table::print(out, &["NODE", "PEER", "NEIGHBOR", "BFD", "STATE"], &rows)?;
    let name = lab.dir.name();
    let took = lab.record.convergence_ms.map_or_else(String::new, |took| {
        let emulated = if lab.record.emulated { ", emulated" } else { "" };
        format!(" in {}.{} s{emulated}", took / 1000, took % 1000 / 100)
    });
    let (machines, count) = (topology.machines.len(), up.len());
    let end = if stays {
        format!("end it with `ichor lab down {name}`")
    } else {
        "the lab is removed; keep it with --keep".to_owned()
    };
    style::say(&format!("{name}: {machines} machines, {count} sessions{took}; {end}"));
    Ok(())
}

/// The agent's diagnosis of a session.
fn trouble(lab: &Lab, session: &LabSession) -> Option<String> {
    let report = collect::query_daemon(lab, lab.machine(&session.one.name).ok()?).ok()?;
    report.find_session(&session.one.peer)?.1.map(|trouble| trouble.message.clone())
}
