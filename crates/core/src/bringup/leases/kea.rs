//! Kea's leases (memfile): a table with a heading, to which a line is appended whenever a lease changes.

use std::net::IpAddr;

use super::{DhcpLease, LeaseError, ParsedLeases, lease_address, moment, of_duid, port_mac};
use ichor_values::Moment;

/// The state of a lease that a machine has.
const HELD: &str = "0";
/// The kind of a lease that is an address of its own; others are temporary, or prefixes.
const ADDRESS: &str = "0";

/// Whether a line is the heading of such a table.
pub(super) fn is_heading(line: &str) -> bool {
    let names: Vec<&str> = line.split(',').collect();
    names.first() == Some(&"address")
        && names.contains(&"expire")
        && (names.contains(&"hwaddr") || names.contains(&"duid"))
}

/// Where the columns are; releases of Kea add some.
struct KeaColumns<'t>(Vec<&'t str>);

impl KeaColumns<'_> {
    fn get<'r>(&self, row: &[&'r str], name: &str) -> Option<&'r str> {
        let nth = self.0.iter().position(|column| *column == name)?;
        row.get(nth).copied().filter(|value| !value.is_empty())
    }
}

pub(super) fn read(text: &str) -> ParsedLeases {
    let mut told = ParsedLeases::default();
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
        match lease(&columns, &row) {
            Ok((address, lease)) => drop(told.leases.insert(address, lease)),
            Err(reason) => told.wrong(nth + 1, reason),
        }
    }
    told
}

/// The lease of a row; none where it is over, is no address of its own, or nothing says whose port it is.
fn lease(columns: &KeaColumns<'_>, row: &[&str]) -> Result<(IpAddr, Option<DhcpLease>), LeaseError> {
    let want = |name| columns.get(row, name).ok_or(LeaseError::Column(name));
    let address = lease_address(want("address")?)?;
    let lifetime = want("valid_lifetime")?;
    let lifetime: u64 = lifetime.parse().map_err(|_| LeaseError::Lifetime(lifetime.to_owned()))?;
    let ends = moment(want("expire")?)?;
    let held = columns.get(row, "state").is_none_or(|state| state == HELD) && lifetime > 0;
    let own = columns.get(row, "lease_type").is_none_or(|kind| kind == ADDRESS);
    if !held || !own {
        return Ok((address, None));
    }
    let mac = match columns.get(row, "hwaddr") {
        Some(text) => Some(port_mac(text)?),
        None => columns.get(row, "duid").and_then(of_duid),
    };
    let begun = Moment::from_unix(ends.unix().saturating_sub(lifetime));
    Ok((address, mac.map(|mac| DhcpLease { mac, address, ends: Some(ends), begun })))
}
