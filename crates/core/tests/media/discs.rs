//! Bootable ISOs: folders and files are read back unchanged, and boot images are at their declared position.

use ichor_image::media::iso9660::{BiosBoot, BiosBootImage, BootableIso, BootableIsoError};
use ichor_image::media::{
    Content, DirectoryEntry, FileSystem, FileSystemType, Image, PartitionScheme, Partitions, Volume, fat,
};
use ichor_image::oci;
use ichor_image::oci::FileTree;
use ichor_talos::digest::sha256;

use crate::media::volumes::noise;

pub const GRUB: &str = "boot/grub/i386-pc/eltorito.img";

/// A tree with nested folders, names of all kinds, and folders that are longer than a sector.
pub fn tree() -> FileTree {
    let mut root = FileTree::default();
    let mut file = |path: &str, length: usize| {
        root.put(path, oci::TreeEntry::file(0o644, noise(length, path.len() as u64)));
    };
    file("boot/vmlinuz", 70_001);
    file("boot/initramfs.xz", 131_072);
    file("boot/grub/grub.cfg", 300);
    file(GRUB, 46_981);
    file("EFI/BOOT/BOOTX64.EFI", 2048);
    file("EFI/Linux/Talos-v1.13.9.efi", 4097);
    file("loader/random-seed", 32);
    file("empty", 0);
    file("a.b/c", 1);
    file("a-b/c", 2);
    file("a/b/c/d/e/f/g/deepest", 3);
    file(&format!("names/{}", "n".repeat(110)), 4);
    for nth in 0..60 {
        file(&format!("names/a name, no less: {nth}.mod"), nth);
    }
    root.put("nothing", oci::TreeEntry::folder());
    root.put("loader/secret", oci::TreeEntry::file(0o400, b"s"));
    root
}

/// A file system, and a boot record.
pub fn efi() -> Content {
    let files = vec![("marker", &b"the EFI system partition"[..])];
    fat::write(&Volume::new("EFI", files).unwrap()).into()
}

pub fn record() -> Content {
    noise(512, 7).into()
}

pub fn disc<'a>(tree: &'a FileTree, efi: &'a Content, record: Option<&'a Content>) -> BootableIso<'a> {
    let bios = Some(BiosBoot { image: GRUB, record });
    BootableIso { label: "TALOS_V1_13_9", set: "Talos-v1.13.9", tree, bios, efi }
}

/// All contents of a file system, as found by the reader.
fn found(found: &FileSystem, image: &Content) -> FileTree {
    let mut root = FileTree::default();
    let mut folders = vec![(String::new(), found.files.clone())];
    while let Some((above, entries)) = folders.pop() {
        for entry in entries {
            let path = format!("{above}{}", entry.name);
            if entry.folder {
                root.put(&path, oci::TreeEntry::folder());
                folders.push((path + "/", found.list(image, &entry).unwrap()));
            } else {
                root.put(&path, oci::TreeEntry::file(0o644, found.content(image, &entry).unwrap()));
            }
        }
    }
    root
}

/// The same without modes, which the reader does not report, and without generated files.
fn plain(root: &FileTree) -> FileTree {
    let mut plain = FileTree::default();
    for (path, entry) in root.iter().filter(|(path, _)| *path != GRUB) {
        let mode = if entry.kind == oci::EntryKind::Folder { 0o755 } else { 0o644 };
        plain.put(path, oci::TreeEntry { mode, ..entry.clone() });
    }
    plain
}

fn low32(image: &Content, offset: u64) -> u32 {
    let mut bytes = [0; 4];
    image.read_at(offset, &mut bytes).unwrap();
    u32::from_le_bytes(bytes)
}

#[test]
fn folders_and_files_are_read_back_unchanged() {
    let (tree, efi) = (tree(), efi());

    let cd = disc(&tree, &efi, None).write().unwrap();

    let system = FileSystem::open(&cd).unwrap();
    assert_eq!((system.kind, system.label.as_str()), (FileSystemType::Iso9660, "TALOS_V1_13_9"));
    let read = found(&system, &cd);
    let paths = |root: &FileTree| root.iter().map(|(path, _)| path.to_owned()).collect::<Vec<_>>();
    assert_eq!(paths(&read), paths(&tree));
    assert_eq!(plain(&read), plain(&tree));
    assert_eq!(u64::from(low32(&cd, 16 * 2048 + 80)) * 2048, cd.len());
}

#[test]
fn grub_is_patched_with_its_position_and_found_again() {
    let (tree, efi, record) = (tree(), efi(), record());

    let cd = disc(&tree, &efi, Some(&record)).write().unwrap();

    let boot = BiosBootImage::find_in(&cd).unwrap().unwrap();
    let (new, old) = (boot.image.read().unwrap(), tree.file(GRUB).unwrap().read().unwrap());
    assert_eq!(new.len(), old.len());
    assert!(new[..8] == old[..8] && new[64..0x9f4] == old[64..0x9f4] && new[0x9fc..] == old[0x9fc..]);
    let number = |at: usize| u32::from_le_bytes(new[at..at + 4].try_into().unwrap());
    let system = FileSystem::open(&cd).unwrap();
    let entry: DirectoryEntry = system.find_path(&cd, GRUB).unwrap().unwrap();
    let sector = number(12);
    assert_eq!(system.content(&cd, &entry).unwrap(), cd.part(u64::from(sector) * 2048, 46_981).unwrap());
    assert_eq!((number(8), number(16), number(24)), (16, 46_981, 0));
    let words = new[64..].chunks(4).map(|chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        u32::from_le_bytes(word)
    });
    assert_eq!(number(20), words.fold(0, u32::wrapping_add));
    assert_eq!(u64::from_le_bytes(new[0x9f4..0x9fc].try_into().unwrap()), u64::from(sector) * 4 + 5);
    let program = boot.record.unwrap().read().unwrap();
    assert_eq!(program[..0x1b0], record.read().unwrap()[..0x1b0]);
    assert_eq!(program[0x1b0..], (u64::from(sector) * 4 + 4).to_le_bytes());
}

#[test]
fn an_iso_without_a_boot_record_does_not_boot_as_a_bios_disk() {
    let (tree, efi) = (tree(), efi());

    let cd = disc(&tree, &efi, None).write().unwrap();

    let boot = BiosBootImage::find_in(&cd).unwrap().unwrap();
    assert!(boot.record.is_none());
    assert_eq!(cd.part(0, 440).unwrap(), Content::zeros(440));
}

#[test]
fn the_efi_system_partition_is_in_el_torito_and_the_partition_table() {
    let (tree, efi) = (tree(), efi());

    let cd = disc(&tree, &efi, None).write().unwrap();

    let catalog = u64::from(low32(&cd, 17 * 2048 + 0x47)) * 2048;
    let bytes = cd.part(catalog, 128).unwrap().read().unwrap();
    assert_eq!((bytes[32], bytes[64], bytes[65], bytes[96]), (0x88, 0x91, 0xef, 0x88));
    let numbers = bytes[..32].chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    assert_eq!(numbers.fold(0, u16::wrapping_add), 0, "a BIOS adds up what the catalog begins with");
    let start = u64::from(low32(&cd, catalog + 96 + 8)) * 2048;
    assert_eq!(cd.part(start, efi.len()).unwrap(), efi);
    // The ISO belongs to the platform and is read-only; the UEFI boot file system is a normal one.
    let slots = u64::from(low32(&cd, 512 + 72)) * 512;
    assert_eq!((low32(&cd, slots + 48), low32(&cd, slots + 52)), (1, 1 << 28));
    assert_eq!((low32(&cd, slots + 128 + 48), low32(&cd, slots + 128 + 52)), (0, 0));
    assert_eq!(u64::from(low32(&cd, slots + 40)) + 1, start / 512, "up to the EFI system partition");
    let partitions = Partitions::find_in(&cd).unwrap().unwrap();
    partitions.check().unwrap();
    assert_eq!((partitions.scheme, partitions.list.len()), (PartitionScheme::Gpt, 2));
    let window = partitions.list[1].window(&cd).unwrap();
    assert_eq!((window.size(), start % (1 << 20)), (efi.len(), 0));
    let inside = FileSystem::open(&window).unwrap();
    assert_eq!(inside.read(&window, inside.find("marker").unwrap()).unwrap(), b"the EFI system partition");
}

#[test]
fn a_truncated_partition_table_has_a_backup() {
    let (tree, efi) = (tree(), efi());
    let cd = disc(&tree, &efi, None).write().unwrap();
    let first = Partitions::find_in(&cd).unwrap();

    let mut bytes = cd.read().unwrap();
    bytes[512..1024].fill(0);

    assert_eq!(Partitions::find_in(&bytes).unwrap(), first);
}

#[test]
fn an_iso_without_grub_boots_only_with_uefi() {
    let (tree, efi) = (tree(), efi());

    let cd = BootableIso { bios: None, ..disc(&tree, &efi, None) }.write().unwrap();

    assert!(BiosBootImage::find_in(&cd).unwrap().is_none());
    let catalog = u64::from(low32(&cd, 17 * 2048 + 0x47)) * 2048;
    let bytes = cd.part(catalog, 96).unwrap().read().unwrap();
    assert_eq!((bytes[1], bytes[32], bytes[64]), (0xef, 0x88, 0));
    assert_eq!(found(&FileSystem::open(&cd).unwrap(), &cd).file(GRUB), tree.file(GRUB));
}

#[test]
fn a_large_efi_system_partition_is_not_kept_in_memory() {
    let (tree, efi) = (FileTree::default(), Content::zeros(9 << 30));

    let cd = BootableIso { bios: None, ..disc(&tree, &efi, None) }.write().unwrap();

    let catalog = u64::from(low32(&cd, 17 * 2048 + 0x47)) * 2048;
    assert_eq!(low32(&cd, catalog + 32 + 4) >> 16, 0);
    assert_eq!(Partitions::find_in(&cd).unwrap().unwrap().list[1].length(), 9 << 30);
}

#[test]
fn the_same_tree_is_the_same_bytes_on_every_machine() {
    let (tree, efi, record) = (tree(), efi(), record());

    let cd = disc(&tree, &efi, Some(&record)).write().unwrap();

    assert_eq!(sha256(&cd.read().unwrap()), SUM);
}

const SUM: &str = "ff1e6e7a38a0d302d81bf7a4ad44d5e3d6f8e1e0a3002da3b13f88b8b7e150cb";

#[test]
fn other_files_are_rejected_as_iso() {
    let (tree, efi) = (tree(), efi());
    let whole = disc(&tree, &efi, None);
    let short = Content::from(b"short");
    let bios = |image, record| Some(BiosBoot { image, record });

    let errors = [
        BootableIso { label: "talos", ..whole },
        BootableIso { set: "ü", ..whole },
        BootableIso { bios: bios("boot/none.img", None), ..whole },
        BootableIso { bios: bios("loader/random-seed", None), ..whole },
        BootableIso { bios: bios("boot", None), ..whole },
        BootableIso { bios: bios(GRUB, Some(&short)), ..whole },
        BootableIso { efi: &Content::zeros(1 << 41), ..whole },
    ]
    .map(|disc| disc.write().unwrap_err());

    let [label, set, none, seed, folder, record, long] = errors;
    assert!(matches!(label, BootableIsoError::Label(_)) && matches!(set, BootableIsoError::Set(_)));
    for error in [none, seed, folder] {
        assert!(matches!(error, BootableIsoError::Image(_)), "{error}");
    }
    assert!(matches!(record, BootableIsoError::Record(5)) && matches!(long, BootableIsoError::Efi(_)));
}

#[test]
fn a_truncated_or_corrupt_iso_never_hangs() {
    let (tree, efi, record) = (tree(), efi(), record());
    let cd = disc(&tree, &efi, Some(&record)).write().unwrap().read().unwrap();
    let catalog = u32::from_le_bytes(cd[17 * 2048 + 0x47..][..4].try_into().unwrap()) as usize * 2048;

    for end in [0, 440, 17 * 2048, 18 * 2048, catalog + 40, cd.len() / 2] {
        let _ = BiosBootImage::find_in(&cd[..end].into());
    }
    for place in [17 * 2048 + 0x49, catalog, catalog + 1, catalog + 32, catalog + 33, catalog + 43] {
        let mut wrong = cd.clone();
        wrong[place] ^= 0x7f;
        let answer = BiosBootImage::find_in(&wrong.into());
        assert!(answer.is_err() || answer.unwrap().is_none(), "{place:#x}");
    }
}
