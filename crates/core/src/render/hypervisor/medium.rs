//! The CDs of a virtual machine: its boot ISO, and its configuration volume.

use super::vm_definition::VmDefinition;
use crate::cluster::section::{BootDevice, BootFrom, ImageSource};
use crate::plan::{ImagePlan, NodePlan, VmPlan};
use crate::render::base_image::BaseImage;
use crate::render::node_issue;
use crate::render::{image, schematic};
use ichor_talos::asset::Asset;
use ichor_values::Issue;

/// A CD, or an image that a disk is created from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Medium {
    /// Its file name in the storage for ISO images.
    pub name: String,
    /// Its source.
    pub source: MediumSource,
    /// Whether the machine boots from it.
    pub boots: bool,
    /// Whether it belongs to one machine, and so may contain secrets.
    pub own: bool,
}

/// The source of a CD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediumSource {
    /// Downloaded.
    Url(String),
    /// This file of the build, relative to the folder of the cluster.
    Built(String),
    /// Built by `ichor image build`, as a file of this name.
    Made(String),
    /// It exists on the hypervisor under this name.
    Existing(String),
}

/// Script comments that list each CD of some machines once, with its name there (`named`) and its source.
pub fn list_comments(
    guests: &[&VmDefinition<'_>],
    named: impl Fn(&VmDefinition<'_>, &Medium) -> String,
) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (guest, medium) in guests.iter().flat_map(|guest| guest.media.iter().map(move |it| (guest, it))) {
        let from = match &medium.source {
            MediumSource::Url(from) | MediumSource::Built(from) => format!(" from {from}"),
            MediumSource::Made(file) if *file == medium.name => " built by `ichor image build`".to_owned(),
            MediumSource::Made(file) => format!(" built by `ichor image build` as {file}"),
            MediumSource::Existing(_) => String::new(),
        };
        let line = format!("# {}{from}\n", named(guest, medium));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() { String::new() } else { format!("\n# Required ISO images:\n{}", lines.concat()) }
}

/// The CDs of a machine, the boot ISO first.
pub fn vm_media(cluster: &str, node: &NodePlan, vm: &VmPlan) -> Result<Vec<Medium>, Issue> {
    let boots = vm.boot.value.contains(&BootDevice::Cdrom);
    let talos = if boots { boot_iso(cluster, node)? } else { None };
    Ok(talos.into_iter().chain(config_medium(cluster, node)).collect())
}

/// The image that a machine's disk is created from: the prebuilt disk image, if there is no prebuilt ISO.
pub fn image(node: &NodePlan) -> Option<Medium> {
    let given = node.boot.given.as_ref().filter(|given| given.iso.is_none())?;
    let image = given.disk.as_ref()?.value.as_str();
    Some(Medium {
        name: file_name(image).to_owned(),
        source: prebuilt_source(image),
        boots: false,
        own: false,
    })
}

/// The source of a prebuilt image.
fn prebuilt_source(text: &str) -> MediumSource {
    if is_url(text) { MediumSource::Url(text.to_owned()) } else { MediumSource::Existing(text.to_owned()) }
}

/// The CDs of a physical machine; none with netboot.
pub fn metal_media(cluster: &str, node: &NodePlan) -> Result<Vec<Medium>, Issue> {
    if node.boot.from.value == BootFrom::Netboot {
        return Ok(Vec::new());
    }
    Ok(boot_iso(cluster, node)?.into_iter().chain(config_medium(cluster, node)).collect())
}

/// The name of a CD that belongs to one node, unique even if clusters with equal node names share a storage. Node names have no
/// `_`.
fn own_name(cluster: &str, rest: &str) -> String {
    format!("{cluster}_{rest}")
}

/// The configuration volume, if it is a CD.
fn config_medium(cluster: &str, node: &NodePlan) -> Option<Medium> {
    let kind = match node.boot.from.value {
        BootFrom::Cidata | BootFrom::MetalIso => node.boot.from.value.word(),
        _ => return None,
    };
    let source = MediumSource::Built(format!("nodes/{}/{kind}.iso", node.name));
    let name = own_name(cluster, &format!("{}-{kind}.iso", node.name));
    Some(Medium { name, source, boots: false, own: true })
}

/// The boot ISO; none if a prebuilt disk image is used instead.
fn boot_iso(cluster: &str, node: &NodePlan) -> Result<Option<Medium>, Issue> {
    let medium = |name, source| Ok(Some(Medium { name, source, boots: true, own: false }));
    match &node.boot.image.value {
        ImagePlan::Given => {
            let iso = node.boot.given.as_ref().and_then(|given| given.iso.as_ref());
            let Some(iso) = iso.map(|iso| iso.value.as_str()) else { return Ok(None) };
            medium(file_name(iso).to_owned(), prebuilt_source(iso))
        }
        ImagePlan::Made(ImageSource::Ichor) => {
            let base = BaseImage::from_node(node).map_err(|error| node_issue(node, &error))?;
            Ok(base.map(|base| {
                let (file, own) = (format!("{}.iso", base.stem()), base.embeds.is_some());
                let name = if own { own_name(cluster, &file) } else { file.clone() };
                Medium { name, source: MediumSource::Made(file), boots: true, own }
            }))
        }
        ImagePlan::Made(ImageSource::Factory) => {
            let id = schematic::node_schematic(node, None).map_err(|error| node_issue(node, &error))?.id();
            let request = image::asset_request(node, &id);
            let name = format!("talos-{}-{}-{}", node.talos.value, &id[..12], request.file_name(&Asset::Iso));
            medium(name, MediumSource::Url(request.url(&image::factory(node), &Asset::Iso)))
        }
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// The last component of a URL, a path or a volume name.
fn file_name(text: &str) -> &str {
    let path = if is_url(text) { text.split(['?', '#']).next().unwrap_or(text) } else { text };
    path.rsplit(['/', ':']).find(|part| !part.is_empty()).unwrap_or(path)
}
