//! Our FAT32, read by fsck.fat, mtools and a Linux kernel.
#![expect(clippy::disallowed_methods, reason = "these tests run programs on files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ichor_image::media::fat::{SMALLEST_TREE, tree};
use ichor_image::oci::FileTree;

use super::tools::{Bench, bench, run, run_text};
use crate::media::trees::{efi, expected};
use ichor_testbed::vm;

/// Clusters of one sector, and of eight.
const SIZES: [u64; 2] = [SMALLEST_TREE, 300 << 20];

fn written(root: &FileTree, size: u64) -> Bench {
    bench(&tree("EFI", root, size).unwrap().read().unwrap())
}

fn files(folder: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            for (path, bytes) in files(&entry.path()) {
                all.insert(format!("{name}/{path}"), bytes);
            }
            all.insert(name, None);
        } else {
            all.insert(name, Some(fs::read(entry.path()).unwrap()));
        }
    }
    all
}

#[test]
fn fsck_finds_no_errors() {
    for size in SIZES {
        let bench = written(&efi(), size);

        let output = run_text("fsck.fat", &["-n", "-v", bench.image()]);

        assert!(output.contains("32 bit entries"), "{output}");
        assert!(output.contains(&format!("{} files,", efi().len() + 1)), "{output}");
        assert!(
            !output.contains("differ") && !output.contains("rong") && !output.contains("ismatch"),
            "{output}"
        );
    }
}

#[test]
fn mtools_reads_every_file_and_read_only_attribute() {
    for size in SIZES {
        let bench = written(&efi(), size);
        let out = bench.out("out");

        run("mcopy", &["-s", "-i", bench.image(), "::*", out.to_str().unwrap()]);
        let attributes =
            run_text("mattrib", &["-i", bench.image(), "::loader/random-seed", "::loader/loader.conf"]);

        assert!(files(&out) == expected(&efi()), "{:?}", files(&out).keys());
        let flags: Vec<&str> =
            attributes.lines().map(|line| line.split("::").next().unwrap().trim()).collect();
        assert_eq!(flags, ["A    R", "A"], "{attributes}");
    }
}

#[test]
fn a_kernel_mounts_the_volume() {
    let fill = |folder: &Path| {
        for size in SIZES {
            let image = tree("EFI", &efi(), size).unwrap().read().unwrap();
            fs::write(folder.join(size.to_string()), image).unwrap();
        }
    };

    vm::run_in_vm_with(fill, |folder| {
        for size in SIZES {
            let image = folder.join(size.to_string());

            run("mount", &["-t", "vfat", "-o", "loop,ro,iocharset=ascii", image.to_str().unwrap(), "/mnt"]);
            let found = files(Path::new("/mnt"));
            run("umount", &["/mnt"]);

            assert!(found == expected(&efi()), "{:?}", found.keys());
        }
    });
}
