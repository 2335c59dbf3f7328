//! Parsers of virsh's output.

use std::net::IpAddr;

use crate::machines::is_reachable;

/// A domain of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibvirtDomain {
    /// Its UUID.
    pub uuid: String,
    /// Its name.
    pub name: String,
}

/// Parses `virsh -q list --all --uuid --name`.
pub fn parse_domains(output: &str) -> Vec<LibvirtDomain> {
    let domain = |line: &str| {
        let (uuid, name) = line.trim().split_once(' ')?;
        Some(LibvirtDomain { uuid: uuid.to_owned(), name: name.trim().to_owned() })
    };
    output.lines().filter_map(domain).collect()
}

/// Parses a list with one name per line.
pub fn parse_names(output: &str) -> Vec<String> {
    output.lines().map(str::trim).filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect()
}

/// Parses the daemon's release from `virsh version --daemon`.
pub fn parse_release(output: &str) -> Option<String> {
    output
        .lines()
        .find_map(|line| line.strip_prefix("Running against daemon:"))
        .map(|text| text.trim().to_owned())
}

/// Whether a domain is on, from `virsh domstate`. A paused or crashed domain counts as on.
pub fn is_on(output: &str) -> bool {
    output.trim() != "shut off"
}

/// Parses the devices of CD drives with a medium from `virsh -q domblklist --details`.
pub fn parse_occupied_drives(output: &str) -> Vec<String> {
    let drive = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        match words.as_slice() {
            [_, "cdrom", device, source, ..] if *source != "-" => Some((*device).to_owned()),
            _ => None,
        }
    };
    output.lines().filter_map(drive).collect()
}

/// The MAC address that a guest agent reports for links that are not ports.
const NO_MAC: &str = "00:00:00:00:00:00";

/// Parses the addresses of our ports from `virsh -q domifaddr --full`, without link-local ones.
pub fn parse_addresses(output: &str, macs: &[String]) -> Vec<IpAddr> {
    let address = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, mac, _, address] = words.as_slice() else { return None };
        let is_known = macs.is_empty() || macs.iter().any(|known| known.eq_ignore_ascii_case(mac));
        let is_ours = is_known && *mac != NO_MAC;
        is_ours.then(|| address.split('/').next()?.parse().ok()).flatten()
    };
    output.lines().filter_map(address).filter(is_reachable).collect()
}

/// The capabilities of a host, from `virsh domcapabilities`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainCapabilities {
    /// Whether it has firmware for UEFI.
    pub uefi: bool,
}

/// Parses `virsh domcapabilities`.
pub fn parse_capabilities(output: &str) -> DomainCapabilities {
    DomainCapabilities { uefi: output.contains("<value>efi</value>") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_virsh_is_parsed() {
        let list = " d581756f-daf9-81d1-81c6-4d4854e2123f   pot1 \n 11111111-daf9-81d1-81c6-4d4854e2123f   my mail\n\n";
        assert_eq!(parse_domains(list)[1].name, "my mail");
        assert_eq!(parse_release("Using API: QEMU 9.0.0\nRunning against daemon: 9.0.0\n").unwrap(), "9.0.0");
        assert!(is_on("running\n") && is_on("paused\n\n") && !is_on("shut off\n\n"));
        let drives =
            " file   disk    vda   /a b.img\n volume cdrom   sda   talos.iso\n file   cdrom   sdb   -\n";
        assert_eq!(parse_occupied_drives(drives), ["sda"]);
    }

    #[test]
    fn only_addresses_of_our_ports_are_parsed() {
        let output = " lo         00:00:00:00:00:00    ipv4         127.0.0.1/8\n \
                     eth0       02:00:07:00:0b:00    ipv4         10.0.20.11/24\n \
                     eth0       02:00:07:00:0b:00    ipv6         fe80::7/64\n \
                     cni0       9e:00:00:00:00:01    ipv4         10.244.0.1/24\n \
                     eth1       N/A                  N/A          N/A\n";

        assert_eq!(
            parse_addresses(output, &["02:00:07:00:0B:00".to_owned()]),
            ["10.0.20.11".parse::<IpAddr>().unwrap()]
        );
        let any = ["10.0.20.11", "10.244.0.1"].map(|address| address.parse::<IpAddr>().unwrap());
        assert_eq!(parse_addresses(output, &[]), any, "without known MAC addresses");
    }
}
