//! What is there when a machine boots, and what it does with it.

use super::carrier::{META_NETWORK, METAL_CONFIG, NOCLOUD};
use super::platform::{self, Boot};
use super::verdict::config_source;
use super::{Carrier, Found, Inspection, Machine, Mistake, Release, Verdict, addressing, command_line};
use crate::inspect::rules;
use ichor_talos::command_line::{CommandLine, INLINE};
use ichor_talos::extension::Layer;
use ichor_talos::validate::Mode;
use ichor_talos::{meta, release};

/// What is there when a machine boots.
#[derive(Clone, Default)]
pub struct Media {
    /// What was found on the way here.
    pub found: Vec<Found>,
    /// What is wrong with it already.
    pub mistakes: Vec<Mistake>,
    /// The release, where something says it.
    pub release: Option<Release>,
    /// The extensions in the image; none where no initramfs was looked into.
    pub extensions: Option<Vec<Layer>>,
    /// The kernel command line, where it is known.
    pub command_line: Option<String>,
    /// The configuration inside of the image, or why it is not known whether there is one.
    pub embedded: Option<Result<Vec<u8>, String>>,
    /// What the STATE partition may hold; none where there is no such partition.
    pub state: Option<String>,
    /// The values of the META partition; none where there is no such partition.
    pub meta: Option<Result<Vec<meta::Value>, String>>,
    /// Where files for a platform are.
    pub carriers: Vec<Carrier>,
}

/// Why media cannot be inspected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// Nothing that Talos looks for.
    #[error(
        "nothing here that Talos reads; want {} for nocloud, {METAL_CONFIG} or {META_NETWORK} for metal, or something to boot from",
        NOCLOUD.join(", ")
    )]
    Nothing,
}

impl Media {
    /// A kernel command line alone.
    pub fn of_command_line(text: &str) -> Self {
        Self { command_line: Some(text.to_owned()), ..Self::default() }
    }

    /// A folder with the files of a volume, or of `ichor build`.
    pub fn of_folder(mut folder: Carrier) -> Self {
        let text = |bytes| String::from_utf8(bytes).map_err(|_| "META key 10 is not UTF-8 text".to_owned());
        let meta = folder.files.remove(META_NETWORK).map(|bytes| {
            let value = text(bytes)?;
            Ok(vec![meta::Value { key: meta::NETWORK, value }])
        });
        Self { meta, carriers: vec![folder], ..Self::default() }
    }

    pub(super) fn mistake(&mut self, rule: &'static ichor_values::Explanation, message: impl Into<String>) {
        self.mistakes.push(Mistake::new(rule, message));
    }

    /// The platform that the files are for, where no command line says it.
    fn platform(&self) -> Option<&'static str> {
        let has = |names: &[&str]| self.carriers.iter().any(|carrier| carrier.is_meant_for(names));
        if has(&NOCLOUD) {
            Some("nocloud")
        } else if has(&[METAL_CONFIG]) || self.meta.is_some() || self.state.is_some() {
            Some("metal")
        } else {
            None
        }
    }
}

/// What a machine does with media. What is not on them, it has not: its disk is empty, and nobody answers.
pub fn inspect(media: &Media, machine: &Machine) -> Result<Inspection, InspectError> {
    let mut inspection = Inspection {
        found: media.found.clone(),
        mistakes: media.mistakes.clone(),
        release: media.release.clone(),
        extensions: media.extensions.clone(),
        arguments: media.command_line.as_deref().map(command_line::shown),
        ..Inspection::default()
    };
    let line = media.command_line.as_deref().map(CommandLine::kept);
    match (&line, media.platform()) {
        (Some(line), _) => command_line::platform(line, &mut inspection),
        (None, Some(platform)) => platform.clone_into(&mut inspection.platform),
        (None, None) if media.extensions.is_some() => inspection.is_part = true,
        (None, None) => return Err(InspectError::Nothing),
    }
    let line = line.unwrap_or_default();
    let boot = Boot { media, machine, line: &line };
    state(media, &mut inspection);
    embedded(&boot, &mut inspection);
    command_line::inline(&boot, INLINE[0], &mut inspection);
    platform::read(&boot, &mut inspection);
    command_line::inline(&boot, INLINE[1], &mut inspection);
    replaced(&mut inspection);
    addressing::find(&boot, &mut inspection);
    Ok(inspection)
}

fn state(media: &Media, inspection: &mut Inspection) {
    let verdict = media.state.clone().map_or(Verdict::Nothing, Verdict::Unread);
    config_source("STATE", "the STATE partition", verdict, inspection);
}

/// Since 1.12 an image may have a configuration inside.
fn embedded(boot: &Boot<'_>, inspection: &mut Inspection) {
    let talos = &boot.machine.talos;
    if !release::at_least(talos, 12) {
        if matches!(boot.media.embedded, Some(Ok(_))) {
            let message =
                format!("the image has a configuration inside, which Talos {talos} does not look for");
            inspection.mistake(&rules::EMBEDDED_UNREAD, message);
        }
        return;
    }
    // Until 1.14 it is judged as if it stood on the disk of an installed machine.
    let mode = if release::at_least(talos, 14) { mode(inspection) } else { Mode::Cloud };
    let verdict = match &boot.media.embedded {
        None => Verdict::Nothing,
        Some(Ok(bytes)) => Verdict::of(bytes, talos, mode),
        Some(Err(unknown)) => Verdict::Unread(unknown.clone()),
    };
    config_source("embedded", "the image", verdict, inspection);
}

/// How configurations are judged.
pub(super) fn mode(inspection: &Inspection) -> Mode {
    match inspection.platform.as_str() {
        "metal" => Mode::Metal,
        "container" => Mode::Container,
        _ => Mode::Cloud,
    }
}

/// Sources are not joined: what one has is gone as soon as a later one has something.
fn replaced(inspection: &mut Inspection) {
    let mut messages = Vec::new();
    let mut before = None;
    for source in &inspection.sources {
        let Some(kinds) = source.verdict.kinds() else {
            if source.verdict.ends_the_search() {
                break;
            }
            continue;
        };
        if let Some((name, lost)) = before.replace((&source.name, kinds.clone())) {
            let lost: Vec<&str> = lost.into_iter().filter(|kind| !kinds.contains(kind)).collect();
            let lost = if lost.is_empty() { String::new() } else { format!(": {} is lost", lost.join(", ")) };
            messages.push(format!("what {name} has is replaced by what {} has{lost}", source.name));
        }
        if source.verdict.ends_the_search() {
            break;
        }
    }
    for message in messages {
        inspection.mistake(&rules::CONFIG_REPLACED, message);
    }
}
