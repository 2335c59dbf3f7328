//! Links, addresses and the overlay.

use std::net::IpAddr;

use super::case::{Case, list};
use super::{Detail, Verdict};
use crate::plan::{LinkKind, LinkPlan, NodePlan};
use ichor_talos::resource::{AddressStatus, LinkStatus};
use ichor_values::Mac;

/// The link of the overlay.
const OVERLAY: &str = "tailscale0";

pub(super) fn links(case: &Case<'_>) -> Option<Verdict> {
    let Some(detail) = case.detail() else { return Some(case.silent()) };
    let found = match &detail.links {
        Ok(found) => found,
        Err(error) => return Some(Verdict::unknown(error.to_string())),
    };
    let wanted = case.links();
    let looks = wanted.iter().filter(|link| case.has_network() || matches!(link.kind, LinkKind::Port { .. }));
    let looks: Vec<_> = looks.filter_map(|link| look(case, link, found)).collect();
    let mut wrong = looks.iter().filter_map(|look| look.as_ref().err());
    Some(match wrong.next() {
        Some((evidence, remedy)) => {
            let evidence = std::iter::once(evidence).chain(wrong.map(|(evidence, _)| evidence));
            Verdict::broken(evidence.cloned().collect::<Vec<_>>().join("; "), remedy)
        }
        None if looks.is_empty() => return None,
        None => Verdict::holds(list(looks.into_iter().flatten())),
    })
}

/// What holds of a link; or what does not, and what helps.
type Look = Result<String, (String, String)>;

/// A link that should be there; nothing of one that cannot be told from others, or is not asked for by then.
fn look(case: &Case<'_>, link: &LinkPlan, found: &[(String, LinkStatus)]) -> Option<Look> {
    let name = link.name.as_str();
    let (words, is) = match &link.kind {
        LinkKind::Loopback => return None,
        LinkKind::Port { mac: Some(mac), .. } => (format!("{name} ({mac})"), by_mac(*mac, found)),
        _ => (name.to_owned(), by_name(name, found)),
    };
    let Some((_, is)) = is else {
        return Some(Err(match link.kind {
            LinkKind::Port { .. } => (
                format!("{words} is not there; it has {}", list(ports(found))),
                "correct `macs` of the node, or give the machine this port".to_owned(),
            ),
            _ => (
                format!("{words} is not there"),
                format!("`ichor logs {} --dmesg` says why Talos did not make it", case.name()),
            ),
        }));
    };
    if carries(&link.kind) && is.operational_state != "up" {
        let state = if is.operational_state.is_empty() { "down" } else { &is.operational_state };
        return Some(Err((format!("{words} is {state}"), cure(case.node, &link.kind, is).to_owned())));
    }
    match link.mtu.filter(|_| case.has_network()) {
        Some(mtu) if is.mtu != mtu.0 => Some(Err((
            format!("{words} has an MTU of {}, and should have {}", is.mtu, mtu.0),
            "the driver or the link below allows no more: raise the MTU there (bridge, switch, virtual port), or lower it in the file"
                .to_owned(),
        ))),
        _ => Some(Ok(format!("{words} is {} with an MTU of {}", is.operational_state, is.mtu))),
    }
}

/// Whether its state says that packets pass.
fn carries(kind: &LinkKind) -> bool {
    !matches!(kind, LinkKind::Dummy | LinkKind::Loopback)
}

fn cure(node: &NodePlan, kind: &LinkKind, is: &LinkStatus) -> &'static str {
    match kind {
        LinkKind::Port { .. } if is.link_state => {
            "it has a carrier: see in the kernel's log why it is not up"
        }
        LinkKind::Port { .. } if node.vm.is_some() => {
            "it has no carrier: see on the hypervisor whether the port is on its bridge and not disconnected"
        }
        LinkKind::Port { .. } => "it has no carrier: see to cable, transceiver and the switch's port",
        _ => "see to the links that it is made of",
    }
}

fn by_mac(mac: Mac, found: &[(String, LinkStatus)]) -> Option<&(String, LinkStatus)> {
    let is = |link: &LinkStatus| link.mac().and_then(|text| Mac::parse(text).ok()) == Some(mac);
    found.iter().find(|(_, link)| link.is_port() && is(link))
}

fn by_name<'f>(name: &str, found: &'f [(String, LinkStatus)]) -> Option<&'f (String, LinkStatus)> {
    let also = |link: &LinkStatus| link.alias == name || link.alt_names.iter().any(|other| other == name);
    found.iter().find(|(id, link)| id == name || also(link))
}

fn ports(found: &[(String, LinkStatus)]) -> impl Iterator<Item = String> {
    let ports = found.iter().filter(|(_, link)| link.is_port());
    ports.map(|(name, link)| format!("{name} ({})", link.mac().unwrap_or("no MAC address")))
}

pub(super) fn addresses(case: &Case<'_>) -> Option<Verdict> {
    if !case.has_network() {
        return None;
    }
    let Some(detail) = case.detail() else { return Some(case.silent()) };
    let found = match &detail.addresses {
        Ok(found) => found,
        Err(error) => return Some(Verdict::unknown(error.to_string())),
    };
    let links = case.links();
    let wanted = links.iter().flat_map(|link| link.addresses.iter().map(move |net| (link, net.addr())));
    let (has, lacks): (Vec<_>, Vec<_>) = wanted.partition(|(_, address)| holder(*address, found).is_some());
    if !lacks.is_empty() {
        let lacks = lacks.iter().map(|(link, address)| format!("{address} of {}", link.name));
        return Some(Verdict::broken(
            format!("it lacks {}; it has {}", list(lacks), list(found.iter().map(told))),
            format!(
                "`ichor logs {} --dmesg` says why it was not set; another node may have it, too",
                case.name()
            ),
        ));
    }
    if links.iter().any(|link| link.dhcp) && !found.iter().any(|it| it.scope == "global") {
        return Some(Verdict::broken(
            "no DHCP server gave it an address",
            "see that a DHCP server answers on its network, or give it a static address",
        ));
    }
    let has = has.iter().filter_map(|(_, address)| holder(*address, found)).map(told);
    Some(Verdict::holds(list(has)))
}

fn holder(address: IpAddr, found: &[AddressStatus]) -> Option<&AddressStatus> {
    found.iter().find(|it| plain(it) == Some(address))
}

/// Without the length of its prefix.
fn plain(status: &AddressStatus) -> Option<IpAddr> {
    status.address.split('/').next()?.parse().ok()
}

fn told(status: &AddressStatus) -> String {
    format!("{} on {}", status.address, status.link_name)
}

pub(super) fn overlay(case: &Case<'_>) -> Option<Verdict> {
    if !case.node.joins_overlay() {
        return None;
    }
    let Some(Detail { addresses, .. }) = case.detail() else { return Some(case.silent()) };
    let found = match addresses {
        Ok(found) => found,
        Err(error) => return Some(Verdict::unknown(error.to_string())),
    };
    let on_it: Vec<_> = found.iter().filter(|it| it.link_name == OVERLAY && it.scope == "global").collect();
    let planned = case.node.stages.overlay();
    let remedy = format!(
        "`ichor logs {} ext-tailscale` says why; a key that was used up or has expired must be made anew",
        case.name()
    );
    Some(match planned {
        _ if on_it.is_empty() => Verdict::broken(format!("{OVERLAY} has no address"), remedy),
        Some(address) if !on_it.iter().any(|it| plain(it) == Some(address)) => Verdict::broken(
            format!(
                "{OVERLAY} has {}, and should have {address}",
                list(on_it.into_iter().map(|it| &it.address))
            ),
            "write the address it has into `address.overlay`, or give it the other one at the control server",
        ),
        _ => Verdict::holds(list(on_it.into_iter().map(told))),
    })
}
