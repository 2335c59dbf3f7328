//! What somebody meets who runs `ichor image build` for the first time.

use std::fs;

use super::*;

#[test]
fn nothing_at_all_is_answered_with_what_to_give() {
    let folder = tempfile::tempdir().unwrap();

    for words in ["image build", "image build --base release --extension frr.tar"] {
        let run = ichor(folder.path(), words);

        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words}");
        assert!(
            run.stderr.contains("there is no ichor.yaml here; name the cluster file"),
            "{words}: {}",
            run.stderr
        );
        assert!(run.stderr.contains("--talos VERSION"), "{words}: {}", run.stderr);
        assert_eq!(names(folder.path()), [""; 0], "{words}");
    }
}

#[test]
fn a_place_that_cannot_be_written_to_is_told_before_anything_is_read() {
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
fn names_that_are_none_and_folders_in_the_way_are_refused() {
    let folder = desk();
    let words = format!("--talos {TALOS} --base imager.tar --product netboot");
    fs::create_dir_all(folder.path().join("images/mine.cmdline")).unwrap();

    for (name, said) in [
        ("../mine", "want the name of a file"),
        (".mine", "want the name of a file"),
        ("mine", "cannot write images/mine.cmdline: there is a folder of that name"),
    ] {
        let run = build(folder.path(), &format!("{words} --name {name}"));

        assert_eq!(run.code, 2, "{name}: {}", run.all());
        assert!(run.stderr.contains(said), "{name}: {}", run.stderr);
        assert_eq!(names(&folder.path().join("images")), ["mine.cmdline"], "{name}");
    }
}

#[test]
fn what_an_installer_is_made_of_is_looked_for_first() {
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
            run.stderr.contains("which installers are made of; --installer-base names another"),
            "{}",
            run.stderr
        );
        assert!(!run.stderr.contains("cannot make"), "{}", run.stderr);
    }
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_second_run_makes_the_same_in_the_same_place() {
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
