//! What virsh says.

use std::net::IpAddr;

use crate::machines::is_reachable;

/// A machine of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibvirtDomain {
    /// Its UUID.
    pub uuid: String,
    /// Its name.
    pub name: String,
}

/// The machines of `virsh -q list --all --uuid --name`.
pub fn domains(said: &str) -> Vec<LibvirtDomain> {
    let domain = |line: &str| {
        let (uuid, name) = line.trim().split_once(' ')?;
        Some(LibvirtDomain { uuid: uuid.to_owned(), name: name.trim().to_owned() })
    };
    said.lines().filter_map(domain).collect()
}

/// The names of a list that has one on each line.
pub fn names(said: &str) -> Vec<String> {
    said.lines().map(str::trim).filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect()
}

/// The daemon's release in `virsh version --daemon`.
pub fn release(said: &str) -> Option<String> {
    said.lines()
        .find_map(|line| line.strip_prefix("Running against daemon:"))
        .map(|text| text.trim().to_owned())
}

/// Whether a machine is on, by `virsh domstate`: one that is paused or crashed holds its power, too.
pub fn is_on(said: &str) -> bool {
    said.trim() != "shut off"
}

/// The drives of `virsh -q domblklist --details` that have a CD in them, by the names of their devices.
pub fn full_drives(said: &str) -> Vec<String> {
    let drive = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        match words.as_slice() {
            [_, "cdrom", device, source, ..] if *source != "-" => Some((*device).to_owned()),
            _ => None,
        }
    };
    said.lines().filter_map(drive).collect()
}

/// The MAC address that a guest agent tells of what is no port.
const NO_PORT: &str = "00:00:00:00:00:00";

/// The addresses of `virsh -q domifaddr --full` on our ports, without those that are good on one link only.
pub fn addresses(said: &str, macs: &[String]) -> Vec<IpAddr> {
    let address = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, mac, _, address] = words.as_slice() else { return None };
        let is_known = macs.is_empty() || macs.iter().any(|known| known.eq_ignore_ascii_case(mac));
        let is_ours = is_known && *mac != NO_PORT;
        is_ours.then(|| address.split('/').next()?.parse().ok()).flatten()
    };
    said.lines().filter_map(address).filter(is_reachable).collect()
}

/// What a host can run, by `virsh domcapabilities`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainCapabilities {
    /// Whether it has firmware for UEFI.
    pub uefi: bool,
}

/// The abilities that are told.
pub fn abilities(said: &str) -> DomainCapabilities {
    DomainCapabilities { uefi: said.contains("<value>efi</value>") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_virsh_says_is_read() {
        let list = " d581756f-daf9-81d1-81c6-4d4854e2123f   pot1 \n 11111111-daf9-81d1-81c6-4d4854e2123f   my mail\n\n";
        assert_eq!(domains(list)[1].name, "my mail");
        assert_eq!(release("Using API: QEMU 9.0.0\nRunning against daemon: 9.0.0\n").unwrap(), "9.0.0");
        assert!(is_on("running\n") && is_on("paused\n\n") && !is_on("shut off\n\n"));
        let drives =
            " file   disk    vda   /a b.img\n volume cdrom   sda   talos.iso\n file   cdrom   sdb   -\n";
        assert_eq!(full_drives(drives), ["sda"]);
    }

    #[test]
    fn addresses_of_our_ports_are_told_and_no_others() {
        let said = " lo         00:00:00:00:00:00    ipv4         127.0.0.1/8\n \
                     eth0       02:00:07:00:0b:00    ipv4         10.0.20.11/24\n \
                     eth0       02:00:07:00:0b:00    ipv6         fe80::7/64\n \
                     cni0       9e:00:00:00:00:01    ipv4         10.244.0.1/24\n \
                     eth1       N/A                  N/A          N/A\n";

        assert_eq!(
            addresses(said, &["02:00:07:00:0B:00".to_owned()]),
            ["10.0.20.11".parse::<IpAddr>().unwrap()]
        );
        let any = ["10.0.20.11", "10.244.0.1"].map(|address| address.parse::<IpAddr>().unwrap());
        assert_eq!(addresses(said, &[]), any, "where nobody knows the ports");
    }
}
