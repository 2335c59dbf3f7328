//! Router solicitations and advertisements (RFC 4861, sections 4.1 and 4.2), and the table of discovered routers.
//!
//! The node discovers a leaf by its advertisements, and advertises itself to the leaf. Its own advertisements have
//! lifetime 0: the node is never a default router.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::time::Duration;

use ichor_values::Mac;

const SOLICITATION: u8 = 133;
const ADVERTISEMENT: u8 = 134;
const SOURCE: u8 = 1;
const MTU: u8 = 5;

/// The hop limit of a packet that no router forwarded; with any other, the sender is not on the link.
pub const HOP_LIMIT: u8 = 255;

/// A router solicitation or advertisement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NdpMessage {
    /// A node requests advertisements.
    Solicitation {
        /// The sender's MAC address.
        source: Option<Mac>,
    },
    /// A router advertises itself.
    Advertisement(Advertisement),
}

/// The fields of a router advertisement that matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertisement {
    /// Router lifetime in seconds; 0 if it is not a default router.
    pub lifetime: u16,
    /// The router's MAC address.
    pub source: Option<Mac>,
    /// The MTU of the link.
    pub mtu: Option<u32>,
}

/// Why an ICMPv6 message cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The message is truncated.
    #[error("{0} bytes are too short")]
    Short(usize),
    /// The message has another type.
    #[error("ICMPv6 type {0} with code {1} is neither a router solicitation nor an advertisement")]
    Type(u8, u8),
    /// The length of an option is zero, or exceeds the message.
    #[error("the option at byte {0} has a wrong length")]
    Option(usize),
}

impl NdpMessage {
    /// Parses an ICMPv6 message, whose checksum the kernel has verified.
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let [kind, code, ..] = *bytes else { return Err(MessageError::Short(bytes.len())) };
        let header = match (kind, code) {
            (SOLICITATION, 0) => 8,
            (ADVERTISEMENT, 0) => 16,
            _ => return Err(MessageError::Type(kind, code)),
        };
        if bytes.len() < header {
            return Err(MessageError::Short(bytes.len()));
        }
        let (source, mtu) = parse_options(bytes, header)?;
        Ok(match kind {
            SOLICITATION => Self::Solicitation { source },
            _ => {
                let lifetime = u16::from_be_bytes([bytes[6], bytes[7]]);
                Self::Advertisement(Advertisement { lifetime, source, mtu })
            }
        })
    }

    /// The encoded message; the kernel fills in the checksum.
    pub fn bytes(&self) -> Vec<u8> {
        let (mut bytes, source, mtu) = match self {
            Self::Solicitation { source } => (vec![SOLICITATION, 0, 0, 0, 0, 0, 0, 0], *source, None),
            Self::Advertisement(Advertisement { lifetime, source, mtu }) => {
                let mut bytes = vec![0; 16];
                bytes[0] = ADVERTISEMENT;
                bytes[6..8].copy_from_slice(&lifetime.to_be_bytes());
                (bytes, *source, *mtu)
            }
        };
        if let Some(Mac(octets)) = source {
            bytes.extend([SOURCE, 1]);
            bytes.extend(octets);
        }
        if let Some(mtu) = mtu {
            bytes.extend([MTU, 1, 0, 0]);
            bytes.extend(mtu.to_be_bytes());
        }
        bytes
    }
}

/// The source MAC address and the MTU; of repeated options, the first counts.
fn parse_options(bytes: &[u8], start: usize) -> Result<(Option<Mac>, Option<u32>), MessageError> {
    let (mut source, mut mtu, mut at) = (None, None, start);
    while at < bytes.len() {
        let length = bytes.get(at + 1).map_or(0, |&words| usize::from(words) * 8);
        let option = bytes.get(at..at + length).filter(|_| length > 0).ok_or(MessageError::Option(at))?;
        match *option {
            [SOURCE, 1, a, b, c, d, e, f] => source = source.or(Some(Mac([a, b, c, d, e, f]))),
            [MTU, 1, _, _, a, b, c, d] => mtu = mtu.or(Some(u32::from_be_bytes([a, b, c, d]))),
            _ => {}
        }
        at += length;
    }
    Ok((source, mtu))
}

/// A router that was discovered on a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvertisingRouter {
    /// Its link-local address.
    pub address: Ipv6Addr,
    /// Its MAC address, if it was advertised.
    pub mac: Option<Mac>,
    /// Its router lifetime in seconds.
    pub lifetime: u16,
    /// When its last advertisement arrived, on the caller's clock.
    pub when: Duration,
}

/// The routers discovered on each port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterTable(BTreeMap<String, Vec<AdvertisingRouter>>);

impl RouterTable {
    /// Records an advertisement; returns whether the router is new on the port or has a new MAC address.
    pub fn record(
        &mut self,
        port: &str,
        address: Ipv6Addr,
        advertisement: &Advertisement,
        now: Duration,
    ) -> bool {
        let routers = self.0.entry(port.to_owned()).or_default();
        let router = AdvertisingRouter {
            address,
            mac: advertisement.source,
            lifetime: advertisement.lifetime,
            when: now,
        };
        match routers.iter_mut().find(|known| known.address == address) {
            Some(known) => {
                let same = known.mac == router.mac;
                *known = router;
                !same
            }
            None => {
                routers.push(router);
                true
            }
        }
    }

    /// The routers of a port, the latest first: a leaf whose MAC address changed is listed with both addresses.
    pub fn routers_on(&self, port: &str) -> Vec<&AdvertisingRouter> {
        let mut routers: Vec<&AdvertisingRouter> = self.0.get(port).into_iter().flatten().collect();
        routers.sort_by_key(|router| std::cmp::Reverse(router.when));
        routers
    }

    /// The ports with at least one router.
    pub fn ports(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, routers)| !routers.is_empty()).map(|(port, _)| port.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);

    fn message() -> impl Strategy<Value = NdpMessage> {
        let source = prop::option::of(any::<[u8; 6]>().prop_map(Mac));
        let advertisement =
            (any::<u16>(), source.clone(), any::<Option<u32>>()).prop_map(|(lifetime, source, mtu)| {
                NdpMessage::Advertisement(Advertisement { lifetime, source, mtu })
            });
        prop_oneof![source.prop_map(|source| NdpMessage::Solicitation { source }), advertisement]
    }

    proptest! {
        #[test]
        fn messages_round_trip(message in message()) {
            prop_assert_eq!(NdpMessage::parse(&message.bytes()), Ok(message));
        }

        #[test]
        fn parsed_bytes_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..64), kind in 130u8..137) {
            let mut bytes = bytes;
            if let [first, second, ..] = &mut bytes[..] {
                (*first, *second) = (kind, 0);
            }
            if let Ok(message) = NdpMessage::parse(&bytes) {
                prop_assert_eq!(NdpMessage::parse(&message.bytes()), Ok(message));
            }
        }
    }

    #[test]
    fn unknown_options_of_an_advertisement_are_ignored() {
        // Hop limit 64, lifetime 1800; the interval of RFC 6275, section 7.3, then the source.
        let bytes = [
            134, 0, 0x12, 0x34, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 7, 1, 0, 0, 0, 0, 0x27, 0x10, 1, 1, 2,
            0, 0, 0, 0, 1,
        ];

        let advertisement = Advertisement { lifetime: 1800, source: Some(MAC), mtu: None };
        assert_eq!(NdpMessage::parse(&bytes), Ok(NdpMessage::Advertisement(advertisement)));
    }

    #[test]
    fn an_option_of_length_zero_is_rejected() {
        let bytes = [133, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 1];

        assert_eq!(NdpMessage::parse(&bytes), Err(MessageError::Option(8)));
        assert_eq!(NdpMessage::parse(&bytes[..9]), Err(MessageError::Option(8)));
        assert_eq!(NdpMessage::parse(&bytes[..4]), Err(MessageError::Short(4)));
        assert_eq!(NdpMessage::parse(&[135, 0]), Err(MessageError::Type(135, 0)));
    }

    #[test]
    fn a_router_is_new_once_and_after_each_change_of_its_mac_address() {
        let mut routers = RouterTable::default();
        let (first, second) =
            (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2));
        let advertisement = Advertisement { lifetime: 0, source: Some(MAC), mtu: None };
        let at = Duration::from_secs;

        assert!(routers.record("eth0", first, &advertisement, at(1)));
        assert!(!routers.record("eth0", first, &advertisement, at(2)));
        assert!(routers.record("eth0", second, &advertisement, at(3)));
        assert!(routers.record("eth0", first, &Advertisement { source: None, ..advertisement }, at(4)));

        let addresses = |routers: &RouterTable| {
            routers.routers_on("eth0").iter().map(|router| router.address).collect::<Vec<_>>()
        };
        assert_eq!(addresses(&routers), [first, second]);
    }
}
