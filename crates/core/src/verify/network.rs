//! Checks of links, addresses and the overlay.

use std::net::IpAddr;

use super::context::{NodeContext, join_list};
use super::{CheckResult, NodeDetail};
use crate::plan::{LinkKind, LinkPlan, NodePlan};
use ichor_talos::resource::{AddressStatus, LinkStatus};
use ichor_values::Mac;

/// The link of the overlay.
const OVERLAY: &str = "tailscale0";

pub(super) fn check_links(case: &NodeContext<'_>) -> Option<CheckResult> {
    let Some(detail) = case.detail() else { return Some(case.unreachable()) };
    let found = match &detail.links {
        Ok(found) => found,
        Err(error) => return Some(CheckResult::unknown(error.to_string())),
    };
    let wanted = case.links();
    let checked =
        wanted.iter().filter(|link| case.has_network() || matches!(link.kind, LinkKind::Port { .. }));
    let results: Vec<_> = checked.filter_map(|link| check_link(case, link, found)).collect();
    let mut wrong = results.iter().filter_map(|result| result.as_ref().err());
    Some(match wrong.next() {
        Some((evidence, remedy)) => {
            let evidence = std::iter::once(evidence).chain(wrong.map(|(evidence, _)| evidence));
            CheckResult::failed(evidence.cloned().collect::<Vec<_>>().join("; "), remedy)
        }
        None if results.is_empty() => return None,
        None => CheckResult::passed(join_list(results.into_iter().flatten())),
    })
}

/// The evidence of a link, or the evidence of its fault and the remedy.
type LinkResult = Result<String, (String, String)>;

/// Checks an expected link; none if it cannot be checked.
fn check_link(case: &NodeContext<'_>, link: &LinkPlan, found: &[(String, LinkStatus)]) -> Option<LinkResult> {
    let name = link.name.as_str();
    let (name_text, link_status) = match &link.kind {
        LinkKind::Loopback => return None,
        LinkKind::Port { mac: Some(mac), .. } => (format!("{name} ({mac})"), find_by_mac(*mac, found)),
        _ => (name.to_owned(), find_by_name(name, found)),
    };
    let Some((_, is)) = link_status else {
        return Some(Err(match link.kind {
            LinkKind::Port { .. } => (
                format!("{name_text} not found; the machine has {}", join_list(port_names(found))),
                "correct `macs` of the node, or add this port to the machine".to_owned(),
            ),
            _ => (
                format!("{name_text} does not exist"),
                format!("see `ichor logs {} --dmesg` for why Talos did not create it", case.name()),
            ),
        }));
    };
    if has_carrier_state(&link.kind) && is.operational_state != "up" {
        let state = if is.operational_state.is_empty() { "down" } else { &is.operational_state };
        return Some(Err((
            format!("{name_text} is {state}"),
            link_remedy(case.node, &link.kind, is).to_owned(),
        )));
    }
    match link.mtu.filter(|_| case.has_network()) {
        Some(mtu) if is.mtu != mtu.0 => Some(Err((
            format!("{name_text} has MTU {}, expected {}", is.mtu, mtu.0),
            "the driver or the underlying link limits it: raise the MTU there (bridge, switch, virtual port), or lower it in the cluster file"
                .to_owned(),
        ))),
        _ => Some(Ok(format!("{name_text} is {}, MTU {}", is.operational_state, is.mtu))),
    }
}

/// Whether the operational state of such a link shows that packets pass.
fn has_carrier_state(kind: &LinkKind) -> bool {
    !matches!(kind, LinkKind::Dummy | LinkKind::Loopback)
}

fn link_remedy(node: &NodePlan, kind: &LinkKind, is: &LinkStatus) -> &'static str {
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

fn find_by_mac(mac: Mac, found: &[(String, LinkStatus)]) -> Option<&(String, LinkStatus)> {
    let is = |link: &LinkStatus| link.mac().and_then(|text| Mac::parse(text).ok()) == Some(mac);
    found.iter().find(|(_, link)| link.is_port() && is(link))
}

fn find_by_name<'f>(name: &str, found: &'f [(String, LinkStatus)]) -> Option<&'f (String, LinkStatus)> {
    let has_other_name =
        |link: &LinkStatus| link.alias == name || link.alt_names.iter().any(|other| other == name);
    found.iter().find(|(id, link)| id == name || has_other_name(link))
}

fn port_names(found: &[(String, LinkStatus)]) -> impl Iterator<Item = String> {
    let ports = found.iter().filter(|(_, link)| link.is_port());
    ports.map(|(name, link)| format!("{name} ({})", link.mac().unwrap_or("no MAC address")))
}

pub(super) fn check_addresses(case: &NodeContext<'_>) -> Option<CheckResult> {
    if !case.has_network() {
        return None;
    }
    let Some(detail) = case.detail() else { return Some(case.unreachable()) };
    let found = match &detail.addresses {
        Ok(found) => found,
        Err(error) => return Some(CheckResult::unknown(error.to_string())),
    };
    let links = case.links();
    let wanted = links.iter().flat_map(|link| link.addresses.iter().map(move |net| (link, net.addr())));
    let (has, lacks): (Vec<_>, Vec<_>) =
        wanted.partition(|(_, address)| find_address(*address, found).is_some());
    if !lacks.is_empty() {
        let lacks = lacks.iter().map(|(link, address)| format!("{address} on {}", link.name));
        return Some(CheckResult::failed(
            format!("missing {}; present {}", join_list(lacks), join_list(found.iter().map(format_address))),
            format!(
                "see `ichor logs {} --dmesg` for why it was not set; another host may use the same address",
                case.name()
            ),
        ));
    }
    if links.iter().any(|link| link.dhcp) && !found.iter().any(|it| it.scope == "global") {
        return Some(CheckResult::failed(
            "no address was assigned by DHCP",
            "check that a DHCP server answers on its network, or set a static address",
        ));
    }
    let has = has.iter().filter_map(|(_, address)| find_address(*address, found)).map(format_address);
    Some(CheckResult::passed(join_list(has)))
}

fn find_address(address: IpAddr, found: &[AddressStatus]) -> Option<&AddressStatus> {
    found.iter().find(|it| parse_address(it) == Some(address))
}

/// The address without its prefix length.
fn parse_address(status: &AddressStatus) -> Option<IpAddr> {
    status.address.split('/').next()?.parse().ok()
}

fn format_address(status: &AddressStatus) -> String {
    format!("{} on {}", status.address, status.link_name)
}

pub(super) fn check_overlay(case: &NodeContext<'_>) -> Option<CheckResult> {
    if !case.node.joins_overlay() {
        return None;
    }
    let Some(NodeDetail { addresses, .. }) = case.detail() else { return Some(case.unreachable()) };
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
        _ if on_it.is_empty() => CheckResult::failed(format!("{OVERLAY} has no address"), remedy),
        Some(address) if !on_it.iter().any(|it| parse_address(it) == Some(address)) => CheckResult::failed(
            format!(
                "{OVERLAY} has {}, expected {address}",
                join_list(on_it.into_iter().map(|it| &it.address))
            ),
            "set `address.overlay` to the address it has, or assign the expected one at the control server",
        ),
        _ => CheckResult::passed(join_list(on_it.into_iter().map(format_address))),
    })
}
