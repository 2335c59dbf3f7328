//! How a node starts: carrier of the first configuration, disk and images.

use super::derive::Rule;
use super::{BootPlan, Decided, ImagePlan, LinkKind, NodePlan, RoutingPlan, Stage, VmPlan};
use crate::cluster::section::{BootFrom, ImageSource, Platform, Rung};
use crate::model::Cluster;
use ichor_bgp::setting::Carrier;
use ichor_values::Backend;
use ichor_values::Either;

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
    BootPlan {
        from,
        disk: disk(cluster, settings, vm),
        image: image(settings, routing),
        extensions: extensions(settings, routing),
    }
}

fn disk(cluster: &Cluster, settings: &Rung, vm: Option<&VmPlan>) -> Option<Decided<String>> {
    let install = settings.install.get();
    if let Some(disk) = install.and_then(|install| install.disk.at()) {
        return Some(Decided::written(disk.value.to_string(), disk.place));
    }
    if let Some(select) = install.and_then(|install| install.select.at()) {
        let words = ichor_values::read::Read::print(select.value).to_flow();
        return Some(Decided::written(words, select.place));
    }
    let vm = vm?;
    let proxmox =
        vm.hypervisor.as_ref().is_none_or(|name| super::vm::kind_is_proxmox(cluster, name.value.as_str()));
    Some(Decided::derived(if proxmox { "/dev/sda" } else { "/dev/vda" }.to_owned(), Rule::VmDisk, None))
}

fn image(settings: &Rung, routing: Option<&RoutingPlan>) -> Decided<ImagePlan> {
    match settings.image.get().and_then(|image| image.source.at()) {
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
    /// Whether it boots nothing that is not signed.
    pub fn has_secure_boot(&self) -> bool {
        self.settings.image.get().and_then(|image| image.secure_boot.value()).unwrap_or(false)
    }

    /// A carrier that its platform looks for, that holds what it needs however long that is, and that nobody else reads.
    pub fn fitting_carrier(&self) -> BootFrom {
        match self.platform.value {
            Platform::Nocloud => BootFrom::Cidata,
            Platform::Metal if self.needs_more_than_documents() => BootFrom::Meta,
            Platform::Metal => BootFrom::MetalIso,
            _ => BootFrom::Apply,
        }
    }

    /// Whether documents alone would leave it without its network: before Talos 1.12 there are none for links, and without
    /// routing there are none at all.
    pub fn needs_more_than_documents(&self) -> bool {
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
    pub fn shows_passwords_to(&self) -> Option<&'static str> {
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
