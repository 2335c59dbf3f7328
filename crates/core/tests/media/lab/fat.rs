//! Our FAT images, read by fsck.fat, mtools, 7z and blkid.

use ichor_image::media::fat;

use super::tools::{assert_same, bench, run, run_text};
use crate::media::volumes::all;

#[test]
fn fsck_finds_no_errors() {
    for case in all() {
        let bench = bench(&fat::write(&case.volume()));

        let output = run_text("fsck.fat", &["-n", "-v", bench.image()]);

        // fsck counts the label too.
        let files = format!("{} files,", case.files.len() + 1);
        assert!(output.contains(&files) && output.contains("12 bit entries"), "{}: {output}", case.label);
        assert!(!output.contains("differ") && !output.contains("rong"), "{output}");
    }
}

#[test]
fn mtools_reads_every_file_and_the_label() {
    for case in all() {
        let bench = bench(&fat::write(&case.volume()));
        let out = bench.out("out");

        let label = run_text("mlabel", &["-s", "-i", bench.image(), "::"]);
        if !case.files.is_empty() {
            run("mcopy", &["-i", bench.image(), "::*", out.to_str().unwrap()]);
        }

        assert!(label.contains(&format!("Volume label is {}", case.label)), "{label}");
        assert_same(&case, &out, "mtools");
    }
}

#[test]
fn seven_zip_reads_every_file() {
    for case in all() {
        let bench = bench(&fat::write(&case.volume()));
        let out = bench.out("out");

        let output = run_text("7z", &["x", "-tfat", &format!("-o{}", out.display()), bench.image()]);

        assert!(output.contains("Everything is Ok"), "{output}");
        assert_same(&case, &out, "7z");
    }
}

#[test]
fn blkid_finds_the_label() {
    for case in all() {
        let bench = bench(&fat::write(&case.volume()));

        let found = run_text("blkid", &["--probe", "--output", "export", bench.image()]);

        for line in ["LABEL", "LABEL_FATBOOT"].map(|key| format!("\n{key}={}\n", case.label)) {
            assert!(found.contains(&line), "{found}");
        }
        assert!(found.contains("\nTYPE=vfat\n"), "{found}");
    }
}
