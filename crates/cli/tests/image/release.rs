//! A miniature Talos release: files of the right format that cannot run.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use ichor_image::media::squashfs;
use ichor_image::media::uki::{Section, write as uki};
use ichor_image::oci::{FileTree, ImageLayout, MemoryStore, NewImage, TreeEntry, layer};
use ichor_values::Arch;

/// The kernel of the release.
pub const KERNEL: &str = "6.18.5-talos";

/// Machine types in PE and ELF headers.
const AMD64: (u16, u16) = (0x8664, 62);
const ARM64: (u16, u16) = (0xaa64, 183);

fn machine(arch: Arch) -> (u16, u16) {
    if arch == Arch::Amd64 { AMD64 } else { ARM64 }
}

fn short(length: usize) -> u32 {
    length.try_into().unwrap()
}

/// A kernel image with a version header, as for x86.
pub fn kernel(version: &str) -> Vec<u8> {
    let mut bytes = vec![0x5a; 0x6000];
    bytes[0x1f1] = 4;
    bytes[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    bytes[0x20e..0x210].copy_from_slice(&0x300_u16.to_le_bytes());
    let text = format!("{version} (talos@buildkitsandbox) #1 SMP\0");
    bytes[0x500..0x500 + text.len()].copy_from_slice(text.as_bytes());
    bytes
}

/// A kernel image for arm64, whose version is in its banner.
pub fn arm64_kernel(version: &str) -> Vec<u8> {
    let mut bytes = vec![0x5a; 0x3000];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[0x38..0x3c].copy_from_slice(b"ARM\x64");
    bytes.extend(format!("Linux version {version} (talos@buildkitsandbox) #1 SMP\0").as_bytes());
    bytes
}

/// A UEFI program with the name of its systemd component.
pub fn program(arch: Arch, what: &str) -> Vec<u8> {
    let info = format!("#### LoaderInfo: {what} 259.1 ####\0");
    let mut bytes = b"MZ".to_vec();
    bytes.resize(0x3c, 0);
    bytes.extend(0x40_u32.to_le_bytes());
    bytes.extend(b"PE\0\0");
    bytes.extend(machine(arch).0.to_le_bytes());
    bytes.extend(2_u16.to_le_bytes());
    bytes.extend([0; 12]);
    bytes.extend([240, 0, 0x2e, 2]);
    let mut optional = vec![0; 240];
    optional[..2].copy_from_slice(&[0x0b, 2]);
    optional[33] = 0x10;
    optional[37] = 2;
    bytes.extend(optional);
    for (nth, (name, length)) in (0_u32..).zip([(b".text\0\0\0", 0x100), (b".sdmagic", short(info.len()))]) {
        bytes.extend(name);
        for number in [length, 0x4000 + nth * 0x1000, 0x200, 0x400 + nth * 0x200, 0, 0, 0, 0x4000_0040] {
            bytes.extend(number.to_le_bytes());
        }
    }
    bytes.resize(0x600, 0x90);
    bytes.extend(info.as_bytes());
    bytes.resize(0x800, 0);
    bytes
}

/// An entry of a cpio archive, or its trailer.
fn member(name: &str, mode: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = b"070701".to_vec();
    let numbers = [1, mode, 0, 0, 1, 0, short(content.len()), 0, 0, 0, 0, short(name.len() + 1), 0];
    bytes.extend(numbers.iter().flat_map(|number| format!("{number:08X}").into_bytes()));
    bytes.extend(name.as_bytes());
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// An initramfs with the root file system of a release: init, os-release and kernel modules.
pub fn initramfs(arch: Arch, talos: &str, kernel: &str) -> Vec<u8> {
    let mut root = FileTree::default();
    root.put(
        "etc/os-release",
        TreeEntry::file(0o644, format!("ID=talos\nVERSION_ID={talos}\n").into_bytes()),
    );
    root.put(&format!("usr/lib/modules/{kernel}/modules.order"), TreeEntry::file(0o644, b""));
    let mut init = b"\x7fELF\x02\x01\x01".to_vec();
    init.resize(16, 0);
    init.extend([2, 0]);
    init.extend(machine(arch).1.to_le_bytes());
    init.resize(64, 0);
    root.put("usr/bin/init", TreeEntry::file(0o755, init.clone()));
    let mut squashed = Cursor::new(Vec::new());
    squashfs::write(&root, "", &mut squashed, &squashfs::compress_in_order).unwrap();
    let archive = [
        member(".", 0o040_755, b""),
        member("init", 0o100_755, &init),
        member("rootfs.sqsh", 0o100_644, &squashed.into_inner()),
        member("TRAILER!!!", 0, b""),
    ];
    zstd::encode_all(archive.concat().as_slice(), 3).unwrap()
}

/// The unified kernel image of a release.
pub fn kernel_image(arch: Arch, talos: &str) -> Vec<u8> {
    let kernel = if arch == Arch::Amd64 { kernel(KERNEL) } else { arm64_kernel(KERNEL) };
    let sections = [
        Section::new(".osrel", format!("NAME=\"Talos\"\nID=talos\nVERSION_ID={talos}\n").as_bytes()),
        Section::new(".cmdline", b"talos.platform=metal"),
        Section::new(".linux", kernel),
        Section::new(".initrd", initramfs(arch, talos, KERNEL)),
    ];
    uki(&program(arch, "systemd-stub").into(), &sections, 0).unwrap().read().unwrap()
}

/// Writes kernel and initramfs of a release to a folder.
pub fn files(folder: &Path, talos: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("vmlinuz-amd64"), kernel(KERNEL)).unwrap();
    fs::write(folder.join("initramfs-amd64.xz"), initramfs(Arch::Amd64, talos, KERNEL)).unwrap();
    fs::write(folder.join("initramfs-arm64.xz"), "for other machines").unwrap();
    fs::write(folder.join("sha256sum.txt"), "of no use").unwrap();
}

/// Writes an image as an OCI archive.
pub fn archive(path: &Path, arch: Arch, files: &[(&str, Vec<u8>)]) {
    let mut bytes = Vec::new();
    layout(arch, files).archive(&mut bytes).unwrap();
    fs::write(path, bytes).unwrap();
}

/// An image of one layer.
pub fn layout(arch: Arch, files: &[(&str, Vec<u8>)]) -> ImageLayout {
    let mut root = FileTree::default();
    for (path, bytes) in files {
        root.put(path, TreeEntry::file(0o755, bytes.clone()));
    }
    let layer = layer(&root, &mut MemoryStore::default()).unwrap();
    let packed = NewImage::single_layer(arch, layer, ichor_values::Moment::from_unix(0).unwrap());
    ImageLayout::pack(&[packed], "1")
}

/// The image of Talos' imager: all assets of a release except GRUB.
pub fn imager(path: &Path, talos: &str) {
    let arch = Arch::Amd64;
    let files = [
        ("usr/install/amd64/vmlinuz", kernel(KERNEL)),
        ("usr/install/amd64/initramfs.xz", initramfs(arch, talos, KERNEL)),
        ("usr/install/amd64/systemd-stub.efi", program(arch, "systemd-stub")),
        ("usr/install/amd64/systemd-boot.efi", program(arch, "systemd-boot")),
        ("usr/bin/imager", b"imager".to_vec()),
    ];
    archive(path, arch, &files);
}

/// The installer image without boot files.
pub fn installer_base(path: &Path) {
    archive(path, Arch::Amd64, &[("usr/bin/installer", b"installer".to_vec())]);
}

/// An extension with one file.
pub fn extension(path: &Path, name: &str, file: &str) {
    let file = format!("usr/local/{file}");
    let files = extension_files(name, &[(&file, format!("a file of {name}").into_bytes())]);
    archive(path, Arch::Amd64, &borrowed(&files));
}

/// The same extension as an image in memory.
pub fn extension_layout(name: &str, file: &str) -> ImageLayout {
    let file = format!("usr/local/{file}");
    let files = extension_files(name, &[(&file, format!("a file of {name}").into_bytes())]);
    layout(Arch::Amd64, &borrowed(&files))
}

/// An extension with a kernel module for an architecture.
pub fn modules(path: &Path, arch: Arch, name: &str, kernel: &str) {
    let folder = format!("usr/lib/modules/{kernel}");
    let (file, list) = (format!("{folder}/extras/{name}.ko"), format!("{folder}/modules.dep"));
    let files = extension_files(name, &[(&file, module(name, kernel)), (&list, b"of its build".to_vec())]);
    archive(path, arch, &borrowed(&files));
}

fn borrowed(files: &[(String, Vec<u8>)]) -> Vec<(&str, Vec<u8>)> {
    files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone())).collect()
}

fn extension_files(name: &str, files: &[(&str, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let manifest = format!(
        "version: v1alpha1\nmetadata:\n    name: {name}\n    version: 1.2.3\n    author: somebody\n    description: a test\n    \
         compatibility:\n        talos:\n            version: \">= v1.11.0\"\n"
    );
    let files = files.iter().map(|(path, bytes)| (format!("rootfs/{path}"), bytes.clone()));
    [("manifest.yaml".to_owned(), manifest.into_bytes())].into_iter().chain(files).collect()
}

/// An empty kernel module with metadata.
pub fn module(name: &str, kernel: &str) -> Vec<u8> {
    let texts = [format!("alias=pci:{name}*"), format!("name={name}"), format!("vermagic={kernel} SMP")];
    let about: Vec<u8> = texts.iter().flat_map(|text| [text.as_bytes(), b"\0"].concat()).collect();
    let names = b"\0.modinfo\0.shstrtab\0";
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    // A relocatable ELF file for amd64.
    for number in [1_u16, 62, 1, 0] {
        bytes.extend(number.to_le_bytes());
    }
    let table = 64 + about.len() + names.len();
    for number in [0, 0, table as u64] {
        bytes.extend(number.to_le_bytes());
    }
    for number in [0_u16, 0, 64, 0, 0, 64, 3, 2] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(&about);
    bytes.extend(names);
    bytes.extend([0; 64]);
    for (name, kind, start, length) in
        [(1_u32, 1_u32, 64, about.len()), (10, 3, 64 + about.len(), names.len())]
    {
        bytes.extend([name, kind].map(u32::to_le_bytes).concat());
        for number in [0, 0, start as u64, length as u64, 0, 1, 0] {
            bytes.extend(number.to_le_bytes());
        }
    }
    bytes
}
