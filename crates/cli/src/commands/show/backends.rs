//! `show backends`: what every BGP backend can do, and why not.

use std::io::Write;

use ichor_bgp::setting::Carrier;
use ichor_core::plan::matrix::{Row, WAYS, Way, matrix};
use serde_json::{Value, json};

use super::write_list;
use crate::table;

pub(super) fn print(as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let matrix = matrix();
    if as_json {
        return write_list(out, matrix.iter().map(object));
    }
    let names: Vec<String> = WAYS.iter().map(name).collect();
    let mut heading = vec!["CAN IT"];
    heading.extend(names.iter().map(String::as_str));
    table::print(out, &heading, &matrix.iter().map(row).collect::<Vec<_>>())?;
    writeln!(out)?;
    let reasons: Vec<Vec<String>> = reasons(&names, &matrix)
        .into_iter()
        .map(|(reason, who, what)| vec![what.join("\n"), who.join("\n"), reason.to_owned()])
        .collect();
    table::print(out, &["CANNOT", "WHO", "WHY"], &reasons)?;
    Ok(())
}

/// Why not, each reason once for all who share it, with what they cannot do.
fn reasons<'m>(names: &'m [String], matrix: &'m [Row]) -> Vec<(&'m str, Vec<&'m str>, Vec<&'m str>)> {
    let mut told: Vec<(&str, Vec<&str>, Vec<&str>)> = Vec::new();
    for row in matrix {
        let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
        for (name, reason) in
            names.iter().zip(&row.lacks).filter_map(|(name, reason)| Some((name, (*reason)?)))
        {
            match by_reason.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, who)) => who.push(name),
                None => by_reason.push((reason, vec![name])),
            }
        }
        for (reason, who) in by_reason {
            match told.iter_mut().find(|known| known.0 == reason && known.1 == who) {
                Some((.., what)) => what.push(row.feature),
                None => told.push((reason, who, vec![row.feature])),
            }
        }
    }
    told
}

/// A way in few words: `frr 8.4`, `bird official`.
fn name(way: &Way) -> String {
    let mut words = vec![way.backend.to_string()];
    words.extend(way.version.map(ToOwned::to_owned));
    words.extend((way.carrier == Some(Carrier::Official)).then(|| "official".to_owned()));
    words.join(" ")
}

fn row(row: &Row) -> Vec<String> {
    let cells = row.lacks.iter().map(|lack| if lack.is_none() { "yes" } else { "no" });
    std::iter::once(row.feature).chain(cells).map(ToOwned::to_owned).collect()
}

fn object(row: &Row) -> Value {
    let ways: Vec<_> = WAYS
        .iter()
        .zip(&row.lacks)
        .map(|(way, lack)| {
            json!({
                "backend": way.backend.word(),
                "carrier": way.carrier.map(|carrier| carrier.word()),
                "version": way.version,
                "can": lack.is_none(),
                "why_not": lack,
            })
        })
        .collect();
    json!({"feature": row.feature, "ways": ways})
}
