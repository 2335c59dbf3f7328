//! How a node starts: carrier of the first configuration, disk and images.

use super::derive::Rule;
use super::{Decided, LinkKind, NodePlan, RoutingPlan, Stage, VmPlan};
use crate::cluster::section::{
    Boot, BootFrom, DiskSelect, GivenImages, Image, ImageSource, Install, Platform, Rung,
};
use crate::model::Cluster;
use ichor_bgp::setting::Carrier;
use ichor_talos::asset::FACTORY;
use ichor_values::Backend;
use ichor_values::key::Key;
use ichor_values::{Any, Either, ImageReference, Text, Url, Word};

/// How a node starts.
#[derive(Debug)]
pub struct BootPlan {
    /// What carries its first configuration.
    pub from: Decided<BootFrom>,
    /// The boot server.
    pub server: Option<Decided<Url>>,
    /// Where Talos is installed; none where nothing was said.
    pub disk: Option<Decided<String>>,
    /// What that disk is like, where the file does not name it.
    pub(crate) select: Option<Decided<DiskSelect>>,
    /// Whether the disk is wiped first.
    pub wipe: Decided<bool>,
    /// Who makes its images.
    pub image: Decided<ImagePlan>,
    /// Its images, where they are given.
    pub given: Option<Box<GivenPlan>>,
    /// The Image Factory.
    pub factory: Decided<String>,
    /// Where installer and extension images go.
    pub registry: Option<Decided<ImageReference>>,
    /// Whether it boots nothing that is not signed.
    pub secure_boot: Decided<bool>,
    /// What the file adds to its schematic.
    pub schematic: Option<Decided<Any>>,
    /// Overlay of a single-board computer.
    pub(crate) sbc: Option<Decided<Word>>,
    /// System extensions: those that are written, then those that something else in the file needs.
    pub extensions: Vec<Decided<String>>,
}

/// Who makes a node's images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImagePlan {
    /// ichor or the Image Factory.
    Made(ImageSource),
    /// They are given.
    Given,
}

/// Images that the file gives.
#[derive(Debug)]
pub struct GivenPlan {
    /// Boot ISO, a URL or path.
    pub(crate) iso: Option<Decided<Text>>,
    /// Disk image, a URL or path.
    pub disk: Option<Decided<Text>>,
    /// Installer image.
    pub installer: Option<Decided<ImageReference>>,
}

/// Decides what carries a node's first configuration.
pub fn from(settings: &Rung, platform: Platform) -> Decided<BootFrom> {
    match settings.boot.get().and_then(|boot| boot.from.at()) {
        Some(from) => Decided::written(*from.value, from.place),
        None => {
            let from = if platform == Platform::Nocloud { BootFrom::Cidata } else { BootFrom::Apply };
            Decided::derived(from, Rule::ByPlatform, settings.platform.place())
        }
    }
}

/// Decides how a node starts.
pub fn plan(
    cluster: &Cluster,
    settings: &Rung,
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
        server: Decided::of(&boot.server),
        disk: disk(cluster, install, vm),
        select: Decided::of(&install.select).filter(|_| !install.disk.is_set()),
        wipe: Decided::or(&install.wipe, false, "Talos keeps what it finds"),
        image: source(image, routing),
        given: given(&image.source),
        factory: Decided::text(&image.factory, FACTORY, "the public one"),
        registry: Decided::of(&image.registry),
        secure_boot: Decided::or(&image.secure_boot, false, "it needs keys in the machine's firmware"),
        schematic: Decided::of(&image.schematic),
        sbc: Decided::of(&settings.sbc),
        extensions: extensions(settings, routing),
    }
}

fn disk(cluster: &Cluster, install: &Install, vm: Option<&VmPlan>) -> Option<Decided<String>> {
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
    Some(Decided::derived(if proxmox { "/dev/sda" } else { "/dev/vda" }.to_owned(), Rule::VmDisk, None))
}

fn given(source: &Key<Either<ImageSource, GivenImages>>) -> Option<Box<GivenPlan>> {
    let Either::Record(given) = source.get()? else { return None };
    let (iso, disk) = (Decided::of(&given.iso), Decided::of(&given.disk));
    Some(Box::new(GivenPlan { iso, disk, installer: Decided::of(&given.installer) }))
}

fn source(image: &Image, routing: Option<&RoutingPlan>) -> Decided<ImagePlan> {
    match image.source.at() {
        Some(at) => Decided::written(
            match at.value {
                Either::Word(source) => ImagePlan::Made(*source),
                Either::Record(_) => ImagePlan::Given,
            },
            at.place,
        ),
        None => {
            let needs = routing
                .and_then(|routing| routing.carrier.as_ref())
                .is_some_and(|carrier| carrier.value == Carrier::Ichor);
            let source = if needs { ImageSource::Ichor } else { ImageSource::Factory };
            Decided::derived(ImagePlan::Made(source), Rule::NeedsExtension, None)
        }
    }
}

/// The extensions that are written, and those that the overlay, the hypervisor and routing need.
fn extensions(settings: &Rung, routing: Option<&RoutingPlan>) -> Vec<Decided<String>> {
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
            all.push(Decided::derived(name.to_owned(), Rule::NeededExtension, place));
        }
    }
    all
}

impl NodePlan {
    /// A carrier that its platform looks for, that holds what it needs however long that is, and that nobody else reads.
    pub(crate) fn fitting_carrier(&self) -> BootFrom {
        match self.platform.value {
            Platform::Nocloud => BootFrom::Cidata,
            Platform::Metal if self.needs_more_than_documents() => BootFrom::Meta,
            Platform::Metal => BootFrom::MetalIso,
            _ => BootFrom::Apply,
        }
    }

    /// Whether documents alone would leave it without its network: before Talos 1.12 there are none for links, and without
    /// routing there are none at all.
    pub(crate) fn needs_more_than_documents(&self) -> bool {
        self.old_links && (self.routing.is_none() || self.boots_with_links())
    }

    /// Whether links must be set up before the machine can be reached: it has addresses of its own, or links that somebody
    /// has to make. Loopbacks and dummies are not among them: where there is no configuration for these, the agent makes them.
    fn boots_with_links(&self) -> bool {
        self.links(Stage::Boot).iter().any(|link| match link.kind {
            LinkKind::Loopback | LinkKind::Dummy => false,
            LinkKind::Port { .. } => !link.addresses.is_empty(),
            LinkKind::Bond { .. } | LinkKind::Vlan { .. } | LinkKind::Bridge { .. } => true,
        })
    }

    /// Who could read the passwords of its BGP sessions in the first configuration, where it has any and its carrier is not
    /// for its eyes only.
    pub(crate) fn shows_passwords_to(&self) -> Option<&'static str> {
        let routing = self.routing.as_deref();
        routing.filter(|routing| routing.neighbors.iter().any(|neighbor| neighbor.password.is_some()))?;
        match self.boot.from.value {
            BootFrom::Embedded => Some("everybody who has the image"),
            BootFrom::Early | BootFrom::Inline => {
                Some("every program on the node, and everybody who reads its log")
            }
            BootFrom::NocloudNet => Some("everybody who asks the server"),
            BootFrom::Cidata | BootFrom::MetalIso | BootFrom::Meta | BootFrom::Netboot | BootFrom::Apply => {
                None
            }
        }
    }
}
