//! Addresses and prefixes as Go's `net` and `net/netip` read them.

use std::net::{IpAddr, Ipv6Addr};

/// Whether `netip.ParseAddr` takes it: an IPv6 address may have a zone.
pub fn is_address(text: &str) -> bool {
    match text.split_once('%') {
        Some((address, zone)) => !zone.is_empty() && address.parse::<Ipv6Addr>().is_ok(),
        None => is_ip(text),
    }
}

/// Whether `net.ParseIP` takes it: an address without a zone.
pub fn is_ip(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

/// Whether `net.ParseCIDR` takes it: an address and a length, which may begin with zeros.
pub fn is_cidr(text: &str) -> bool {
    split(text).is_some_and(|(address, length)| fits(address, length))
}

/// Whether `netip.ParsePrefix` takes it: as with [`is_cidr`], but the length has no leading zeros.
pub fn is_prefix(text: &str) -> bool {
    // The address ends at the last slash here, at the first there; neither can have one in it.
    split(text)
        .is_some_and(|(address, length)| fits(address, length) && (length == "0" || !length.starts_with('0')))
}

/// Whether `ParseSubnetOrAddress` of siderolabs/net takes it.
pub fn is_subnet_or_address(text: &str) -> bool {
    is_prefix(text) || is_address(text)
}

fn split(text: &str) -> Option<(IpAddr, &str)> {
    let (address, length) = text.split_once('/')?;
    Some((address.parse().ok()?, length))
}

fn fits(address: IpAddr, length: &str) -> bool {
    let most = if address.is_ipv4() { 32 } else { 128 };
    let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
    let number = length.trim_start_matches('0');
    digits && (number.is_empty() || number.parse::<u8>().is_ok_and(|length| length <= most))
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
}
