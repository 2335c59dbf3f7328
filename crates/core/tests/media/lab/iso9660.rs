//! Our ISOs, read by isoinfo, xorriso, 7z and blkid.

use ichor_image::media::iso9660;

use super::tools::{assert_same, bench, run, run_text};
use crate::media::volumes::all;

#[test]
fn isoinfo_reads_every_name_and_file_by_rock_ridge_and_by_joliet() {
    for case in all() {
        let bench = bench(&iso9660::write(&case.volume()));

        let facts = run_text("isoinfo", &["-d", "-i", bench.image()]);
        let lists = ["-R", "-J"].map(|names| run_text("isoinfo", &[names, "-f", "-i", bench.image()]));

        assert!(facts.contains(&format!("Volume id: {}\n", case.label)), "{facts}");
        assert!(facts.contains("Joliet with UCS level 3 found"), "{facts}");
        assert!(facts.contains("Rock Ridge signatures version 1 found"), "{facts}");
        let mut expected: Vec<String> = case.files.iter().map(|(name, _)| format!("/{name}")).collect();
        expected.sort();
        for list in lists {
            let mut names: Vec<&str> = list.lines().collect();
            names.sort_unstable();
            assert_eq!(names, expected, "{}", case.label);
        }
        for (name, bytes) in case.files.iter().take(6) {
            for names in ["-R", "-J"] {
                let (found, _) = run("isoinfo", &[names, "-i", bench.image(), "-x", &format!("/{name}")]);
                assert!(found == *bytes, "{names} {name} of {}", case.label);
            }
        }
    }
}

#[test]
fn xorriso_reads_every_file_without_warnings() {
    for case in all() {
        let bench = bench(&iso9660::write(&case.volume()));
        let out = bench.out("out");

        let (_, output) = run(
            "xorriso",
            &["-osirrox", "on", "-indev", bench.image(), "-extract", "/", out.to_str().unwrap()],
        );

        let complaint = ["WARNING", "SORRY", "FAILURE", "FATAL"].iter().find(|word| output.contains(**word));
        assert_eq!(complaint, None, "{}: {output}", case.label);
        assert!(output.contains(&format!("Volume id    : '{}'", case.label)), "{output}");
        assert_same(&case, &out, "xorriso");
    }
}

#[test]
fn seven_zip_reads_every_file_without_warnings() {
    for case in all() {
        let bench = bench(&iso9660::write(&case.volume()));
        let out = bench.out("out");

        let output = run_text("7z", &["x", "-tiso", &format!("-o{}", out.display()), bench.image()]);

        assert!(
            output.contains("Everything is Ok") && !output.to_lowercase().contains("warning"),
            "{output}"
        );
        assert_same(&case, &out, "7z");
    }
}

#[test]
fn blkid_finds_the_label() {
    for case in all() {
        let bench = bench(&iso9660::write(&case.volume()));

        let found = run_text("blkid", &["--probe", "--output", "export", bench.image()]);

        assert!(found.contains(&format!("\nLABEL={}\n", case.label)), "{found}");
        assert!(found.contains("\nTYPE=iso9660\n"), "{found}");
    }
}
