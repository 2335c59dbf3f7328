//! What a lab is that runs: for people and as JSON.

use std::io::Write;

use ichor_core::lab::scene::Session;
use serde_json::json;

use crate::lab::{Lab, ask, seen};
use crate::{style, table};

/// Tells what is other than the file says, every session, how long it took, and how to end it, if it stays.
pub(super) fn tell(lab: &Lab, stays: bool, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let (scene, up) = (lab.scene(), seen::established(lab));
    let troubles: Vec<_> = scene.sessions.iter().map(|session| trouble(lab, session)).collect();
    if as_json {
        let sessions = scene.sessions.iter().enumerate().map(|(nth, session)| {
            json!({
                "one": session.one, "other": session.other, "bfd": session.bfd,
                "established": up.contains(&nth), "fault": session.fault, "trouble": troubles[nth],
            })
        });
        let value = json!({
            "name": lab.place.name(),
            "cluster": scene.cluster,
            "file": lab.record.file,
            "here": lab.record.here,
            "emulated": lab.record.emulated,
            "took_ms": lab.record.took,
            "machines": scene.machines.iter().map(|machine| &machine.name).collect::<Vec<_>>(),
            "cables": scene.cables.iter().map(|cable| &cable.name).collect::<Vec<_>>(),
            "sessions": sessions.collect::<Vec<_>>(),
            "differs": scene.differs,
        });
        serde_json::to_writer_pretty(&mut *out, &value)?;
        return Ok(writeln!(out)?);
    }
    for line in &scene.differs {
        style::say(&format!("{}note:{} {line}", style::NOTE, style::NOTE.render_reset()));
    }
    let row = |(nth, session): (usize, &Session)| {
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
    let rows: Vec<_> = scene.sessions.iter().enumerate().map(row).collect();
    table::print(out, &["NODE", "PEER", "WITH", "BFD", "STATE"], &rows)?;
    let name = lab.place.name();
    let took = lab.record.took.map_or_else(String::new, |took| {
        let emulated = if lab.record.emulated { ", emulated" } else { "" };
        format!(" in {}.{} s{emulated}", took / 1000, took % 1000 / 100)
    });
    let (machines, count) = (scene.machines.len(), up.len());
    let end = if stays {
        format!("`ichor lab down {name}` ends it")
    } else {
        "it is ended; with --keep it stays, to be looked into".to_owned()
    };
    style::say(&format!("{name}: {machines} machines, {count} sessions{took}; {end}"));
    Ok(())
}

/// What the agent at a session's end says is wrong with it.
fn trouble(lab: &Lab, session: &Session) -> Option<String> {
    let said = ask::said(lab, lab.machine(&session.one.name).ok()?).ok()?;
    said.session(&session.one.peer)?.1.map(|trouble| trouble.message.clone())
}
