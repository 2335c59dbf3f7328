//! What only shows when the documents of a configuration stand side by side.

mod conflict;
mod containers;
mod reference;
mod whole;

use super::field::Field;
use super::{Flaws, Setting};
use crate::talos::config::Config;

/// Judges the whole.
pub fn validate(config: &Config, setting: Setting<'_>, flaws: &mut Flaws) {
    conflict::validate(config, setting, flaws);
    if setting.at_least(14) {
        whole::validate(config, setting, flaws);
        containers::validate(config, flaws);
    }
    reference::advise(config, flaws);
}

/// The documents of a kind, each with its number.
fn of_kind<'c>(config: &'c Config, kind: &str) -> impl Iterator<Item = (usize, Field<'c>)> {
    let documents = config.documents.iter().enumerate();
    documents
        .filter(move |(_, document)| document.kind.is_some_and(|found| found.name == kind))
        .map(|(nth, document)| (nth, Field::root(&document.value)))
}

/// The document with `machine` and `cluster`, with its number.
fn machine(config: &Config) -> Option<(usize, Field<'_>)> {
    let nth = config.documents.iter().position(|document| document.kind.is_none())?;
    Some((nth, Field::root(&config.documents[nth].value)))
}
