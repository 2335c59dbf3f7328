//! Addresses that DHCP servers assigned, from their lease files.
//!
//! [`read`] detects the format by the content: dnsmasq's, or Kea's (memfile, for either family). It reports a line that it
//! cannot read and uses the others. Whether a machine is the node is not decided here: a lease is only an address to try.

mod dnsmasq;
mod kea;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use ichor_values::{Mac, Moment, ValueError};

/// An address that a server gave a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DhcpLease {
    /// The machine's port.
    pub mac: Mac,
    /// The address.
    pub address: IpAddr,
    /// When it ends; none where it never does.
    pub ends: Option<Moment>,
    /// When it was given, where the file says so.
    pub begun: Option<Moment>,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct LeaseLineError {
    /// Its number, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub reason: LeaseError,
}

/// Why a line is not a lease.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// It has too few words for one of dnsmasq's.
    #[error("expected expiry, MAC address, IP address, hostname and client ID")]
    Words,
    /// A column of Kea's is empty.
    #[error("`{0}` is empty")]
    Column(&'static str),
    /// Its address is not one.
    #[error("`{0}` is not an IP address")]
    Address(String),
    /// Its lifetime is not a number.
    #[error("`{0}` is not a number of seconds")]
    Lifetime(String),
    /// Its end is not a time.
    #[error("`{0}` is not a Unix time in seconds")]
    Time(String),
    /// Its MAC address is not one.
    #[error("`{text}`: {reason}")]
    Mac {
        /// What stands in its place.
        text: String,
        /// What is wrong with it.
        reason: ValueError,
    },
}

/// The contents of a lease file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseFile {
    /// The current lease of each port and family: of several the newest.
    pub leases: Vec<DhcpLease>,
    /// Lines that cannot be read.
    pub wrong: Vec<LeaseLineError>,
}

/// A file in neither format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a lease file: expected dnsmasq's format, or Kea's CSV with its heading")]
pub struct LeaseFormatError;

/// What one kind of file says, in its order; an address that comes again is the later one.
#[derive(Default)]
struct ParsedLeases {
    /// By address: its lease, or none where it was given back.
    leases: BTreeMap<IpAddr, Option<DhcpLease>>,
    wrong: Vec<LeaseLineError>,
}

impl ParsedLeases {
    fn wrong(&mut self, line: usize, reason: LeaseError) {
        self.wrong.push(LeaseLineError { line, reason });
    }
}

/// Reads a lease file of either format.
pub fn read(text: &str, now: Moment) -> Result<LeaseFile, LeaseFormatError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    if lines.peek().is_none() {
        return Ok(LeaseFile::default());
    }
    let told = lines.find_map(|line| kind(line)).ok_or(LeaseFormatError)?(text);
    let mut newest: BTreeMap<(Mac, bool), DhcpLease> = BTreeMap::new();
    let in_force = |lease: &DhcpLease| lease.ends.is_none_or(|ends| ends > now);
    for lease in told.leases.into_values().flatten().filter(in_force) {
        let place = newest.entry((lease.mac, lease.address.is_ipv6())).or_insert(lease);
        if age(&lease) > age(place) {
            *place = lease;
        }
    }
    Ok(LeaseFile { leases: newest.into_values().collect(), wrong: told.wrong })
}

/// Who reads a file with such a line.
fn kind(line: &str) -> Option<fn(&str) -> ParsedLeases> {
    if kea::is_heading(line) {
        Some(kea::read)
    } else if dnsmasq::is_line(line) {
        Some(dnsmasq::read)
    } else {
        None
    }
}

/// By what the newer of two leases is known: its beginning where that is told, else its end, and one without an end is the last.
fn age(lease: &DhcpLease) -> u64 {
    lease.begun.or(lease.ends).map_or(u64::MAX, Moment::unix)
}

/// The MAC address in a DHCP unique identifier, where it was made from one of an Ethernet port (RFC 8415, 11.2 and 11.4).
fn of_duid(text: &str) -> Option<Mac> {
    let bytes = text.split([':', '-']).map(|octet| u8::from_str_radix(octet, 16).ok());
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    // With a time, and without.
    let ([0, 1, 0, 1, _, _, _, _, mac @ ..] | [0, 3, 0, 1, mac @ ..]) = bytes.as_slice() else { return None };
    mac.try_into().ok().map(Mac)
}

/// Seconds since 1970 as text.
fn moment(text: &str) -> Result<Moment, LeaseError> {
    let seconds = text.parse().ok().and_then(Moment::from_unix);
    seconds.ok_or_else(|| LeaseError::Time(text.to_owned()))
}

fn port_mac(text: &str) -> Result<Mac, LeaseError> {
    Mac::parse(text).map_err(|reason| LeaseError::Mac { text: text.to_owned(), reason })
}

fn lease_address(text: &str) -> Result<IpAddr, LeaseError> {
    text.parse().map_err(|_| LeaseError::Address(text.to_owned()))
}
