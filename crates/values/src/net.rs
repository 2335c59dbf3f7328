//! Addresses, prefixes and MACs.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde_json::json;

use crate::ValueError;
use crate::key::MergeOver;
use crate::read::{Scalar, ScalarForm};
use crate::scalar::scalar;

macro_rules! address {
    ($ty:ty, $name:literal, $want:literal) => {
        impl Scalar for $ty {
            fn parse(text: &str) -> Result<Self, ValueError> {
                text.parse().map_err(|_| ValueError::new(concat!("not an ", $name)))
            }

            fn form() -> ScalarForm {
                ScalarForm { name: $name, want: $want, schema: json!({"type": "string"}) }
            }

            fn text(&self) -> String {
                self.to_string()
            }
        }

        impl MergeOver for $ty {}
    };
}

address!(Ipv4Addr, "IPv4 address", "an address such as 10.101.0.1");
address!(Ipv6Addr, "IPv6 address", "an address such as fd00:101::fffe");
address!(IpAddr, "IP address", "an address such as 10.101.0.10 or fd00:101::10");

/// A prefix: an address range with no host bits set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(pub IpNet);

impl Prefix {
    /// Reads `10.101.0.0/24` or `fd00:101::/64`.
    pub(crate) fn parse(text: &str) -> Result<Self, ValueError> {
        let net: IpNet = text.parse().map_err(|_| ValueError::new("not a prefix"))?;
        if net.trunc() != net {
            return Err(ValueError::new(format!("has host bits set; the prefix is {}", net.trunc())));
        }
        Ok(Self(net))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

scalar!(Prefix, "prefix", "a prefix such as 10.101.0.0/24 or fd00:101::/64", {"type": "string"});

/// An address of a link, with the length of the prefix it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub IpNet);

impl Address {
    /// Reads `10.20.0.21/24`.
    pub(crate) fn parse(text: &str) -> Result<Self, ValueError> {
        text.parse().map(Self).map_err(|_| {
            ValueError::new(if text.parse::<IpAddr>().is_ok() {
                "has no prefix length"
            } else {
                "not an address with prefix length"
            })
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

scalar!(Address, "address with prefix length", "an address such as 10.20.0.21/24", {"type": "string"});

macro_rules! address_or_prefix {
    ($ty:ident, $net:ty, $addr:ty, $full:literal, $family:literal, $want:literal) => {
        #[doc = concat!("An ", $family, " prefix to take addresses from, or one node's own address.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $ty {
            /// The address as it was written.
            pub address: $addr,
            /// The prefix length, where one was written.
            pub length: Option<u8>,
        }

        impl $ty {
            /// Reads a prefix, an address with prefix length or a bare address.
            pub fn parse(text: &str) -> Result<Self, ValueError> {
                if let Ok(address) = text.parse::<$addr>() {
                    return Ok(Self { address, length: None });
                }
                let net: $net = text.parse().map_err(|_| ValueError::new(concat!("not an ", $family)))?;
                Ok(Self { address: net.addr(), length: Some(net.prefix_len()) })
            }

            /// The prefix, when no host bits are set.
            pub fn prefix(self) -> Option<$net> {
                let net = <$net>::new(self.address, self.length.filter(|&length| length < $full)?).ok()?;
                (net.trunc() == net).then_some(net)
            }

            /// The prefix around it, even if host bits are set.
            pub fn around(self) -> Option<$net> {
                Some(<$net>::new(self.address, self.length.filter(|&length| length < $full)?).ok()?.trunc())
            }

            /// The address, when it is one node's own.
            pub fn own(self) -> Option<$addr> {
                self.prefix().is_none().then_some(self.address)
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.length {
                    Some(length) => f.pad(&format!("{}/{length}", self.address)),
                    None => f.pad(&self.address.to_string()),
                }
            }
        }

        scalar!($ty, $family, $want, {"type": "string"});
    };
}

address_or_prefix!(
    AddressOrPrefix4,
    Ipv4Net,
    Ipv4Addr,
    32,
    "IPv4 prefix",
    "a prefix such as 10.101.0.0/24, or a node's own address such as 10.101.0.11/24"
);
address_or_prefix!(
    AddressOrPrefix6,
    Ipv6Net,
    Ipv6Addr,
    128,
    "IPv6 prefix",
    "a prefix such as fd00:101::/64, or a node's own address such as fd00:101::11/64"
);

/// The address of a network port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Reads `bc:24:11:00:00:11`, `bc-24-11-00-00-11` or `bc24.1100.0011`, in any case.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let wrong = || ValueError::new("not a MAC address");
        let (separator, width) = match *text.as_bytes() {
            [_, _, separator @ (b':' | b'-'), ..] if text.len() == 17 => (separator, 2),
            [_, _, _, _, b'.', ..] if text.len() == 14 => (b'.', 4),
            _ => return Err(wrong()),
        };
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (mut octets, mut at) = ([0; 6], 0);
        for group in text.as_bytes().chunks(width + 1) {
            let (digits, end) = group.split_at(width);
            if end.first().is_some_and(|&byte| byte != separator) {
                return Err(wrong());
            }
            for pair in digits.chunks_exact(2) {
                octets[at] = digit(pair[0]).ok_or_else(wrong)? << 4 | digit(pair[1]).ok_or_else(wrong)?;
                at += 1;
            }
        }
        Ok(Self(octets))
    }

    /// Whether it names a group of ports, which no port can have as its own.
    pub fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        f.pad(&format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}"))
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

scalar!(Mac, "MAC address", "six two-digit hex octets, such as 02:00:65:00:0b:00", {"type": "string"});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macs_are_read_in_every_common_spelling() {
        for text in ["bc:24:11:00:0a:11", "BC-24-11-00-0A-11", "bc24.1100.0a11"] {
            assert_eq!(
                Mac::parse(text).map(|mac| mac.to_string()).as_deref(),
                Ok("bc:24:11:00:0a:11"),
                "{text}"
            );
        }
        for text in
            ["00:11:22", "bc:24:11:00:00:1g", "bc:24-11:00:00:11", "", "é24.1100.001", "bc:24:11:00:00:111"]
        {
            assert!(Mac::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_prefix_with_host_bits_is_an_address() {
        let own = AddressOrPrefix4::parse("10.101.0.11/24").unwrap();
        let prefix = AddressOrPrefix4::parse("10.101.0.0/24").unwrap();
        let bare = AddressOrPrefix4::parse("10.101.0.0").unwrap();
        let host = AddressOrPrefix4::parse("10.0.0.1/32").unwrap();

        assert_eq!((own.prefix(), own.own()), (None, Some("10.101.0.11".parse().unwrap())));
        assert_eq!(own.around(), Some("10.101.0.0/24".parse().unwrap()));
        assert_eq!((prefix.prefix(), prefix.own()), (Some("10.101.0.0/24".parse().unwrap()), None));
        assert_eq!(bare.own(), Some("10.101.0.0".parse().unwrap()));
        assert_eq!(host.own(), Some("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn host_bits_in_a_prefix_are_rejected_with_its_network() {
        assert_eq!(
            Prefix::parse("10.0.0.5/24").unwrap_err().to_string(),
            "has host bits set; the prefix is 10.0.0.0/24"
        );
    }
}
