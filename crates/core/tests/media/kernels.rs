//! Unified kernel images: written, read back, split and reassembled.

use std::sync::Arc;

use ichor_image::media::uki::{Section, StubError, Uki, UkiProfile, command_line, write};
use ichor_image::media::{Content, ImageError};
use proptest::prelude::*;

/// A stub like systemd's: code, data, uninitialised memory and relocations; `room` is the load address of the first section.
pub fn stub(room: u32) -> Vec<u8> {
    let parts: [(&[u8], u32, u32, u32); 4] = [
        (b".text", 0x1234, 0x1400, 0x6000_0020),
        (b".data", 0x40, 0x200, 0xc000_0040),
        (b".bss", 0x2000, 0, 0xc000_0080),
        (b".sbat", 0x33, 0x200, 0x4000_0040),
    ];
    let mut bytes = b"MZ".to_vec();
    bytes.resize(0x3c, 0);
    bytes.extend(0x78_u32.to_le_bytes());
    bytes.resize(0x78, 0x90);
    bytes.extend(b"PE\0\0");
    bytes.extend([0x64, 0x86, 4, 0]);
    bytes.extend([1; 12]);
    bytes.extend([240, 0, 0x2e, 2]);
    let mut optional = vec![0; 240];
    optional[..4].copy_from_slice(&[0x0b, 2, 2, 40]);
    optional[33] = 0x10;
    optional[37] = 2;
    optional[64..68].fill(9);
    optional[144..152].fill(7);
    bytes.extend(optional);
    let (mut address, mut start) = (room, 0x400_u32);
    for (name, memory, written, flags) in parts {
        let at = bytes.len();
        bytes.extend(name);
        bytes.resize(at + 8, 0);
        for number in [memory, address, written, if written == 0 { u32::MAX } else { start }, 0, 0, 0, flags]
        {
            bytes.extend(number.to_le_bytes());
        }
        address = (address + memory).next_multiple_of(0x1000);
        start += written;
    }
    bytes.resize(0x400, 0);
    for (nth, (_, _, written, _)) in parts.iter().enumerate() {
        bytes.resize(bytes.len() + *written as usize, nth.to_le_bytes()[0] + 1);
    }
    bytes
}

fn sections() -> Vec<Section> {
    vec![
        Section::new(".osrel", b"ID=talos\n"),
        Section::new(".cmdline", b"talos.platform=metal"),
        Section::new(".linux", Content::from_image(Arc::new(vec![3; 70_000]))),
        Section::new(".initrd", Content::from_image(Arc::new(vec![4; 0x2000]))),
        Section::new(".profile", b"ID=main"),
        Section::new(".profile", b"ID=reset\nTITLE=Reset system disk"),
        Section::new(".cmdline", b"talos.platform=metal talos.experimental.wipe=system"),
    ]
}

fn low32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[test]
fn an_image_has_the_headers_of_the_talos_imager() {
    let image = write(&stub(0x1000).into(), &sections(), 0x1234_5678).unwrap().read().unwrap();

    assert_eq!(low32(&image, 0x3c), 0x80);
    assert!(image[0x40..0x80].iter().all(|byte| *byte == 0) && image[0x80..].starts_with(b"PE\0\0"));
    assert_eq!((image[0x86], low32(&image, 0x88)), (11, 0x1234_5678));
    assert_eq!((low32(&image, 0x8c), low32(&image, 0x90)), (0, 0), "symbols");
    let optional = &image[0x98..];
    assert_eq!(optional[2..4], [0, 0], "version of a linker");
    let headers = (0x98 + 240 + 11 * 40_u32).next_multiple_of(0x200);
    // The stub's sections and the added ones, in whole sectors.
    let data = 0x200 + 0x200 + 0x200 * 5 + 70_144 + 0x2000;
    assert_eq!((low32(optional, 4), low32(optional, 8)), (0x1400, data), "code and data");
    assert_eq!((low32(optional, 60), low32(optional, 64)), (headers, 0), "headers and sum");
    assert_eq!((low32(optional, 144), low32(optional, 148)), (0, 0), "signature");
    // The stub ends at 0x6033 in memory. Seven more sections start at page boundaries; the kernel has eighteen pages, the initramfs two.
    assert_eq!(low32(optional, 56), 0x7000 + (5 + 18 + 2) * 0x1000);
    let list = &optional[240..];
    let cmdline = &list[5 * 40..6 * 40];
    assert!(cmdline.starts_with(b".cmdline"));
    assert_eq!([8, 12, 16, 36].map(|at| low32(cmdline, at)), [20, 0x8000, 0x200, 0x4000_0040]);
    let mut at = headers;
    for section in list[..11 * 40].chunks(40) {
        assert_eq!(low32(section, 20), at, "sections follow each other");
        at += low32(section, 16);
    }
    assert_eq!(image.len(), at as usize);
}

#[test]
fn an_image_is_split_into_its_sections() {
    let content = write(&stub(0x1000).into(), &sections(), 0).unwrap();

    let found = Uki::find_in(&content).unwrap().unwrap();

    assert_eq!(found.sections()[4..], sections());
    assert_eq!(found.first(".sbat").unwrap().read().unwrap(), [4; 0x33]);
    assert_eq!(found.first(".bss").unwrap().len(), 0);
    let entry = |id: &str, title: Option<&str>, line: Option<&str>| UkiProfile {
        id: id.to_owned(),
        title: title.map(str::to_owned),
        command_line: line.map(str::to_owned),
    };
    let line = Some("talos.platform=metal talos.experimental.wipe=system");
    assert_eq!(
        found.menu().unwrap(),
        [entry("main", None, None), entry("reset", Some("Reset system disk"), line)]
    );
    assert_eq!(command_line(&content).unwrap().unwrap(), "talos.platform=metal");
}

#[test]
fn the_stub_of_an_image_makes_the_same_image() {
    let content = write(&stub(0x1000).into(), &sections(), 5).unwrap();

    let taken = Uki::find_in(&content).unwrap().unwrap().stub().unwrap();

    assert!(Uki::find_in(&taken).unwrap().is_none());
    assert_eq!(write(&taken, &sections(), 5).unwrap(), content);
}

#[test]
fn other_files_are_rejected_as_stub() {
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = stub(0x1000);
        change(&mut bytes);
        write(&bytes.into(), &sections(), 0)
    };

    assert!(matches!(write(&b"#!/bin/sh".into(), &[], 0), Err(StubError::Other)));
    assert!(matches!(with(&|bytes| bytes[0x90] = 0x0b ^ 1), Err(StubError::Other)), "32 bits");
    assert!(matches!(with(&|bytes| bytes[0x90 + 33] = 0x30), Err(StubError::Broken("alignment"))));
    assert!(matches!(
        with(&|bytes| bytes.truncate(0x500)),
        Err(StubError::Read(ImageError::Short("sections")))
    ));
    assert!(matches!(write(&stub(0x200).into(), &sections(), 0), Err(StubError::Many(11))));
    let named = |name: &str| write(&stub(0x1000).into(), &[Section::new(name, b"")], 0);
    assert!(
        matches!(named(".too-long"), Err(StubError::Name(_))) && matches!(named(""), Err(StubError::Name(_)))
    );
    let long =
        [Section::new(".linux", Content::zeros(3 << 30)), Section::new(".initrd", Content::zeros(3 << 30))];
    assert!(matches!(write(&stub(0x1000).into(), &long, 0), Err(StubError::Long)));
}

proptest! {
    #[test]
    fn a_corrupt_image_is_read_or_rejected(
        changes in proptest::collection::vec((0..0x400_usize, any::<u8>()), 1..20),
        length in 0..0x3000_usize,
    ) {
        let mut image = write(&stub(0x1000).into(), &sections(), 0).unwrap().read().unwrap();
        for (at, byte) in changes {
            image[at] = byte;
        }
        for image in [image.clone(), image[..length].to_vec()] {
            let content = Content::from(image);
            let _ = (command_line(&content), write(&content, &sections(), 0));
            if let Ok(Some(found)) = Uki::find_in(&content) {
                let _ = (found.menu(), found.stub());
            }
        }
    }
}
