//! Links, addresses and the overlay.

use std::net::IpAddr;

use super::case::{NodeContext, list};
use super::{CheckResult, NodeDetail};
use crate::plan::{LinkKind, LinkPlan, NodePlan};
use ichor_talos::resource::{AddressStatus, LinkStatus};
use ichor_values::Mac;

/// The link of the overlay.
const OVERLAY: &str = "tailscale0";

pub(super) fn links(case: &NodeContext<'_>) -> Option<CheckResult> {
    let Some(detail) = case.detail() else { return Some(case.silent()) };
    let found = match &detail.links {
        Ok(found) => found,
        Err(error) => return Some(CheckResult::unknown(error.to_string())),
    };
    let wanted = case.links();
    let looks = wanted.iter().filter(|link| case.has_network() || matches!(link.kind, LinkKind::Port { .. }));
    let looks: Vec<_> = looks.filter_map(|link| look(case, link, found)).collect();
    let mut wrong = looks.iter().filter_map(|look| look.as_ref().err());
    Some(match wrong.next() {
        Some((evidence, remedy)) => {
            let evidence = std::iter::once(evidence).chain(wrong.map(|(evidence, _)| evidence));
            CheckResult::broken(evidence.cloned().collect::<Vec<_>>().join("; "), remedy)
        }
        None if looks.is_empty() => return None,
        None => CheckResult::holds(list(looks.into_iter().flatten())),
    })
}

/// What holds of a link; or what does not, and what helps.
type LinkResult = Result<String, (String, String)>;

/// A link that should be there; nothing of one that cannot be told from others, or is not asked for by then.
fn look(case: &NodeContext<'_>, link: &LinkPlan, found: &[(String, LinkStatus)]) -> Option<LinkResult> {
    let name = link.name.as_str();
    let (words, is) = match &link.kind {
        LinkKind::Loopback => return None,
        LinkKind::Port { mac: Some(mac), .. } => (format!("{name} ({mac})"), by_mac(*mac, found)),
        _ => (name.to_owned(), by_name(name, found)),
    };
    let Some((_, is)) = is else {
        return Some(Err(match link.kind {
            LinkKind::Port { .. } => (
                format!("{words} not found; the machine has {}", list(ports(found))),
                "correct `macs` of the node, or add this port to the machine".to_owned(),
            ),
            _ => (
                format!("{words} does not exist"),
                format!("see `ichor logs {} --dmesg` for why Talos did not create it", case.name()),
            ),
        }));
    };
    if carries(&link.kind) && is.operational_state != "up" {
        let state = if is.operational_state.is_empty() { "down" } else { &is.operational_state };
        return Some(Err((format!("{words} is {state}"), cure(case.node, &link.kind, is).to_owned())));
    }
    match link.mtu.filter(|_| case.has_network()) {
        Some(mtu) if is.mtu != mtu.0 => Some(Err((
            format!("{words} has MTU {}, expected {}", is.mtu, mtu.0),
            "the driver or the underlying link limits it: raise the MTU there (bridge, switch, virtual port), or lower it in the cluster file"
                .to_owned(),
        ))),
        _ => Some(Ok(format!("{words} is {}, MTU {}", is.operational_state, is.mtu))),
    }
}

/// Whether its state says that packets pass.
fn carries(kind: &LinkKind) -> bool {
    !matches!(kind, LinkKind::Dummy | LinkKind::Loopback)
}

fn cure(node: &NodePlan, kind: &LinkKind, is: &LinkStatus) -> &'static str {
    match kind {
        LinkKind::Port { .. } if is.link_state => {
            "the link has a carrier: see the kernel log for why it is not up"
        }
        LinkKind::Port { .. } if node.vm.is_some() => {
            "no carrier: check on the hypervisor that the port is attached to its bridge and connected"
        }
        LinkKind::Port { .. } => "no carrier: check cable, transceiver and switch port",
        _ => "check the links below it",
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

pub(super) fn addresses(case: &NodeContext<'_>) -> Option<CheckResult> {
    if !case.has_network() {
        return None;
    }
    let Some(detail) = case.detail() else { return Some(case.silent()) };
    let found = match &detail.addresses {
        Ok(found) => found,
        Err(error) => return Some(CheckResult::unknown(error.to_string())),
    };
    let links = case.links();
    let wanted = links.iter().flat_map(|link| link.addresses.iter().map(move |net| (link, net.addr())));
    let (has, lacks): (Vec<_>, Vec<_>) = wanted.partition(|(_, address)| holder(*address, found).is_some());
    if !lacks.is_empty() {
        let lacks = lacks.iter().map(|(link, address)| format!("{address} on {}", link.name));
        return Some(CheckResult::broken(
            format!("missing {}; present {}", list(lacks), list(found.iter().map(told))),
            format!(
                "see `ichor logs {} --dmesg` for why it was not set; another host may use the same address",
                case.name()
            ),
        ));
    }
    if links.iter().any(|link| link.dhcp) && !found.iter().any(|it| it.scope == "global") {
        return Some(CheckResult::broken(
            "no address was assigned by DHCP",
            "check that a DHCP server answers on its network, or set a static address",
        ));
    }
    let has = has.iter().filter_map(|(_, address)| holder(*address, found)).map(told);
    Some(CheckResult::holds(list(has)))
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

pub(super) fn overlay(case: &NodeContext<'_>) -> Option<CheckResult> {
    if !case.node.joins_overlay() {
        return None;
    }
    let Some(NodeDetail { addresses, .. }) = case.detail() else { return Some(case.silent()) };
    let found = match addresses {
        Ok(found) => found,
        Err(error) => return Some(CheckResult::unknown(error.to_string())),
    };
    let on_it: Vec<_> = found.iter().filter(|it| it.link_name == OVERLAY && it.scope == "global").collect();
    let planned = case.node.stages.overlay();
    let remedy = format!(
        "see `ichor logs {} ext-tailscale`; replace an auth key that is used up or expired",
        case.name()
    );
    Some(match planned {
        _ if on_it.is_empty() => CheckResult::broken(format!("{OVERLAY} has no address"), remedy),
        Some(address) if !on_it.iter().any(|it| plain(it) == Some(address)) => CheckResult::broken(
            format!("{OVERLAY} has {}, expected {address}", list(on_it.into_iter().map(|it| &it.address))),
            "set `address.overlay` to the address it has, or assign the expected one at the control server",
        ),
        _ => CheckResult::holds(list(on_it.into_iter().map(told))),
    })
}
