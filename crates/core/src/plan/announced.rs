//! Whether a node's announced links have addresses that are not announced.
//!
//! Daemons announce exactly the configured addresses. Talos' own BGP announces all addresses of a link with their prefix
//! length, so it can be used only if these are the same.

use crate::cluster::section::{Network, NodeSettings, Role, Routing};
use ichor_bgp::setting::Advertise;
use ichor_values::LinkName;

/// The kinds of addresses a node announces; the default is all of them.
pub(crate) fn advertised_kinds(routing: &Routing) -> Vec<Advertise> {
    match routing.advertise.get() {
        Some(written) => written.values().copied().collect(),
        None => Advertise::ALL.to_vec(),
    }
}

/// Whether an announced link has other addresses, or an address with a shorter prefix.
pub(crate) fn has_other_addresses(settings: &NodeSettings, role: Role, routing: &Routing) -> bool {
    let network = settings.network.get();
    let links = AnnouncedLinks { network, role, advertise: advertised_kinds(routing) };
    let written = settings.links.values().any(|link| {
        let has_addresses = link.addresses.values().next().is_some();
        has_addresses && link.name.get().is_some_and(|name| links.announces(name))
    });
    written || links.shares_anycast() || links.has_wide_anycast() || links.has_vip()
}

struct AnnouncedLinks<'s> {
    network: Option<&'s Network>,
    role: Role,
    advertise: Vec<Advertise>,
}

impl AnnouncedLinks<'_> {
    fn is_dummy(&self, name: &LinkName) -> bool {
        self.network.is_some_and(|network| network.dummy.entries().any(|(dummy, _)| dummy == name))
    }

    /// The link of the anycast addresses on control planes.
    fn anycast(&self) -> Option<String> {
        let api = self.network?.api.get().filter(|_| self.role == Role::Controlplane)?;
        api.anycast.values().next()?;
        Some(api.link.get().map_or_else(|| "dummy1".to_owned(), ToString::to_string))
    }

    fn announces(&self, name: &LinkName) -> bool {
        let anycast = self.anycast().is_some_and(|link| link == name.as_str());
        self.advertise.iter().any(|kind| match kind {
            Advertise::Loopback => name.as_str() == "lo",
            Advertise::Dummy => self.is_dummy(name),
            Advertise::Anycast => anycast,
        })
    }

    /// Whether anycast and other addresses share a link and only one of the two is announced.
    fn shares_anycast(&self) -> bool {
        let Some(link) = self.anycast() else { return false };
        let dummy = LinkName::parse(&link).is_ok_and(|name| self.is_dummy(&name));
        let announces = |kind| self.advertise.contains(&kind);
        (dummy && announces(Advertise::Dummy) != announces(Advertise::Anycast))
            || (link == "lo" && announces(Advertise::Loopback) != announces(Advertise::Anycast))
    }

    fn has_wide_anycast(&self) -> bool {
        let api = self.network.and_then(|network| network.api.get());
        let mut nets = api.into_iter().flat_map(|api| api.anycast.values()).map(|prefix| prefix.0);
        self.anycast().is_some()
            && self.advertise.contains(&Advertise::Anycast)
            && nets.any(|net| net.prefix_len() < net.max_prefix_len())
    }

    /// Whether the VIP is on an announced link.
    fn has_vip(&self) -> bool {
        let api = self.network.and_then(|network| network.api.get()).filter(|api| api.vip.is_set());
        let link = api.filter(|api| !api.anycast.is_set()).and_then(|api| api.link.get());
        self.role == Role::Controlplane && link.is_some_and(|link| self.announces(link))
    }
}
