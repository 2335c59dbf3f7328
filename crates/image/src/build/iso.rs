//! The ISO: a CD that boots Talos from memory, under UEFI and, with GRUB, under a BIOS.
//!
//! UEFI starts systemd-boot in the EFI system partition, which shows the unified kernel image there: it must have been made with the [`line()`] of an
//! ISO, and with the profiles `main` and `reset`. A BIOS starts GRUB, which boots kernel and initramfs of the CD.

use super::{BootAssets, GrubCd, Profile, esp, grub, grub_cd};
use crate::media::iso9660::{BiosBoot, BootableIso, BootableIsoError};
use crate::media::{Content, fat};
use crate::oci::{FileTree, TreeEntry};
use ichor_talos::kernel_args::Line;
use ichor_talos::release;
use ichor_values::Arch;
use ichor_values::TalosVersion;

/// The kernel argument of the reset entry.
pub(crate) const RESET: &str = "talos.experimental.wipe=system";

/// The configuration of systemd-boot.
const SETTINGS: &str = "timeout 10\n\nsecure-boot-enroll off\n";

/// From 1.14 on the ISO has a read-only random seed: systemd-boot 261 writes one to a medium without a seed, which crashes
/// some firmware.
const SEED: [u8; 32] = [0; 32];
const SEED_SINCE: u16 = 14;

/// The free space of the EFI system partition beside its programs, and the unit of its size.
const ROOM: u64 = 10 << 20;
const STEP: u64 = 1 << 20;

/// The longest label of a volume.
const LONGEST_LABEL: usize = 32;

/// An ISO, and the sizes of its parts.
#[derive(Clone, Debug)]
pub struct Iso {
    /// The ISO.
    pub content: Content,
    /// Its parts with their lengths, which add up to that of the ISO.
    pub sizes: Vec<(&'static str, u64)>,
}

/// Why an ISO cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum IsoError {
    /// There is nothing for UEFI to start.
    #[error(
        "systemd-boot is missing, which an ISO needs; add an official ISO or the image ghcr.io/siderolabs/imager"
    )]
    NoLoader,
    /// The EFI system partition cannot be made.
    #[error("cannot create the EFI system partition")]
    Efi(#[from] fat::FatError),
    /// The CD cannot be made.
    #[error("cannot create the ISO")]
    Disc(#[from] BootableIsoError),
}

/// The kernel arguments of an ISO. An ISO has no META partition: the values are for the installer.
pub fn line(profile: &Profile) -> Line {
    let mut line = profile.line.clone();
    line.halt_if_installed();
    line.carry_meta(&profile.meta);
    line
}

/// The ISO of a profile. The initramfs of the parts is the one that boots, with all its extensions, and so is that in the unified kernel image.
pub fn iso(profile: &Profile, parts: &BootAssets, uki: &Content) -> Result<Iso, IsoError> {
    let loader = parts.loader.as_ref().ok_or(IsoError::NoLoader)?;
    let mut tree = efi_tree(profile, loader, uki);
    let size = ROOM + [loader, uki].map(|program| program.len().next_multiple_of(STEP)).iter().sum::<u64>();
    let efi = fat::tree(esp::LABEL, &tree, size.max(fat::SMALLEST_TREE))?;
    // No other architecture has a BIOS.
    let grub = parts.grub.as_ref().filter(|_| profile.arch == Arch::Amd64);
    if let Some(grub) = grub {
        add_grub(&mut tree, profile, parts, grub);
    }
    let bios = grub.map(|grub| BiosBoot { image: grub_cd::IMAGE, record: grub.record.as_ref() });
    let (label, set) = (label(&profile.talos), set(&profile.talos));
    let disc = BootableIso { label: &label, set: &set, tree: &tree, bios, efi: &efi };
    let content = disc.write()?;
    let sizes = sizes(content.len(), parts, uki, &efi, grub);
    Ok(Iso { content, sizes })
}

/// The files of the EFI system partition; the ISO itself has the same files, as Talos' own does.
fn efi_tree(profile: &Profile, loader: &Content, uki: &Content) -> FileTree {
    let mut tree = esp::tree(profile, loader, uki, SETTINGS);
    if release::at_least(&profile.talos, SEED_SINCE) {
        tree.put("loader/random-seed", TreeEntry::file(0o444, &SEED));
    }
    tree
}

fn add_grub(tree: &mut FileTree, profile: &Profile, parts: &BootAssets, grub: &GrubCd) {
    for (path, entry) in grub.files.iter() {
        tree.put(path, entry.clone());
    }
    tree.put(grub_cd::IMAGE, TreeEntry::file(0o444, grub.image.clone()));
    tree.put(grub_cd::MENU, TreeEntry::file(0o644, menu(&line(profile).to_string()).into_bytes()));
    tree.put("boot/vmlinuz", TreeEntry::file(0o644, parts.kernel.clone()));
    tree.put("boot/initramfs.xz", TreeEntry::file(0o644, parts.initramfs.clone()));
}

/// GRUB's menu: an entry that boots, and one that wipes the installation.
fn menu(line: &str) -> String {
    let entry = |title: &str, line: &str| {
        format!(
            "\nmenuentry \"{title}\" {{\n\tset gfxmode=auto\n\tset gfxpayload=text\n\tlinux /boot/vmlinuz {}\n\tinitrd \
             /boot/initramfs.xz\n}}\n",
            grub::quote(line)
        )
    };
    "set default=0\nset timeout=3\n\ninsmod all_video\n\nterminal_input console\nterminal_output console\n"
        .to_owned()
        + &entry("Talos ISO", line)
        + &entry("Reset Talos installation", &format!("{line} {RESET}"))
}

/// The label of the volume set: Talos and its release.
fn set(talos: &TalosVersion) -> String {
    format!("Talos-{talos}")
}

/// The same in the letters of a volume's label.
fn label(talos: &TalosVersion) -> String {
    let letter = |letter: char| match letter.to_ascii_uppercase() {
        letter @ ('A'..='Z' | '0'..='9') => Some(letter),
        '_' | '-' | '.' => Some('_'),
        _ => None,
    };
    set(talos).chars().filter_map(letter).take(LONGEST_LABEL).collect()
}

fn sizes(
    whole: u64,
    parts: &BootAssets,
    uki: &Content,
    efi: &Content,
    grub: Option<&GrubCd>,
) -> Vec<(&'static str, u64)> {
    let mut sizes = Vec::new();
    if let Some(grub) = grub {
        let files = grub.files.iter().filter_map(|(_, entry)| match &entry.kind {
            crate::oci::EntryKind::File(content) => Some(content.len()),
            _ => None,
        });
        sizes.push(("kernel", parts.kernel.len()));
        sizes.push(("initramfs", parts.initramfs.len()));
        sizes.push(("GRUB", grub.image.len() + files.sum::<u64>()));
    }
    sizes.push(("unified kernel image", uki.len()));
    sizes.push(("EFI system partition", efi.len()));
    let rest = whole.saturating_sub(sizes.iter().map(|(_, size)| size).sum());
    sizes.push(("folders and tables", rest));
    sizes
}
