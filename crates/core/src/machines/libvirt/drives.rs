//! The contents of a domain's drives, from its document.

use super::DesiredDomain;
use crate::machines::drives::Drives;

/// Compares the drives in the output of `virsh dumpxml` with those of the desired domain.
pub fn compare_drives(wanted: &DesiredDomain, document: &str) -> Drives {
    let disks: Vec<DomainDisk> = document.split("<disk ").skip(1).filter_map(DomainDisk::parse).collect();
    let inside = disks.iter().filter(|disk| disk.is_cd);
    let inside = inside.filter_map(|disk| Some((disk.device.clone(), disk.volume.clone()?)));
    let files = wanted.drives.iter().map(|drive| {
        let medium = &drive.medium;
        (Some(drive.device.as_str()), medium.name.clone(), medium)
    });
    let drives = Drives::compare(inside, files);
    let disk =
        disks.iter().filter(|disk| !disk.is_cd).filter_map(|disk| disk.order).min().unwrap_or(u32::MAX);
    let mut cds = disks.iter().filter(|disk| disk.is_cd && disk.volume.is_some());
    let boots_cd = cds.any(|cd| cd.order.is_some_and(|order| order < disk));
    Drives { boots_cd, ..drives }
}

/// A disk or CD drive of a document.
struct DomainDisk {
    is_cd: bool,
    device: String,
    /// The name of its volume or file, without the folder.
    volume: Option<String>,
    order: Option<u32>,
}

impl DomainDisk {
    /// Parses the text after `<disk `.
    fn parse(text: &str) -> Option<Self> {
        let text = text.split("</disk>").next()?;
        let order = attribute(text, "<boot ", "order").and_then(|order| order.parse().ok());
        let source = ["file", "volume", "dev"].iter().find_map(|name| attribute(text, "<source ", name));
        Some(Self {
            is_cd: attribute(text, "", "device")? == "cdrom",
            device: attribute(text, "<target ", "dev")?,
            volume: source.map(|source| source.rsplit('/').next().unwrap_or_default().to_owned()),
            order,
        })
    }
}

/// An attribute of an element's start.
fn attribute(text: &str, element: &str, name: &str) -> Option<String> {
    let start = text.split_once(element)?.1;
    let start = start.split('>').next()?;
    let (_, value) = start.split_once(&format!("{name}="))?;
    let quote = value.chars().next()?;
    value[1..].split(quote).next().map(unescape)
}

fn unescape(text: &str) -> String {
    text.replace("&apos;", "'")
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::drives::MediumKind;
    use crate::machines::libvirt::VolumeStore;
    use crate::machines::libvirt::desired_domain::CdromDrive;
    use crate::render::hypervisor::medium::{Medium, MediumSource};
    use crate::render::hypervisor::uuid::VmUuid;

    const DOCUMENT: &str = "<domain type='qemu' id='3'>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw' discard='unmap'/>
      <source file='/srv/pot1.img' index='3'/>
      <target dev='vda' bus='virtio'/>
      <boot order='ORDER'/>
    </disk>
    <disk type='file' device='cdrom'>
      <source file='/isos/talos.iso' index='2'/>
      <target dev='sda' bus='sata'/>
      <readonly/>
      <boot order='2'/>
    </disk>
    <disk type='file' device='cdrom'>
      <target dev='sdb' bus='sata'/>
      <readonly/>
    </disk>
  </devices>
</domain>";

    fn wanted() -> DesiredDomain {
        let drive = |device: &str, file: &str, boots| {
            let name = file.to_owned();
            let medium = Medium { source: MediumSource::Made(name.clone()), name, boots, own: !boots };
            let (device, element) = (device.to_owned(), String::new());
            CdromDrive { device, element, store: VolumeStore::parse("/isos"), medium }
        };
        DesiredDomain {
            node: "pot1".to_owned(),
            uuid: VmUuid::new("pots", "pot1"),
            architecture: "x86_64",
            is_uefi: false,
            network: "default".to_owned(),
            network_document: None,
            store: VolumeStore::parse("default"),
            disk: "pot1.img".to_owned(),
            disk_document: String::new(),
            image: None,
            document: String::new(),
            emulated: String::new(),
            on_boot: true,
            drives: vec![drive("sda", "talos.iso", true), drive("sdb", "pots_pot1-cidata.iso", false)],
            macs: Vec::new(),
            has_agent: false,
        }
    }

    #[test]
    fn inserted_and_missing_media_are_read_from_a_document() {
        let drives = compare_drives(&wanted(), &DOCUMENT.replace("ORDER", "1"));

        assert_eq!(drives.inside.len(), 1);
        assert_eq!((drives.inside[0].drive.as_str(), drives.inside[0].kind), ("sda", MediumKind::Boots));
        assert_eq!(drives.missing[0].what, "pots_pot1-cidata.iso");
        assert!(!drives.boots_cd);
        let pooled = DOCUMENT.replace("file='/isos/talos.iso'", "pool='isos' volume='talos.iso'");
        assert_eq!(compare_drives(&wanted(), &pooled).inside[0].kind, MediumKind::Boots);
    }

    #[test]
    fn a_cd_before_the_disk_in_boot_order_is_booted() {
        assert!(compare_drives(&wanted(), &DOCUMENT.replace("ORDER", "3")).boots_cd);
    }
}
