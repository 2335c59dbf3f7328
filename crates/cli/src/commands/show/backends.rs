//! `show backends`: the features of every BGP backend.

use std::io::Write;

use ichor_bgp::setting::Carrier;
use ichor_core::plan::matrix::{BackendVariant, FeatureSupport, VARIANTS, matrix};
use serde_json::{Value, json};

use super::write_list;
use crate::table;

pub(super) fn print(as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let matrix = matrix();
    if as_json {
        return write_list(out, matrix.iter().map(object));
    }
    let names: Vec<String> = VARIANTS.iter().map(name).collect();
    let mut heading = vec!["FEATURE"];
    heading.extend(names.iter().map(String::as_str));
    table::print(out, &heading, &matrix.iter().map(row).collect::<Vec<_>>())?;
    writeln!(out)?;
    let reasons: Vec<Vec<String>> = reasons(&names, &matrix)
        .into_iter()
        .map(|(reason, who, what)| vec![what.join("\n"), who.join("\n"), reason.to_owned()])
        .collect();
    table::print(out, &["MISSING FEATURE", "BACKEND", "REASON"], &reasons)?;
    Ok(())
}

/// The reasons of missing features: each with the backends that share it and the features.
fn reasons<'m>(
    names: &'m [String],
    matrix: &'m [FeatureSupport],
) -> Vec<(&'m str, Vec<&'m str>, Vec<&'m str>)> {
    let mut reasons: Vec<(&str, Vec<&str>, Vec<&str>)> = Vec::new();
    for row in matrix {
        let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
        for (name, reason) in
            names.iter().zip(&row.limitations).filter_map(|(name, reason)| Some((name, (*reason)?)))
        {
            match by_reason.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, who)) => who.push(name),
                None => by_reason.push((reason, vec![name])),
            }
        }
        for (reason, who) in by_reason {
            match reasons.iter_mut().find(|known| known.0 == reason && known.1 == who) {
                Some((.., what)) => what.push(row.feature),
                None => reasons.push((reason, who, vec![row.feature])),
            }
        }
    }
    reasons
}

/// The short name of a backend: `frr 8.4`, `bird official`.
fn name(way: &BackendVariant) -> String {
    let mut words = vec![way.backend.to_string()];
    words.extend(way.version.map(ToOwned::to_owned));
    words.extend((way.carrier == Some(Carrier::Official)).then(|| "official".to_owned()));
    words.join(" ")
}

fn row(row: &FeatureSupport) -> Vec<String> {
    let cells = row.limitations.iter().map(|lack| if lack.is_none() { "yes" } else { "no" });
    std::iter::once(row.feature).chain(cells).map(ToOwned::to_owned).collect()
}

fn object(row: &FeatureSupport) -> Value {
    let ways: Vec<_> = VARIANTS
        .iter()
        .zip(&row.limitations)
        .map(|(way, lack)| {
            json!({
                "backend": way.backend.word(),
                "extension": way.carrier.map(|carrier| carrier.word()),
                "daemon_version": way.version,
                "supported": lack.is_none(),
                "reason": lack,
            })
        })
        .collect();
    json!({"feature": row.feature, "backends": ways})
}
