//! The CDs of a virtual machine: the one it boots, and the one that carries its first configuration.

use super::guest::VmDefinition;
use crate::cluster::section::{BootDevice, BootFrom, ImageSource};
use crate::plan::{ImagePlan, NodePlan, VmPlan};
use crate::render::base::BaseImage;
use crate::render::node_issue;
use crate::render::{image, schematic};
use ichor_talos::asset::Asset;
use ichor_values::Issue;

/// A CD, or what a disk begins as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Medium {
    /// Its file name where ISO images are.
    pub name: String,
    /// Where it comes from.
    pub source: MediumSource,
    /// Whether the machine boots it.
    pub boots: bool,
    /// Whether it was made for one machine, and so may hold what nobody else shall see.
    pub own: bool,
}

/// Where a CD comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediumSource {
    /// It is fetched.
    Url(String),
    /// It is this file of the build, from the folder of the cluster.
    Built(String),
    /// `ichor image build` makes it, as a file of this name.
    Made(String),
    /// It is there already: the hypervisor's own name for it.
    There(String),
}

/// Comments for a script: each CD of some machines once, as `named` there, and where it comes from.
pub fn list(guests: &[&VmDefinition<'_>], named: impl Fn(&VmDefinition<'_>, &Medium) -> String) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (guest, medium) in guests.iter().flat_map(|guest| guest.media.iter().map(move |it| (guest, it))) {
        let from = match &medium.source {
            MediumSource::Url(from) | MediumSource::Built(from) => format!(" from {from}"),
            MediumSource::Made(file) if *file == medium.name => " made by `ichor image build`".to_owned(),
            MediumSource::Made(file) => format!(" made by `ichor image build` as {file}"),
            MediumSource::There(_) => String::new(),
        };
        let line = format!("# {}{from}\n", named(guest, medium));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        String::new()
    } else {
        format!("\n# These CDs have to be there:\n{}", lines.concat())
    }
}

/// The CDs of a machine; the one it boots is the first.
pub fn of(cluster: &str, node: &NodePlan, vm: &VmPlan) -> Result<Vec<Medium>, Issue> {
    let boots = vm.boot.value.contains(&BootDevice::Cdrom);
    let talos = if boots { talos(cluster, node)? } else { None };
    Ok(talos.into_iter().chain(carrier(cluster, node)).collect())
}

/// What a machine's disk begins as: the image that the file gives, where it gives no ISO.
pub fn image(node: &NodePlan) -> Option<Medium> {
    let given = node.boot.given.as_ref().filter(|given| given.iso.is_none())?;
    let image = given.disk.as_ref()?.value.as_str();
    Some(Medium { name: file_name(image).to_owned(), source: named(image), boots: false, own: false })
}

/// Where something is that the file names itself.
fn named(text: &str) -> MediumSource {
    if is_url(text) { MediumSource::Url(text.to_owned()) } else { MediumSource::There(text.to_owned()) }
}

/// The CDs of a real machine; none where it boots from the network.
pub fn of_metal(cluster: &str, node: &NodePlan) -> Result<Vec<Medium>, Issue> {
    if node.boot.from.value == BootFrom::Netboot {
        return Ok(Vec::new());
    }
    Ok(talos(cluster, node)?.into_iter().chain(carrier(cluster, node)).collect())
}

/// The name of a CD that was made for one node: two clusters on one storage may have nodes of one name. No node's name has `_`.
fn own_name(cluster: &str, rest: &str) -> String {
    format!("{cluster}_{rest}")
}

/// What carries the first configuration, where that is a CD.
fn carrier(cluster: &str, node: &NodePlan) -> Option<Medium> {
    let kind = match node.boot.from.value {
        BootFrom::Cidata | BootFrom::MetalIso => node.boot.from.value.word(),
        _ => return None,
    };
    let source = MediumSource::Built(format!("nodes/{}/{kind}.iso", node.name));
    let name = own_name(cluster, &format!("{}-{kind}.iso", node.name));
    Some(Medium { name, source, boots: false, own: true })
}

/// The ISO of Talos; none where a disk image is given in its place.
fn talos(cluster: &str, node: &NodePlan) -> Result<Option<Medium>, Issue> {
    let medium = |name, source| Ok(Some(Medium { name, source, boots: true, own: false }));
    match &node.boot.image.value {
        ImagePlan::Given => {
            let iso = node.boot.given.as_ref().and_then(|given| given.iso.as_ref());
            let Some(iso) = iso.map(|iso| iso.value.as_str()) else { return Ok(None) };
            medium(file_name(iso).to_owned(), named(iso))
        }
        ImagePlan::Made(ImageSource::Ichor) => {
            let base = BaseImage::of(node).map_err(|error| node_issue(node, &error))?;
            Ok(base.map(|base| {
                let (file, own) = (format!("{}.iso", base.stem()), base.embeds.is_some());
                let name = if own { own_name(cluster, &file) } else { file.clone() };
                Medium { name, source: MediumSource::Made(file), boots: true, own }
            }))
        }
        ImagePlan::Made(ImageSource::Factory) => {
            let id = schematic::of(node, None).map_err(|error| node_issue(node, &error))?.id();
            let order = image::order(node, &id);
            let name = format!("talos-{}-{}-{}", node.talos.value, &id[..12], order.file_name(&Asset::Iso));
            medium(name, MediumSource::Url(order.url(&image::factory(node), &Asset::Iso)))
        }
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// The last part of a URL, a path or the name of a volume.
fn file_name(text: &str) -> &str {
    let path = if is_url(text) { text.split(['?', '#']).next().unwrap_or(text) } else { text };
    path.rsplit(['/', ':']).find(|part| !part.is_empty()).unwrap_or(path)
}
