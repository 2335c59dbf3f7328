//! Bootable ISOs, read by isoinfo, xorriso, 7z, sgdisk and blkid.

use std::collections::BTreeMap;
use std::path::Path;

use ichor_image::oci::{EntryKind, FileTree};

use super::tools::{bench, run, run_text};
use crate::media::discs::{GRUB, disc, efi, record, tree};

/// Files with their contents, except the one that is generated.
fn files(root: &FileTree) -> BTreeMap<String, Vec<u8>> {
    let files = root.iter().filter(|(path, _)| *path != GRUB).filter_map(|(path, entry)| match &entry.kind {
        EntryKind::File(content) => Some((path.to_owned(), content.read().unwrap())),
        _ => None,
    });
    files.collect()
}

/// The same of a folder.
#[expect(clippy::disallowed_methods, reason = "these tests run programs on files")]
fn unpacked(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let path = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            files.insert(path, std::fs::read(entry.path()).unwrap());
        }
    }
    files.remove(GRUB);
    files
}

fn cd() -> Vec<u8> {
    disc(&tree(), &efi(), Some(&record())).write().unwrap().read().unwrap()
}

#[test]
fn isoinfo_lists_every_path() {
    let bench = bench(&cd());

    let facts = run_text("isoinfo", &["-d", "-i", bench.image()]);
    let list = run_text("isoinfo", &["-R", "-f", "-i", bench.image()]);

    assert!(facts.contains("Volume id: TALOS_V1_13_9\n"), "{facts}");
    assert!(facts.contains("Volume set id: Talos-v1.13.9\n"), "{facts}");
    assert!(facts.contains("El Torito VD version 1 found"), "{facts}");
    assert!(facts.contains("Rock Ridge signatures version 1 found"), "{facts}");
    let mut listed: Vec<&str> = list.lines().collect();
    listed.sort_unstable();
    let tree = tree();
    let mut expected: Vec<String> = tree.iter().map(|(path, _)| format!("/{path}")).collect();
    expected.sort();
    assert_eq!(listed, expected);
}

#[test]
fn xorriso_reads_every_file_and_boot_entry() {
    let bench = bench(&cd());
    let out = bench.out("out");

    let (_, output) =
        run("xorriso", &["-osirrox", "on", "-indev", bench.image(), "-extract", "/", out.to_str().unwrap()]);
    let (_, found) = run("xorriso", &["-indev", bench.image(), "-check_media", "--"]);
    let boot = run_text(
        "xorriso",
        &["-indev", bench.image(), "-report_el_torito", "plain", "-report_system_area", "plain"],
    );
    let modes = run_text("xorriso", &["-indev", bench.image(), "-lsl", "/loader", "--"]);

    for output in [output, found] {
        let complaint = ["WARNING", "SORRY", "FAILURE", "FATAL"].iter().find(|word| output.contains(**word));
        assert_eq!(complaint, None, "{output}");
    }
    assert_eq!(unpacked(&out), files(&tree()));
    for line in [
        "El Torito boot img :   1  BIOS  y   none  0x0000  0x00      4",
        "El Torito boot img :   2  UEFI  y   none  0x0000  0x00",
        "El Torito img path :   1  /boot/grub/i386-pc/eltorito.img",
        "El Torito img opts :   1  boot-info-table grub2-boot-info",
        "System area summary: MBR protective-msdos-label grub2-mbr cyl-align-off GPT",
        "MBR partition      :   1   0x00  0xee            1 ",
        "GPT partname local :   2  Appended2",
        "GPT type GUID      :   2  28732ac11ff8d211ba4b00a0c93ec93b",
    ] {
        assert!(boot.contains(line), "{line}\n{boot}");
    }
    assert!(modes.contains("-r--------") && modes.contains("-rw-r--r--"), "{modes}");
}

#[test]
fn seven_zip_reads_every_file() {
    let bench = bench(&cd());
    let out = bench.out("out");

    let output = run_text("7z", &["x", "-tiso", &format!("-o{}", out.display()), bench.image()]);

    assert!(output.contains("Everything is Ok") && !output.to_lowercase().contains("warning"), "{output}");
    let mut found = unpacked(&out);
    // Boot images of El Torito are listed as well.
    found.retain(|path, _| !path.starts_with("[BOOT]"));
    assert_eq!(found, files(&tree()));
}

#[test]
fn sgdisk_and_blkid_accept_the_disk() {
    let bench = bench(&cd());

    let judged = run_text("sgdisk", &["-v", bench.image()]);
    let printed = run_text("sgdisk", &["-p", bench.image()]);
    let probed = run_text("blkid", &["--probe", "--output", "export", bench.image()]);

    assert!(judged.contains("No problems found"), "{judged}");
    assert!(printed.contains("EF00") && printed.contains("Appended2"), "{printed}");
    assert!(probed.contains("\nLABEL=TALOS_V1_13_9\n") && probed.contains("\nTYPE=iso9660\n"), "{probed}");
}
