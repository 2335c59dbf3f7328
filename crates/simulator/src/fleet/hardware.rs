//! The hardware of a simulated machine.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use sha2::{Digest as _, Sha256};

use ichor_values::Mac;

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Its name in the simulator: the name of its node.
    pub name: String,
    /// MAC addresses of its ports, in their order.
    pub macs: Vec<Mac>,
    /// The UUID that its firmware reports.
    pub uuid: String,
    /// The serial number that its firmware reports.
    pub serial: String,
    /// Its addresses while it has no configuration, or one without addresses.
    pub leased: Vec<IpAddr>,
    /// Whether its disk is Talos' own image: nothing is ever installed there.
    pub image: bool,
    /// The platform of its boot images: `metal`, `nocloud`.
    pub platform: String,
    /// Whether its platform gives it a first configuration, and its name with it.
    pub has_medium: bool,
    /// Its address in the overlay.
    pub overlay: IpAddr,
}

/// The default address of a machine in the overlay.
const OVERLAY: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 64, 0, 7));

impl Hardware {
    /// A machine whose UUID and serial number follow from its name.
    pub fn new(name: &str, macs: Vec<Mac>, leased: Vec<IpAddr>) -> Self {
        Self {
            name: name.to_owned(),
            macs,
            uuid: uuid(name),
            serial: format!("SIM-{name}"),
            leased,
            image: false,
            platform: "metal".to_owned(),
            has_medium: false,
            overlay: OVERLAY,
        }
    }

    /// The same machine with ports and firmware of another one.
    pub(super) fn with_exchanged_ids(&self) -> Self {
        let other = format!("{} exchanged", self.name);
        let digest = Sha256::digest(other.as_bytes());
        let macs = self.macs.iter().enumerate().map(|(nth, _)| {
            let nth = u8::try_from(nth).unwrap_or(u8::MAX);
            Mac([0x02, 0xee, digest[0], digest[1], digest[2], nth])
        });
        Self { macs: macs.collect(), uuid: uuid(&other), serial: format!("SIM-{other}"), ..self.clone() }
    }
}

fn uuid(name: &str) -> String {
    let digest = Sha256::digest(format!("ichor simulated machine {name}"));
    let mut text = String::new();
    for (nth, byte) in digest.iter().take(16).enumerate() {
        // The bits that say: by a hash, after RFC 9562.
        let byte = match nth {
            6 => byte & 0x0f | 0x80,
            8 => byte & 0x3f | 0x80,
            _ => *byte,
        };
        if [4, 6, 8, 10].contains(&nth) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_ids_are_stable_and_unique() {
        let [one, again, other] = ["cp1", "cp1", "cp2"].map(uuid);

        assert_eq!(one, again);
        assert_ne!(one, other);
        assert_eq!(one.len(), 36);
        assert_eq!(&one[14..15], "8");
    }

    #[test]
    fn exchanged_hardware_has_new_ids() {
        let machine = Hardware::new("cp1", vec![Mac([2, 0, 0, 0, 0, 1])], Vec::new());

        let other = machine.with_exchanged_ids();

        assert_eq!(other.name, machine.name);
        assert!(
            other.macs[0] != machine.macs[0] && other.uuid != machine.uuid && other.serial != machine.serial
        );
    }
}
