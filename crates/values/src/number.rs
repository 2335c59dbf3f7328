//! Numbers and yes-or-no.

use std::fmt;

use serde_json::json;

use crate::ValueError;
use crate::key::MergeOver;
use crate::read::{Scalar, ScalarForm};
use crate::scalar::scalar;

/// Digits only: no sign, no `0x`, no leading zero, which could be read as octal.
fn digits<T: std::str::FromStr>(text: &str, most: &str) -> Result<T, ValueError> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ValueError::new("not a number"));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(ValueError::new("a number with a leading zero could be octal"));
    }
    text.parse().map_err(|_| ValueError::new(format!("larger than {most}")))
}

macro_rules! number {
    ($ty:ty, $want:literal) => {
        impl Scalar for $ty {
            fn parse(text: &str) -> Result<Self, ValueError> {
                digits(text, &<$ty>::MAX.to_string())
            }

            fn form() -> ScalarForm {
                ScalarForm { name: "number", want: $want, schema: json!({"type": "integer", "minimum": 0, "maximum": <$ty>::MAX}) }
            }

            fn text(&self) -> String {
                self.to_string()
            }
        }

        impl MergeOver for $ty {}
    };
}

number!(u8, "a whole number up to 255");
number!(u16, "a whole number up to 65535");
number!(u32, "a whole number up to 4294967295");

impl Scalar for bool {
    fn parse(text: &str) -> Result<Self, ValueError> {
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(ValueError::new("neither true nor false")),
        }
    }

    fn form() -> ScalarForm {
        ScalarForm { name: "true / false", want: "true or false", schema: json!({"type": "boolean"}) }
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl MergeOver for bool {}

/// The number of an autonomous system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asn(pub u32);

impl Asn {
    /// Reads a number from 1 on; whether it is a wise one is a matter of rules.
    pub(crate) fn parse(text: &str) -> Result<Self, ValueError> {
        match digits(text, "4294967295") {
            Ok(0) => Err(ValueError::new("0 is not an AS number")),
            Ok(number) => Ok(Self(number)),
            Err(error) => Err(error),
        }
    }

    /// Whether it is for private use or documentation (RFC 6996, RFC 5398).
    pub fn is_private(self) -> bool {
        matches!(self.0, 64_496..=64_511 | 64_512..=65_534 | 65_536..=65_551 | 4_200_000_000..=4_294_967_294)
    }

    /// Whether the number is reserved and must not be used (RFC 7607, RFC 6793, RFC 7300).
    pub fn is_reserved(self) -> bool {
        matches!(self.0, 0 | 23_456 | 65_535 | 65_552..=131_071 | 4_294_967_295)
    }
}

impl fmt::Display for Asn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

scalar!(Asn, "AS number", "a number from 1 to 4294967295, such as 4210101011", {"type": "integer", "minimum": 1, "maximum": 4_294_967_295_u32});

/// The largest packet a link takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mtu(pub u32);

impl Mtu {
    /// The least that IPv6 takes: below it the kernel removes IPv6 from the link.
    pub const LEAST_FOR_IPV6: Self = Self(1280);
}

impl Mtu {
    /// Reads a number a link can have.
    pub(crate) fn parse(text: &str) -> Result<Self, ValueError> {
        match digits(text, "65536") {
            Ok(number @ 68..=65_536) => Ok(Self(number)),
            Ok(_) => Err(ValueError::new("no link has this MTU")),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for Mtu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

scalar!(Mtu, "MTU", "a number from 68 to 65536, such as 1500", {"type": "integer", "minimum": 68, "maximum": 65536});

/// The number of a VLAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlanId(pub u16);

impl VlanId {
    /// Reads a number from 1 to 4094.
    pub(crate) fn parse(text: &str) -> Result<Self, ValueError> {
        match digits(text, "4094") {
            Ok(number @ 1..=4094) => Ok(Self(number)),
            Ok(_) => Err(ValueError::new("not a VLAN number")),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for VlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

scalar!(VlanId, "VLAN number", "a number from 1 to 4094", {"type": "integer", "minimum": 1, "maximum": 4094});
