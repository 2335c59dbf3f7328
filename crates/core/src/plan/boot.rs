//! Boot of a node: source of the first configuration, disk and images.

use super::derive::Derivation;
use super::{ConfigStage, Decided, LinkKind, NodePlan, RoutingPlan, VmPlan};
use crate::cluster::section::{
    Boot, BootFrom, DiskSelect, GivenImages, Image, ImageSource, Install, NodeSettings, Platform,
};
use crate::model::Cluster;
use ichor_bgp::setting::Carrier;
use ichor_talos::asset::FACTORY;
use ichor_values::Backend;
use ichor_values::key::Key;
use ichor_values::{Any, ImageReference, Text, Url, Word, WordOrRecord};

/// Boot settings of a node.
#[derive(Debug)]
pub struct BootPlan {
    /// Source of its first configuration.
    pub from: Decided<BootFrom>,
    /// The boot server.
    pub server: Option<Decided<Url>>,
    /// Installation disk, if one is set.
    pub disk: Option<Decided<String>>,
    /// Selector of the disk, if the file does not name it.
    pub(crate) select: Option<Decided<DiskSelect>>,
    /// Whether the disk is wiped before the installation.
    pub wipe: Decided<bool>,
    /// Builder of its images.
    pub image: Decided<ImagePlan>,
    /// Its prebuilt images, if any.
    pub given: Option<Box<PrebuiltImagesPlan>>,
    /// The Image Factory.
    pub factory: Decided<String>,
    /// Registry that installer and extension images are pushed to.
    pub registry: Option<Decided<ImageReference>>,
    /// Whether it uses secure boot.
    pub secure_boot: Decided<bool>,
    /// Additional keys of its schematic.
    pub schematic: Option<Decided<Any>>,
    /// Image overlay of a single-board computer.
    pub(crate) sbc: Option<Decided<Word>>,
    /// System extensions: those in the file, then those that other settings require.
    pub extensions: Vec<Decided<String>>,
}

/// Builder of a node's images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImagePlan {
    /// ichor or the Image Factory.
    Made(ImageSource),
    /// They are prebuilt.
    Given,
}

/// Prebuilt images.
#[derive(Debug)]
pub struct PrebuiltImagesPlan {
    /// Boot ISO, a URL or path.
    pub(crate) iso: Option<Decided<Text>>,
    /// Disk image, a URL or path.
    pub disk: Option<Decided<Text>>,
    /// Installer image.
    pub installer: Option<Decided<ImageReference>>,
}

/// Decides the source of a node's first configuration.
pub fn config_source(settings: &NodeSettings, platform: Platform) -> Decided<BootFrom> {
    match settings.boot.get().and_then(|boot| boot.from.at()) {
        Some(from) => Decided::written(*from.value, from.place),
        None => {
            let from = if platform == Platform::Nocloud { BootFrom::Cidata } else { BootFrom::Apply };
            Decided::derived(from, Derivation::ByPlatform, settings.platform.place())
        }
    }
}

/// Decides the boot settings of a node.
pub fn plan(
    cluster: &Cluster,
    settings: &NodeSettings,
    from: Decided<BootFrom>,
    routing: Option<&RoutingPlan>,
    vm: Option<&VmPlan>,
) -> BootPlan {
    let (boot, install, image) = (Boot::default(), Install::default(), Image::default());
    let boot = settings.boot.get().unwrap_or(&boot);
    let install = settings.install.get().unwrap_or(&install);
    let image = settings.image.get().unwrap_or(&image);
    BootPlan {
        from,
        server: Decided::from_key(&boot.server),
        disk: install_disk(cluster, install, vm),
        select: Decided::from_key(&install.select).filter(|_| !install.disk.is_set()),
        wipe: Decided::from_key_or(&install.wipe, false, "Talos keeps existing data"),
        image: image_source(image, routing),
        given: prebuilt_images(&image.source),
        factory: Decided::text_or(&image.factory, FACTORY, "the public Image Factory"),
        registry: Decided::from_key(&image.registry),
        secure_boot: Decided::from_key_or(
            &image.secure_boot,
            false,
            "it needs keys enrolled in the firmware",
        ),
        schematic: Decided::from_key(&image.schematic),
        sbc: Decided::from_key(&settings.sbc),
        extensions: required_extensions(settings, routing),
    }
}

fn install_disk(cluster: &Cluster, install: &Install, vm: Option<&VmPlan>) -> Option<Decided<String>> {
    if let Some(disk) = install.disk.at() {
        return Some(Decided::written(disk.value.to_string(), disk.place));
    }
    if let Some(select) = install.select.at() {
        let words = ichor_values::read::Read::print(select.value).to_flow();
        return Some(Decided::written(words, select.place));
    }
    let vm = vm?;
    let proxmox =
        vm.hypervisor.as_ref().is_none_or(|name| super::vm::kind_is_proxmox(cluster, name.value.as_str()));
    Some(Decided::derived(if proxmox { "/dev/sda" } else { "/dev/vda" }.to_owned(), Derivation::VmDisk, None))
}

fn prebuilt_images(source: &Key<WordOrRecord<ImageSource, GivenImages>>) -> Option<Box<PrebuiltImagesPlan>> {
    let WordOrRecord::Record(given) = source.get()? else { return None };
    let (iso, disk) = (Decided::from_key(&given.iso), Decided::from_key(&given.disk));
    Some(Box::new(PrebuiltImagesPlan { iso, disk, installer: Decided::from_key(&given.installer) }))
}

fn image_source(image: &Image, routing: Option<&RoutingPlan>) -> Decided<ImagePlan> {
    match image.source.at() {
        Some(at) => Decided::written(
            match at.value {
                WordOrRecord::Word(source) => ImagePlan::Made(*source),
                WordOrRecord::Record(_) => ImagePlan::Given,
            },
            at.place,
        ),
        None => {
            let needs = routing
                .and_then(|routing| routing.carrier.as_ref())
                .is_some_and(|carrier| carrier.value == Carrier::Ichor);
            let source = if needs { ImageSource::Ichor } else { ImageSource::Factory };
            Decided::derived(ImagePlan::Made(source), Derivation::NeedsExtension, None)
        }
    }
}

/// The extensions in the file, and those that the overlay, the hypervisor and routing require.
fn required_extensions(settings: &NodeSettings, routing: Option<&RoutingPlan>) -> Vec<Decided<String>> {
    let mut all: Vec<_> =
        settings.extensions.items().map(|at| Decided::written(at.value.to_string(), at.place)).collect();
    let overlay = settings.overlay.get().and_then(|overlay| overlay.tailscale.place());
    let agent =
        settings.vm.get().and_then(|vm| vm.guest_agent.at()).filter(|at| *at.value).map(|at| at.place);
    let bird = routing.filter(|routing| routing.backend.value == Backend::Bird);
    let official = settings.routing.get().and_then(|routing| routing.carrier.at());
    let bird = bird.and(official).filter(|at| *at.value == Carrier::Official).map(|at| at.place);
    let needed = [
        ("siderolabs/tailscale", overlay),
        ("siderolabs/qemu-guest-agent", agent),
        ("siderolabs/bird2", bird),
    ];
    for (name, place) in needed {
        if place.is_some() && !all.iter().any(|known| known.value == name) {
            all.push(Decided::derived(name.to_owned(), Derivation::NeededExtension, place));
        }
    }
    all
}

impl NodePlan {
    /// A source that its platform supports, that is large enough for its configuration, and that no other machine can read.
    pub(crate) fn suitable_boot_source(&self) -> BootFrom {
        match self.platform.value {
            Platform::Nocloud => BootFrom::Cidata,
            Platform::Metal if self.needs_more_than_documents() => BootFrom::Meta,
            Platform::Metal => BootFrom::MetalIso,
            _ => BootFrom::Apply,
        }
    }

    /// Whether configuration documents cannot configure its network: Talos before 1.12 has none for links.
    pub(crate) fn needs_more_than_documents(&self) -> bool {
        self.old_links && (self.routing.is_none() || self.boots_with_links())
    }

    /// Whether links must be configured before the machine is reachable: it has static addresses, or bonds, VLANs or bridges.
    ///
    /// Loopbacks and dummies do not count: without a configuration, the agent creates them.
    fn boots_with_links(&self) -> bool {
        self.links(ConfigStage::Boot).iter().any(|link| match link.kind {
            LinkKind::Loopback | LinkKind::Dummy => false,
            LinkKind::Port { .. } => !link.addresses.is_empty(),
            LinkKind::Bond { .. } | LinkKind::Vlan { .. } | LinkKind::Bridge { .. } => true,
        })
    }

    /// Readers of the first configuration other than the node, if it contains passwords of BGP sessions.
    pub(crate) fn password_readers(&self) -> Option<&'static str> {
        let routing = self.routing.as_deref();
        routing.filter(|routing| routing.neighbors.iter().any(|neighbor| neighbor.password.is_some()))?;
        match self.boot.from.value {
            BootFrom::Embedded => Some("everyone who has the image"),
            BootFrom::Early | BootFrom::Inline => {
                Some("every program on the node and everyone who reads its log")
            }
            BootFrom::NocloudNet => Some("everyone who can query the boot server"),
            BootFrom::Cidata | BootFrom::MetalIso | BootFrom::Meta | BootFrom::Netboot | BootFrom::Apply => {
                None
            }
        }
    }
}
