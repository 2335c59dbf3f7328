//! Machines that boot from a disk, a CD or a stick by their own firmware, UEFI or BIOS, emulated by qemu.
//!
//! They boot Debian's kernel with an initramfs of one program: it prints the kernel's command line on the serial console, and
//! powers the machine off.

use std::fs;
use std::path::Path;

use ichor_image::build::BootAssets;

use super::lab::{output_text, script_output};
use super::vm::qemu;

/// Timeout in seconds.
const PATIENCE: u64 = 300;

/// The output of init before the command line.
pub(crate) const BOOTED: &str = "ichor booted with: ";

/// The paths of OVMF's code and its variables.
const OVMF: [&str; 2] = ["/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"];

/// The firmware of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firmware {
    Bios,
    Uefi,
}

/// The boot drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootDrive {
    /// A disk, as an image of this format.
    Disk(&'static str),
    /// A CD.
    Cd,
    /// A stick, with the bytes of a CD.
    Stick,
}

impl BootDrive {
    /// The arguments of qemu for it.
    fn arguments(self, image: &Path) -> Vec<String> {
        let image = image.display();
        let words: Vec<String> = match self {
            Self::Disk(format) => vec![format!("if=virtio,format={format},snapshot=on,file={image}")],
            Self::Cd => vec![
                format!("if=none,id=image,media=cdrom,format=raw,readonly=on,file={image}"),
                "ide-cd,drive=image,bootindex=0".to_owned(),
            ],
            Self::Stick => vec![
                format!("if=none,id=image,format=raw,snapshot=on,file={image}"),
                "qemu-xhci".to_owned(),
                "usb-storage,drive=image,bootindex=0".to_owned(),
            ],
        };
        let options = ["-drive", "-device", "-device"].map(str::to_owned);
        options.into_iter().zip(words).flat_map(|(option, word)| [option, word]).collect()
    }
}

/// Debian's kernel.
pub fn kernel() -> Vec<u8> {
    fs::read(script_output("scripts/lab-vm", "vm").join("kernel")).unwrap()
}

/// A systemd program for UEFI, by its file name.
pub fn systemd(name: &str) -> Vec<u8> {
    fs::read(script_output("scripts/lab-efi", "efi").join(name)).unwrap()
}

/// An initramfs that prints the command line.
pub fn initramfs() -> Vec<u8> {
    let init = format!(
        "#!/bin/busybox sh\n/bin/busybox mount -t proc proc /proc\n\
         /bin/busybox echo \"{BOOTED}$(/bin/busybox cat /proc/cmdline)\"\n/bin/busybox reboot -f\n"
    );
    let busybox = fs::read("/usr/bin/busybox").expect("install it with scripts/tools busybox");
    let mut archive = Vec::new();
    for (name, mode, bytes) in [
        ("bin", 0o40_755, &[][..]),
        ("proc", 0o40_755, &[]),
        ("bin/busybox", 0o100_755, &busybox),
        ("init", 0o100_755, init.as_bytes()),
        ("TRAILER!!!", 0, &[]),
    ] {
        archive.extend(b"070701");
        for number in [1, mode, 0, 0, 1, 0, bytes.len(), 0, 0, 0, 0, name.len() + 1, 0] {
            archive.extend(format!("{number:08x}").as_bytes());
        }
        archive.extend(name.as_bytes());
        archive.push(0);
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend(bytes);
        archive.resize(archive.len().next_multiple_of(4), 0);
    }
    archive
}

/// The command line that a machine boots with from an image.
pub fn boot(firmware: Firmware, image: &Path, drive: BootDrive) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut qemu = qemu(&[], PATIENCE);
    qemu.args(["-machine", "q35", "-m", "512"]);
    if firmware == Firmware::Uefi {
        let variables = folder.path().join("variables");
        fs::copy(OVMF[1], &variables).expect("install it with scripts/tools efi");
        for (file, mode) in [(Path::new(OVMF[0]), "readonly=on,"), (&variables, "")] {
            qemu.arg("-drive").arg(format!("if=pflash,format=raw,{mode}file={}", file.display()));
        }
    }
    qemu.args(drive.arguments(image));
    let output = qemu.output().unwrap();
    let console = output_text(&output);
    let line = console.lines().find_map(|line| line.split_once(BOOTED));
    let (_, line) = line
        .unwrap_or_else(|| panic!("{firmware:?}, {drive:?}: it did not boot: {}\n{console}", output.status));
    line.trim_end().to_owned()
}

/// The parts of a release that they are.
pub fn parts() -> BootAssets {
    BootAssets {
        kernel: kernel().into(),
        initramfs: initramfs().into(),
        stub: Some(systemd("linuxx64.efi.stub").into()),
        loader: Some(systemd("systemd-bootx64.efi").into()),
        grub: None,
    }
}
