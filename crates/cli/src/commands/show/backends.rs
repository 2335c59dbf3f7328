//! `show backends`: what every BGP backend can do, and why not.

use std::io::Write;

use ichor_core::cluster::section::Carrier;
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
    writeln!(out, "\nWhy not:")?;
    let mut reasons = Vec::new();
    for row in &matrix {
        for (name, reason) in names.iter().zip(&row.lacks) {
            reasons.extend(reason.map(|reason| format!("  {}, {name}: {reason}", row.feature)));
        }
    }
    for reason in reasons {
        writeln!(out, "{reason}")?;
    }
    Ok(())
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
