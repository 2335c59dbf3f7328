//! Kea's leases (memfile): CSV with a heading, to which a line is appended for every change.

use std::net::IpAddr;

use super::{DhcpLease, LeaseError, ParsedLeases, lease_address, mac_from_duid, parse_time, port_mac};
use ichor_values::Moment;

/// The state of an active lease.
const HELD: &str = "0";
/// The type of a lease for a non-temporary address; others are temporary addresses or prefixes.
const ADDRESS: &str = "0";

/// Whether a line is the heading.
pub(super) fn is_heading(line: &str) -> bool {
    let names: Vec<&str> = line.split(',').collect();
    names.first() == Some(&"address")
        && names.contains(&"expire")
        && (names.contains(&"hwaddr") || names.contains(&"duid"))
}

/// The columns, which differ between releases of Kea.
struct KeaColumns<'t>(Vec<&'t str>);

impl KeaColumns<'_> {
    fn get<'r>(&self, row: &[&'r str], name: &str) -> Option<&'r str> {
        let nth = self.0.iter().position(|column| *column == name)?;
        row.get(nth).copied().filter(|value| !value.is_empty())
    }
}

pub(super) fn parse(text: &str) -> ParsedLeases {
    let mut parsed = ParsedLeases::default();
    let mut columns = KeaColumns(Vec::new());
    for (nth, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if is_heading(line) {
            columns = KeaColumns(line.split(',').collect());
            continue;
        }
        // A comma inside a value is written as `&#x2c`.
        let row: Vec<&str> = line.split(',').collect();
        match parse_lease(&columns, &row) {
            Ok((address, lease)) => drop(parsed.leases.insert(address, lease)),
            Err(reason) => parsed.add_error(nth + 1, reason),
        }
    }
    parsed
}

/// Parses the lease of a row; none if it has ended, is not for a single address, or its MAC address is unknown.
fn parse_lease(columns: &KeaColumns<'_>, row: &[&str]) -> Result<(IpAddr, Option<DhcpLease>), LeaseError> {
    let want = |name| columns.get(row, name).ok_or(LeaseError::Column(name));
    let address = lease_address(want("address")?)?;
    let lifetime = want("valid_lifetime")?;
    let lifetime: u64 = lifetime.parse().map_err(|_| LeaseError::Lifetime(lifetime.to_owned()))?;
    let ends = parse_time(want("expire")?)?;
    let is_active = columns.get(row, "state").is_none_or(|state| state == HELD) && lifetime > 0;
    let is_address = columns.get(row, "lease_type").is_none_or(|kind| kind == ADDRESS);
    if !is_active || !is_address {
        return Ok((address, None));
    }
    let mac = match columns.get(row, "hwaddr") {
        Some(text) => Some(port_mac(text)?),
        None => columns.get(row, "duid").and_then(mac_from_duid),
    };
    let begun = Moment::from_unix(ends.unix().saturating_sub(lifetime));
    Ok((address, mac.map(|mac| DhcpLease { mac, address, ends: Some(ends), begun })))
}
