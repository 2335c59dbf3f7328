//! A profile, and parts that are short.

use ichor_image::build::{BootAssets, GrubCd, Profile};
use ichor_image::media::Content;
use ichor_image::oci::{FileTree, TreeEntry};
use ichor_talos::kernel_args::Line;
use ichor_talos::meta::Value;
use ichor_values::Arch;
use ichor_values::TalosVersion;

pub fn profile(platform: &str) -> Profile {
    let talos = TalosVersion::parse("v1.13.9").unwrap();
    let line = Line::defaults(&talos, platform, "amd64");
    let meta = vec![Value { key: 10, value: "addresses: []\n".to_owned() }];
    Profile { talos, arch: Arch::Amd64, platform: platform.to_owned(), line, meta, embedded: None }
}

/// A kernel that says its version, as those for x86 do.
pub fn kernel(version: &str) -> Vec<u8> {
    let mut bytes = vec![0; 0x200 * 5];
    bytes[0x1f1] = 4;
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    bytes[0x20e..0x210].copy_from_slice(&0x300_u16.to_le_bytes());
    let text = format!("{version} (somebody@somewhere) #1 SMP\0");
    bytes[0x500..0x500 + text.len()].copy_from_slice(text.as_bytes());
    bytes
}

/// The shortest program for UEFI that sections can be put behind.
fn stub() -> Vec<u8> {
    let mut bytes = b"MZ".to_vec();
    bytes.resize(0x3c, 0);
    bytes.extend([0x40, 0, 0, 0]);
    bytes.extend(b"PE\0\0\x64\x86\x01\0");
    bytes.resize(0x54, 0);
    bytes.extend([240, 0, 0, 0]);
    let mut optional = vec![0; 240];
    (optional[0], optional[1], optional[33], optional[37]) = (0x0b, 2, 0x10, 2);
    bytes.extend(optional);
    bytes.extend(b".sdmagic");
    for number in [16_u32, 0x1000, 0x200, 0x200, 0, 0, 0, 0x4000_0040] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.resize(0x400, 7);
    bytes
}

pub fn parts() -> BootAssets {
    BootAssets {
        kernel: kernel("6.18.5-talos").into(),
        initramfs: Content::from(vec![2; 100_000]),
        stub: Some(stub().into()),
        loader: Some(vec![3; 70_000].into()),
        grub: None,
    }
}

/// GRUB for a CD that boots nothing.
pub fn grub() -> GrubCd {
    let mut files = FileTree::default();
    files.put("boot/grub/fonts/unicode.pf2", TreeEntry::file(0o444, vec![6; 9000]));
    files.put("boot/grub/i386-pc/normal.mod", TreeEntry::file(0o444, vec![5; 3000]));
    GrubCd { image: vec![4; 40_000].into(), record: Some(vec![7; 512].into()), files }
}
