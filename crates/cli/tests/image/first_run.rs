//! Common mistakes on a first run of `ichor image build`.

use std::fs;

use super::*;

#[test]
fn a_run_without_arguments_reports_what_to_pass() {
    let folder = tempfile::tempdir().unwrap();

    for words in ["image build", "image build --base release --extension frr.tar"] {
        let run = ichor(folder.path(), words);

        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words}");
        assert!(
            run.stderr.contains("no ichor.yaml in this folder; pass a cluster file"),
            "{words}: {}",
            run.stderr
        );
        assert!(run.stderr.contains("--talos VERSION"), "{words}: {}", run.stderr);
        assert_eq!(names(folder.path()), [""; 0], "{words}");
    }
}

#[test]
fn an_unwritable_output_folder_is_reported_before_reading() {
    let folder = desk();
    fs::write(folder.path().join("file"), "in the way").unwrap();

    for out in ["file", "file/below", "/proc/images"] {
        let run =
            build(folder.path(), &format!("--talos {TALOS} --base nowhere.iso/ --product netboot -o {out}"));

        assert_eq!(run.code, 2, "{out}: {}", run.all());
        assert!(run.stderr.contains(&format!("cannot write {out}")), "{out}: {}", run.stderr);
    }
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "in the way");
}

#[test]
fn invalid_names_and_existing_folders_are_refused() {
    let folder = desk();
    let words = format!("--talos {TALOS} --base imager.tar --product netboot");
    fs::create_dir_all(folder.path().join("images/mine.cmdline")).unwrap();

    for (name, message) in [
        ("../mine", "want a file name"),
        (".mine", "want a file name"),
        ("mine", "cannot write images/mine.cmdline: it is a folder"),
    ] {
        let run = build(folder.path(), &format!("{words} --name {name}"));

        assert_eq!(run.code, 2, "{name}: {}", run.all());
        assert!(run.stderr.contains(message), "{name}: {}", run.stderr);
        assert_eq!(names(&folder.path().join("images")), ["mine.cmdline"], "{name}");
    }
}

#[test]
fn a_kernel_argument_that_talos_requires_cannot_be_removed() {
    let folder = desk();

    let run = build(
        folder.path(),
        &format!(
            "--talos {TALOS} --base imager.tar --product netboot --kernel-arg -pti --kernel-arg -slab_nomerge"
        ),
    );

    assert_eq!(run.code, 2, "{}", run.all());
    assert!(
        run.stderr.contains("Talos does not start without the kernel arguments slab_nomerge and pti=on"),
        "{}",
        run.stderr
    );
    assert_eq!(names(folder.path()), names(desk().path()));
}

#[test]
fn the_installer_base_is_checked_before_the_build() {
    let folder = desk();
    let registry = Registry::start(None);

    let words = format!("--talos {TALOS} --base imager.tar --product iso,installer -o out --cache cache");
    for more in ["", "--dry-run"] {
        let run = ichor(
            folder.path(),
            &format!("image build {words} --installer-base {}/me/installer-base:1 {more}", registry.host),
        );

        assert_eq!(run.code, 2, "{}", run.all());
        assert!(
            run.stderr.contains("the base image of installers; set another with --installer-base"),
            "{}",
            run.stderr
        );
        assert!(!run.stderr.contains("cannot make"), "{}", run.stderr);
    }
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_second_run_replaces_the_files_with_the_same_contents() {
    let folder = desk();
    let words = format!("--talos {TALOS} --base imager.tar --extension frr.tar --product netboot,installer");
    let run = || {
        let run = build(folder.path(), &words);
        assert_eq!(run.code, 0, "{}", run.all());
        files(&folder.path().join("images"))
    };

    let first = run();

    assert_eq!(first.len(), 4);
    assert!(first == run());
}
