//! Addresses that DHCP servers assigned, from their lease files.
//!
//! [`parse_leases`] detects the format by the content: dnsmasq's, or Kea's (memfile, for either family). It reports a line that it
//! cannot read and uses the others. Whether a machine is the node is not decided here: a lease is only an address to try.

mod dnsmasq;
mod kea;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use ichor_values::{Mac, Moment, ValueError};

/// A lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DhcpLease {
    /// The machine's port.
    pub mac: Mac,
    /// The address.
    pub address: IpAddr,
    /// Its expiry; none if it never expires.
    pub ends: Option<Moment>,
    /// Its start, if the file has it.
    pub begun: Option<Moment>,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct LeaseLineError {
    /// Its number, starting from 1.
    pub line: usize,
    /// The fault.
    pub reason: LeaseError,
}

/// Why a line is not a lease.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// Too few words for dnsmasq's format.
    #[error("expected expiry, MAC address, IP address, hostname and client ID")]
    Words,
    /// An empty column in Kea's format.
    #[error("`{0}` is empty")]
    Column(&'static str),
    /// An invalid address.
    #[error("`{0}` is not an IP address")]
    Address(String),
    /// An invalid lifetime.
    #[error("`{0}` is not a number of seconds")]
    Lifetime(String),
    /// An invalid expiry.
    #[error("`{0}` is not a Unix time in seconds")]
    Time(String),
    /// An invalid MAC address.
    #[error("`{text}`: {reason}")]
    Mac {
        /// The text.
        text: String,
        /// The fault.
        reason: ValueError,
    },
}

/// The contents of a lease file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseFile {
    /// The newest current lease of each port and IP family.
    pub leases: Vec<DhcpLease>,
    /// Lines that cannot be parsed.
    pub wrong: Vec<LeaseLineError>,
}

/// A file in neither format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a lease file: expected dnsmasq's format, or Kea's CSV with its heading")]
pub struct LeaseFormatError;

/// The parsed lines of a file. A later line replaces an earlier one with the same address.
#[derive(Default)]
struct ParsedLeases {
    /// By address: its lease, or none if it was released.
    leases: BTreeMap<IpAddr, Option<DhcpLease>>,
    wrong: Vec<LeaseLineError>,
}

impl ParsedLeases {
    fn add_error(&mut self, line: usize, reason: LeaseError) {
        self.wrong.push(LeaseLineError { line, reason });
    }
}

/// Parses a lease file of either format.
pub fn parse_leases(text: &str, now: Moment) -> Result<LeaseFile, LeaseFormatError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    if lines.peek().is_none() {
        return Ok(LeaseFile::default());
    }
    let parsed = lines.find_map(|line| detect_format(line)).ok_or(LeaseFormatError)?(text);
    let mut newest: BTreeMap<(Mac, bool), DhcpLease> = BTreeMap::new();
    let is_current = |lease: &DhcpLease| lease.ends.is_none_or(|ends| ends > now);
    for lease in parsed.leases.into_values().flatten().filter(is_current) {
        let place = newest.entry((lease.mac, lease.address.is_ipv6())).or_insert(lease);
        if age(&lease) > age(place) {
            *place = lease;
        }
    }
    Ok(LeaseFile { leases: newest.into_values().collect(), wrong: parsed.wrong })
}

/// The parser of a file with such a line.
fn detect_format(line: &str) -> Option<fn(&str) -> ParsedLeases> {
    if kea::is_heading(line) {
        Some(kea::parse)
    } else if dnsmasq::is_line(line) {
        Some(dnsmasq::parse)
    } else {
        None
    }
}

/// The sort key of a lease by age: its start if known, else its expiry. A lease without an expiry is the newest.
fn age(lease: &DhcpLease) -> u64 {
    lease.begun.or(lease.ends).map_or(u64::MAX, Moment::unix)
}

/// The MAC address in a DHCP unique identifier of type DUID-LLT or DUID-LL for Ethernet (RFC 8415, sections 11.2 and 11.4).
fn mac_from_duid(text: &str) -> Option<Mac> {
    let bytes = text.split([':', '-']).map(|octet| u8::from_str_radix(octet, 16).ok());
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    // DUID-LLT and DUID-LL.
    let ([0, 1, 0, 1, _, _, _, _, mac @ ..] | [0, 3, 0, 1, mac @ ..]) = bytes.as_slice() else { return None };
    mac.try_into().ok().map(Mac)
}

/// Parses a Unix time.
fn parse_time(text: &str) -> Result<Moment, LeaseError> {
    let seconds = text.parse().ok().and_then(Moment::from_unix);
    seconds.ok_or_else(|| LeaseError::Time(text.to_owned()))
}

fn port_mac(text: &str) -> Result<Mac, LeaseError> {
    Mac::parse(text).map_err(|reason| LeaseError::Mac { text: text.to_owned(), reason })
}

fn lease_address(text: &str) -> Result<IpAddr, LeaseError> {
    text.parse().map_err(|_| LeaseError::Address(text.to_owned()))
}
