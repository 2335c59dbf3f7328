//! dnsmasq's leases: a line with end, MAC address, address, name and client of each; IPv6 has the client's identifier at the end.

use std::net::IpAddr;

use super::{DhcpLease, LeaseError, ParsedLeases, lease_address, moment, of_duid, port_mac};

/// Whether a line is one of dnsmasq's.
pub(super) fn is_line(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        // The server's own identifier, before the leases of IPv6.
        ["duid", _] => true,
        [ends, _, address, _, ..] => ends.parse::<u64>().is_ok() && address.parse::<IpAddr>().is_ok(),
        _ => false,
    }
}

pub(super) fn read(text: &str) -> ParsedLeases {
    let mut told = ParsedLeases::default();
    for (nth, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] | ["duid", _] => {}
            [ends, port, address, _, client @ ..] => {
                match lease(ends, port, address, client.first().copied()) {
                    Ok(Some(lease)) => drop(told.leases.insert(lease.address, Some(lease))),
                    Ok(None) => {}
                    Err(reason) => told.wrong(nth + 1, reason),
                }
            }
            _ => told.wrong(nth + 1, LeaseError::Words),
        }
    }
    told
}

/// A lease; none where nothing says whose port it is.
fn lease(
    ends: &str,
    port: &str,
    address: &str,
    client: Option<&str>,
) -> Result<Option<DhcpLease>, LeaseError> {
    // 0 is a lease without an end.
    let ends = if ends == "0" { None } else { Some(moment(ends)?) };
    let address = lease_address(address)?;
    let mac = if address.is_ipv6() {
        client.and_then(of_duid)
    } else if port.contains('-') {
        // Before the `-` is the kind of a link that is not Ethernet.
        None
    } else {
        Some(port_mac(port)?)
    };
    Ok(mac.map(|mac| DhcpLease { mac, address, ends, begun: None }))
}
