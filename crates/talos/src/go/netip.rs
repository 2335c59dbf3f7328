//! Addresses and prefixes as Go's `net` and `net/netip` read them.

use std::net::{IpAddr, Ipv6Addr};

/// Whether `netip.ParseAddr` takes it: an IPv6 address may have a zone.
pub(crate) fn is_address(text: &str) -> bool {
    print_address(text).is_some()
}

/// Whether `net.ParseIP` takes it: an address without a zone.
pub(crate) fn is_ip(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

/// Whether `net.ParseCIDR` takes it: an address and a length, which may begin with zeros.
pub(crate) fn is_cidr(text: &str) -> bool {
    split(text).is_some()
}

/// Whether `netip.ParsePrefix` takes it: as with [`is_cidr`], but the length has no leading zeros.
pub(crate) fn is_prefix(text: &str) -> bool {
    print_prefix(text).is_some()
}

/// Whether `ParseSubnetOrAddress` of siderolabs/net takes it.
pub(crate) fn is_subnet_or_address(text: &str) -> bool {
    is_prefix(text) || is_address(text)
}

/// The address and the length of a prefix, which may begin with zeros.
fn split(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let number = length.trim_start_matches('0');
    let number = if number.is_empty() { Some(0) } else { number.parse().ok() };
    Some((address, number.filter(|length| digits && *length <= longest)?))
}

/// An address in its shortest form, with its zone.
pub fn print_address(text: &str) -> Option<String> {
    let (address, zone) = match text.split_once('%') {
        Some((_, "")) => return None,
        Some((address, zone)) => (address, Some(zone)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    match (address, zone) {
        (IpAddr::V4(_), Some(_)) => None,
        (address, None) => Some(print(address)),
        (address, Some(zone)) => Some(format!("{}%{zone}", print(address))),
    }
}

/// A prefix: an address without zone, a slash and a length without leading zeros.
pub(crate) fn print_prefix(text: &str) -> Option<String> {
    let (address, length) = split(text)?;
    let printed = format!("{}/{length}", print(address));
    text.ends_with(&format!("/{length}")).then_some(printed)
}

/// An address and a port.
pub(crate) fn print_address_and_port(text: &str) -> Option<String> {
    let (address, port) = text.rsplit_once(':')?;
    let port = port.bytes().all(|byte| byte.is_ascii_digit()).then(|| port.parse::<u16>().ok())??;
    match address.strip_prefix('[').and_then(|address| address.strip_suffix(']')) {
        Some(inner) => {
            let inner = print_address(inner).filter(|inner| inner.contains(':'))?;
            Some(format!("[{inner}]:{port}"))
        }
        None => Some(format!("{}:{port}", print_address(address).filter(|address| !address.contains(':'))?)),
    }
}

/// Go writes addresses that map IPv4 as `::ffff:10.0.0.1`, and all others of IPv6 in hexadecimal.
fn print(address: IpAddr) -> String {
    match address {
        IpAddr::V6(six) if six.to_ipv4_mapped().is_none() && six.to_string().contains('.') => {
            hexadecimal(six)
        }
        address => address.to_string(),
    }
}

/// Rust writes `::10.0.0.1` where Go writes `::a00:1`.
fn hexadecimal(address: Ipv6Addr) -> String {
    let [.., high, low] = address.segments();
    format!("::{high:x}:{low:x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_have_zones_in_some_places() {
        for text in ["10.0.0.1", "::1", "fe80::1", "::ffff:10.0.0.1"] {
            assert!(is_ip(text) && is_address(text), "{text}");
        }
        assert!(is_address("fe80::1%eth0") && !is_ip("fe80::1%eth0"));
        for text in ["", "10.0.0", "10.0.0.01", "10.0.0.256", "fe80::1%", "10.0.0.1%eth0", ":::", "1::2::3"] {
            assert!(!is_address(text), "{text}");
        }
    }

    #[test]
    fn prefixes_have_a_length_that_fits() {
        for text in ["10.0.0.0/8", "10.1.2.3/0", "fd00::/128"] {
            assert!(is_cidr(text) && is_prefix(text), "{text}");
        }
        assert!(is_cidr("10.0.0.0/08") && !is_prefix("10.0.0.0/08"));
        for text in
            ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "fe80::%eth0/64", "fd00::/129", "/8"]
        {
            assert!(!is_cidr(text) && !is_prefix(text), "{text}");
        }
    }

    #[test]
    fn an_address_is_written_in_its_short_form() {
        assert_eq!(print_address("FD00::0:1").as_deref(), Some("fd00::1"));
        assert_eq!(print_address("fe80::1%eth0").as_deref(), Some("fe80::1%eth0"));
        assert_eq!(print_address("::ffff:10.0.0.1").as_deref(), Some("::ffff:10.0.0.1"));
        assert_eq!(print_prefix("10.0.0.1/16").as_deref(), Some("10.0.0.1/16"));
        assert_eq!(print_address_and_port("[::1]:80").as_deref(), Some("[::1]:80"));
        assert_eq!(print_address_and_port("10.0.0.1:080").as_deref(), Some("10.0.0.1:80"));
        for bad in ["10.0.0.1/33", "10.0.0.1/016", "10.0.0.1", "fe80::1%eth0/64", "10.0.0.1/+8"] {
            assert_eq!(print_prefix(bad), None, "{bad}");
        }
        for bad in ["10.0.0", "10.0.0.1%eth0", "", "fe80::1%", "010.0.0.1"] {
            assert_eq!(print_address(bad), None, "{bad}");
        }
    }
}
