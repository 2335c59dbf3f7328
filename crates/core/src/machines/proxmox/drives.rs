//! The contents of a machine's drives, from its settings.

use std::collections::BTreeMap;

use super::DesiredVm;
use super::desired_vm::DISK;
use crate::machines::drives::Drives;

/// Compares the drives in a machine's settings with those of the desired machine.
pub fn compare_drives(wanted: &DesiredVm, settings: &BTreeMap<String, String>) -> Drives {
    let inside = settings.iter().filter(|(_, value)| value.split(',').any(|part| part == "media=cdrom"));
    let inside = inside.filter_map(|(drive, value)| {
        let volume = value.split(',').next()?;
        (volume != "none").then(|| (drive.clone(), volume.trim_start_matches("file=").to_owned()))
    });
    let files = wanted.drives.iter().map(|drive| (Some(drive.name), drive.volume.clone(), &drive.medium));
    let drives = Drives::compare(inside, files);
    let boots_cd = settings.get("boot").is_some_and(|boot| {
        let order = boot.split_once("order=").map_or("", |(_, order)| order);
        order.split(';').take_while(|device| *device != DISK).any(|device| drives.is_occupied(device))
    });
    Drives { boots_cd, ..drives }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::drives::MediumKind;
    use crate::machines::proxmox::desired_vm::VmDrive;
    use crate::render::hypervisor::medium::{Medium, MediumSource};
    use crate::render::hypervisor::uuid::VmUuid;

    fn wanted() -> DesiredVm {
        let drive = |name, file: &str, boots| {
            let medium = Medium {
                name: file.to_owned(),
                source: MediumSource::Made(file.to_owned()),
                boots,
                own: !boots,
            };
            VmDrive { name, volume: format!("local:iso/{file}"), medium }
        };
        DesiredVm {
            node: "cp1".to_owned(),
            is_control_plane: true,
            id: None,
            host: None,
            uuid: VmUuid::new("sol", "cp1"),
            settings: Vec::new(),
            drives: vec![drive("ide2", "talos.iso", true), drive("ide0", "sol_cp1-cidata.iso", false)],
            image: None,
            disk: 32,
            storage: "local-lvm".to_owned(),
            bridge: "vmbr0".to_owned(),
            pool: None,
            macs: Vec::new(),
            has_agent: false,
        }
    }

    fn settings(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn media_are_recognised_as_inserted_missing_or_foreign() {
        let drives = compare_drives(
            &wanted(),
            &settings(&[
                ("boot", "order=scsi0;ide2"),
                ("ide0", "none,media=cdrom"),
                ("ide2", "local:iso/talos.iso,media=cdrom,size=180M"),
                ("ide3", "local:iso/windows.iso,media=cdrom"),
                ("scsi0", "local-lvm:vm-311-disk-0,size=32G"),
            ]),
        );

        let kinds: Vec<_> = drives.inside.iter().map(|it| (it.drive.as_str(), it.kind)).collect();
        assert_eq!(kinds, [("ide2", MediumKind::Boots), ("ide3", MediumKind::Foreign)]);
        assert_eq!(drives.missing.len(), 1);
        assert_eq!(
            (drives.missing[0].what.as_str(), drives.missing[0].kind),
            ("local:iso/sol_cp1-cidata.iso", MediumKind::Carries)
        );
        assert!(!drives.boots_cd);
    }

    #[test]
    fn a_cd_before_the_disk_is_booted_only_if_inserted() {
        let order = ("boot", "order=ide2;scsi0");

        assert!(
            compare_drives(&wanted(), &settings(&[order, ("ide2", "local:iso/talos.iso,media=cdrom")]))
                .boots_cd
        );
        assert!(!compare_drives(&wanted(), &settings(&[order, ("ide2", "none,media=cdrom")])).boots_cd);
    }
}
