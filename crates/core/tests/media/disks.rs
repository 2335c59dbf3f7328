//! Our disks, read back by our reader: partitions, QEMU images, archives for Google Cloud.

use std::io::{Cursor, Read as _};
use std::sync::Arc;

use ichor_image::media::{
    Content, Disk, DiskError, Guid, Image, NewPartition, PartitionAttribute, PartitionScheme, Partitions,
    Qcow2, qcow2, sparse_tar,
};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

/// A disk like Talos', with smaller partitions.
pub fn disk() -> Disk {
    let partition = |label, kind, length, content: Content| NewPartition {
        label,
        kind,
        guid: Guid::from_label(label),
        attribute: None,
        length,
        content,
    };
    let bios = partition("BIOS", Guid::BIOS, MIB, b"core".into());
    Disk {
        size: 16 * MIB,
        guid: Guid::from_label("talos-image-disk"),
        boot_code: Some(vec![0x90; 446]),
        partitions: vec![
            partition("EFI", Guid::EFI, 5 * MIB + 512, Content::from_image(Arc::new(vec![1; 3_000_001]))),
            NewPartition { attribute: Some(PartitionAttribute::LegacyBoot), ..bios },
            partition("META", Guid::LINUX, MIB, vec![3; 1 << 20].into()),
        ],
    }
}

#[test]
fn a_disk_is_read_back_by_its_backup_table() {
    let content = disk().write().unwrap();
    let mut broken = content.read().unwrap();
    broken[512..1024].fill(0);

    for image in [&content as &dyn Image, &broken] {
        let found = Partitions::find_in(image).unwrap().unwrap();

        found.check().unwrap();
        assert_eq!(found.scheme, PartitionScheme::Gpt);
        let labels: Vec<(usize, &str, u64)> =
            found.list.iter().map(|one| (one.number, one.label.as_str(), one.length())).collect();
        assert_eq!(labels, [(1, "EFI", 5 * MIB + 512), (2, "BIOS", MIB), (3, "META", MIB)]);
        for (one, new) in found.list.iter().zip(disk().partitions) {
            let mut bytes = vec![0; usize::try_from(new.content.len()).unwrap()];
            one.window(image).unwrap().read_at(0, &mut bytes).unwrap();
            assert_eq!(bytes, new.content.read().unwrap(), "{}", one.label);
        }
    }
    assert_eq!(content.len(), 16 * MIB);
    assert_eq!(disk().starts(), [MIB, 7 * MIB, 8 * MIB]);
}

#[test]
fn guids_are_those_of_the_imager() {
    assert_eq!(Guid::from_label("EFI").to_string(), "bca5174b-0118-8a6a-af0b-2c6e1585acae");
    assert_eq!(Guid::from_label("talos-image-disk").to_string(), "d92d45b3-cde9-8760-be9f-a2a71fac8d11");
    assert_eq!(Guid::EFI.to_string(), "c12a7328-f81f-11d2-ba4b-00a0c93ec93b");
}

#[test]
fn contents_that_do_not_fit_are_rejected() {
    let with = |change: &dyn Fn(&mut Disk)| {
        let mut disk = disk();
        change(&mut disk);
        disk.write().map(|content| content.len()).unwrap_err()
    };

    assert_eq!(with(&|disk| disk.size += 1), DiskError::Size(16 * MIB + 1));
    // The backup table and its header are after the last partition.
    assert_eq!(
        with(&|disk| disk.size = 9 * MIB + 32 * 512),
        DiskError::Full { needed: 9 * MIB + 33 * 512, size: 9 * MIB + 32 * 512 }
    );
    let mut exact = disk();
    exact.size = 9 * MIB + 33 * 512;
    assert!(exact.write().is_ok());
    assert_eq!(
        with(&|disk| disk.partitions[2].length -= 512),
        DiskError::Long { label: "META", length: MIB - 512, content: MIB }
    );
    assert_eq!(with(&|disk| disk.boot_code = Some(vec![0; 447])), DiskError::BootCode(447));
    let long = "thirty-seven letters are one too many";
    assert_eq!(with(&|disk| disk.partitions[0].label = long), DiskError::Label(long.to_owned()));
    assert_eq!(with(&|disk| disk.partitions = vec![disk.partitions[1].clone(); 129]), DiskError::Many(129));
}

fn as_qcow2(content: &Content) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    qcow2::write(content, &mut out).unwrap();
    out.into_inner()
}

#[test]
fn a_qcow2_image_is_sparse() {
    let content = disk().write().unwrap();

    let image = as_qcow2(&content);

    let found = Qcow2::find_in(&image).unwrap().unwrap();
    assert_eq!(found.size(), content.len());
    let mut bytes = vec![0; usize::try_from(found.size()).unwrap()];
    found.read_at(0, &mut bytes).unwrap();
    assert!(Content::from(bytes) == content);
    // Header, two tables, counts and their table; the first cluster of the disk, EFI, BIOS, META, the last cluster.
    assert_eq!(image.len() >> 16, 5 + 1 + 46 + 1 + 16 + 1);
    assert_eq!(as_qcow2(&content), image);
}

fn as_tar(content: &Content) -> Vec<u8> {
    let mut out = Vec::new();
    sparse_tar::write("disk.raw", content, 1_700_000_000, &mut out).unwrap();
    out
}

#[test]
fn an_archive_is_sparse() {
    let content = disk().write().unwrap();

    let archive = as_tar(&content);

    assert!(archive.len() < 5 << 20, "{}", archive.len());
    assert_eq!(&archive[..9], b"disk.raw\0");
}

/// The contents at the ends of a disk too large for a size in octal digits.
#[test]
fn an_archive_of_a_large_disk_has_its_size() {
    let mut content = Content::from(b"first");
    content.pad_to(12 << 30);
    content.push(b"last");
    content.align(512);

    let archive = as_tar(&content);

    let mut found = tar::Archive::new(archive.as_slice());
    let entry = found.entries().unwrap().next().unwrap().unwrap();
    assert_eq!((entry.size(), entry.header().mtime().unwrap()), ((12 << 30) + 512, 1_700_000_000));
    assert_eq!(archive.len(), 512 + 2 * 512 + 1024);
}

proptest! {
    #[test]
    fn arbitrary_extents_are_read_back(
        stretches in proptest::collection::vec((any::<bool>(), 1..200_000_u64), 0..40),
    ) {
        let mut content = Content::default();
        for (nth, (hole, length)) in stretches.iter().enumerate() {
            let there = vec![nth.to_le_bytes()[0] + 1; usize::try_from(*length).unwrap()];
            content.push(if *hole { Content::zeros(*length) } else { there.into() });
        }
        content.align(512);

        let image = as_qcow2(&content);
        let found = Qcow2::find_in(&image).unwrap().unwrap();
        let mut bytes = vec![0; usize::try_from(found.size()).unwrap()];
        found.read_at(0, &mut bytes).unwrap();
        prop_assert!(Content::from(bytes) == content);

        let archive = as_tar(&content);
        let mut bytes = Vec::new();
        let mut found = tar::Archive::new(archive.as_slice());
        found.entries().unwrap().next().unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        prop_assert!(Content::from(bytes) == content);
    }
}
