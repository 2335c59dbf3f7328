//! dnsmasq's leases: lines with expiry, MAC address, IP address, hostname and client ID. For IPv6 the client ID is the DUID.

use std::net::IpAddr;

use super::{DhcpLease, LeaseError, ParsedLeases, lease_address, mac_from_duid, parse_time, port_mac};

/// Whether a line is in dnsmasq's format.
pub(super) fn is_line(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        // The server's DUID, before the IPv6 leases.
        ["duid", _] => true,
        [ends, _, address, _, ..] => ends.parse::<u64>().is_ok() && address.parse::<IpAddr>().is_ok(),
        _ => false,
    }
}

pub(super) fn parse(text: &str) -> ParsedLeases {
    let mut parsed = ParsedLeases::default();
    for (nth, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] | ["duid", _] => {}
            [ends, port, address, _, client @ ..] => {
                match parse_lease(ends, port, address, client.first().copied()) {
                    Ok(Some(lease)) => drop(parsed.leases.insert(lease.address, Some(lease))),
                    Ok(None) => {}
                    Err(reason) => parsed.add_error(nth + 1, reason),
                }
            }
            _ => parsed.add_error(nth + 1, LeaseError::Words),
        }
    }
    parsed
}

/// Parses a lease; none if its MAC address is unknown.
fn parse_lease(
    ends: &str,
    port: &str,
    address: &str,
    client: Option<&str>,
) -> Result<Option<DhcpLease>, LeaseError> {
    // 0 is a lease that never expires.
    let ends = if ends == "0" { None } else { Some(parse_time(ends)?) };
    let address = lease_address(address)?;
    let mac = if address.is_ipv6() {
        client.and_then(mac_from_duid)
    } else if port.contains('-') {
        // The prefix before `-` is the hardware type of a link that is not Ethernet.
        None
    } else {
        Some(port_mac(port)?)
    };
    Ok(mac.map(|mac| DhcpLease { mac, address, ends, begun: None }))
}
