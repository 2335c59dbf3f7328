//! GRUB on a disk, for machines with a BIOS.
//!
//! The BIOS starts the boot code in the first sector, which loads the first sector of the core image, which loads the rest of it: each
//! has to know where the next one is. The core image then reads [`config`] from the partition that [`PREFIX`] names.
//!
//! Not here: making a core image (the command).

use super::Profile;

/// The folder of the core image's configuration: on the third partition.
pub const PREFIX: &str = "(hd0,gpt3)/grub";

/// The modules of the core image, GRUB's only source of modules.
pub const MODULES: [&str; 21] = [
    "part_gpt",
    "ext2",
    "fat",
    "xfs",
    "normal",
    "configfile",
    "linux",
    "boot",
    "search",
    "search_fs_uuid",
    "search_fs_file",
    "ls",
    "cat",
    "echo",
    "test",
    "help",
    "reboot",
    "halt",
    "all_video",
    "biosdisk",
    "part_msdos",
];

/// The length of the boot code before the MBR's partition table.
const BOOT_CODE: usize = 446;

/// Where the boot code has the sector of the core image, and a jump that is removed for the sake of old machines.
const CORE_SECTOR: usize = 0x5c;
const JUMP: usize = 0x66;

/// Where the core image has the sector of its rest.
const REST_SECTOR: usize = 0x1f4;

/// Letters that GRUB takes for its own.
const SPECIAL: &str = "\\{}&$|;<>\"";

/// Boot code and core image that know where they are.
#[derive(Clone, Debug)]
pub struct GrubLoader {
    /// For the first sector of the disk.
    pub(crate) code: Vec<u8>,
    /// For the partition.
    pub(crate) core: Vec<u8>,
}

/// Why GRUB cannot be installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} of GRUB is too short with {length} bytes; want one for i386-pc")]
pub struct GrubLoaderError {
    what: &'static str,
    length: usize,
}

impl GrubLoader {
    /// GRUB's `boot.img` and a core image for a partition that starts at this sector.
    pub fn for_sector(sector: u64, mut code: Vec<u8>, mut core: Vec<u8>) -> Result<Self, GrubLoaderError> {
        for (what, bytes, least) in [("boot code", &code, BOOT_CODE), ("core image", &core, REST_SECTOR + 8)]
        {
            if bytes.len() < least {
                return Err(GrubLoaderError { what, length: bytes.len() });
            }
        }
        code.truncate(BOOT_CODE);
        code[CORE_SECTOR..CORE_SECTOR + 8].copy_from_slice(&sector.to_le_bytes());
        code[JUMP..JUMP + 2].fill(0x90);
        core[REST_SECTOR..REST_SECTOR + 8].copy_from_slice(&(sector + 1).to_le_bytes());
        Ok(Self { code, core })
    }
}

/// The menu of a disk with an installation of Talos. Talos reads it again, and rewrites it on an upgrade.
pub fn config(profile: &Profile) -> String {
    let name = format!("A - Talos {}", profile.talos);
    let line = quote(&profile.line.to_string());
    let entry = |name: &str, line: &str| {
        format!(
            "menuentry \"{name}\" {{\n  set gfxmode=auto\n  set gfxpayload=text\n  linux /{KERNEL} {line}\n  initrd /{INITRAMFS}\n}}\n"
        )
    };
    let reset = format!("{line} talos.experimental.wipe=system:EPHEMERAL,STATE");
    let [start, reset] =
        [entry(&name, &line), entry("Reset Talos installation and return to maintenance mode", &reset)];
    format!(
        "set default=\"{name}\"\n\nset timeout=3\n\ninsmod all_video\n\nterminal_input console\nterminal_output console\n\n{start}{reset}"
    )
}

/// The paths of kernel, initramfs and menu on the boot partition.
pub(crate) const KERNEL: &str = "A/vmlinuz";
/// The first file system.
pub(crate) const INITRAMFS: &str = "A/initramfs.xz";
/// The menu.
pub(crate) const CONFIG: &str = "grub/grub.cfg";

/// A command line, quoted for GRUB.
pub fn quote(line: &str) -> String {
    let mut quoted = String::with_capacity(line.len());
    for letter in line.chars() {
        if SPECIAL.contains(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted
}
