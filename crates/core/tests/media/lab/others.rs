//! Volumes of other programs, read by us.
#![expect(clippy::disallowed_methods, reason = "these tests run programs on files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ichor_image::media::{FileSystem, FileSystemType};

use super::tools::{Bench, bench, run};
use crate::media::volumes::{Case, all};

/// The files of a case in a folder.
fn laid_out(bench: &Bench, case: &Case) -> String {
    let folder = bench.out("files");
    for (name, bytes) in &case.files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    folder.to_str().unwrap().to_owned()
}

fn assert_read(case: &Case, image: &Path, kind: FileSystemType, who: &str) {
    let image = fs::read(image).unwrap();
    let found = FileSystem::open(&image).unwrap();
    let read: BTreeMap<String, Vec<u8>> =
        found.files.iter().map(|file| (file.name.clone(), found.read(&image, file).unwrap())).collect();
    let names: Vec<&String> = case.files.iter().map(|(name, _)| name).collect();
    assert_eq!((found.kind, found.label.as_str()), (kind, case.label), "{who}");
    assert!(read == case.files.iter().cloned().collect(), "{who}: {:?} of {names:?}", read.keys());
}

#[test]
fn isos_of_genisoimage_and_xorriso_are_read() {
    for case in all() {
        let ways: [(&str, &[&str]); 4] = [
            ("genisoimage", &["-quiet", "-joliet", "-rock"]),
            ("genisoimage", &["-quiet", "-joliet"]),
            ("genisoimage", &["-quiet", "-rock"]),
            ("xorriso", &["-as", "mkisofs", "-quiet", "-joliet", "-rock"]),
        ];
        for (program, flags) in ways {
            let bench = bench(b"");
            let folder = laid_out(&bench, &case);

            run(program, &[flags, &["-volid", case.label, "-output", bench.image(), &folder]].concat());

            assert_read(&case, &bench.image, FileSystemType::Iso9660, &format!("{program} {flags:?}"));
        }
    }
}

#[test]
fn fat_images_of_mkfs_and_mtools_are_read() {
    for case in all().iter().filter(|case| case.files.len() > 1) {
        for (bits, kibibytes, kind) in [
            ("12", "8000", FileSystemType::Fat12),
            ("16", "20000", FileSystemType::Fat16),
            ("32", "40000", FileSystemType::Fat32),
        ] {
            let bench = bench(b"");
            let folder = laid_out(&bench, case);
            fs::remove_file(&bench.image).unwrap();
            let size = if bits == "32" { "1" } else { "4" };

            run("mkfs.fat", &["-F", bits, "-s", size, "-n", case.label, "-C", bench.image(), kibibytes]);
            for (name, _) in &case.files {
                run("mcopy", &["-i", bench.image(), &format!("{folder}/{name}"), "::"]);
            }

            assert_read(case, &bench.image, kind, bits);
        }
    }
}
