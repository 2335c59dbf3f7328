use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_reader_never_sees_half_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let [old, new] = [b'a', b'b'].map(|letter| vec![letter; 1 << 20]);
    replace(&path, 0o644, &old).unwrap();
    let is_done = AtomicBool::new(false);

    let halves = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut halves = 0;
            while !is_done.load(Ordering::Relaxed) {
                let read = fs::read(&path).unwrap();
                halves += usize::from(read != old && read != new);
            }
            halves
        });
        for nth in 0..50 {
            replace(&path, 0o644, if nth % 2 == 0 { &new } else { &old }).unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });

    assert_eq!(halves, 0);
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_replaced_file_has_the_requested_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");

    let modes = [0o644, 0o600, 0o755].map(|wanted| {
        replace(&path, wanted, b"text").unwrap();
        mode(&path)
    });

    assert_eq!(modes, [0o644, 0o600, 0o755]);
}

#[test]
fn a_symbolic_link_is_replaced_and_the_file_it_leads_to_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (path, elsewhere) = (folder.path().join("link"), folder.path().join("elsewhere"));
    let unnamed = || StagedFile::unnamed(&path).and_then(StagedFile::place);
    for write in [&|| replace(&path, 0o644, b""), &unnamed as &dyn Fn() -> _] {
        fs::write(&elsewhere, "theirs").unwrap();
        let _ = fs::remove_file(&path);
        symlink(&elsewhere, &path).unwrap();

        write().unwrap();

        assert_eq!(fs::read(&path).unwrap(), b"");
        assert!(!path.is_symlink());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "theirs");
    }
}

#[test]
fn a_failure_leaves_the_old_file_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secrets.yaml");
    replace(&path, 0o600, b"old").unwrap();

    let failed = replace_by(&path, 0o600, |file| {
        file.write_all(b"ne")?;
        Err(io::Error::other("the disk is full"))
    });
    drop(StagedFile::beside_as(&path, ".new").unwrap());
    drop(StagedFile::unnamed(&path).unwrap());

    assert_eq!(failed.unwrap_err().to_string(), format!("cannot write {}", path.display()));
    assert_eq!(names(folder.path()), ["secrets.yaml"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn an_existing_file_is_not_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secrets.yaml");
    create(&path, 0o600, b"first").unwrap();

    let second = create(&path, 0o600, b"second").unwrap_err();

    assert_eq!(second.source.kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), b"first");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(names(folder.path()), ["secrets.yaml"]);
}

#[test]
fn an_error_names_the_requested_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/file");

    let error = replace(&path, 0o644, b"").unwrap_err();

    assert_eq!(error.path, path);
    assert_eq!(error.source.to_string(), "No such file or directory (os error 2)");
}

#[test]
fn a_fixed_name_replaces_what_a_killed_process_left() {
    let folder = tempfile::tempdir().unwrap();
    let (path, elsewhere) = (folder.path().join("frr.conf"), folder.path().join("elsewhere"));
    fs::write(&elsewhere, "theirs").unwrap();
    symlink(&elsewhere, folder.path().join("frr.conf.new")).unwrap();

    let mut staged = StagedFile::beside_as(&path, ".new").unwrap();
    staged.file().write_all(b"ours").unwrap();
    staged.place().unwrap();

    assert_eq!(names(folder.path()), ["elsewhere", "frr.conf"]);
    assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"ours".to_vec(), 0o600));
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "theirs");
}

#[test]
fn an_unnamed_file_is_invisible_until_it_is_placed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/image");
    for text in ["first", "second"] {
        let mut staged = StagedFile::unnamed(&path).unwrap();
        staged.file().write_all(text.as_bytes()).unwrap();
        staged.set_mode(0o644).unwrap();
        let before = fs::read_to_string(&path).ok();

        staged.place().unwrap();

        assert_eq!(before.as_deref(), Some("first").filter(|_| text == "second"));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(mode(&path), 0o644);
        assert_eq!(names(&folder.path().join("new")), ["image"]);
    }
}

#[test]
fn a_file_shared_by_processes_is_moved_to_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let [part, path] = ["image.part", "image"].map(|name| folder.path().join(name));
    fs::write(&path, "old").unwrap();
    fs::write(&part, "half ").unwrap();
    let mut file = OpenOptions::new().append(true).open(&part).unwrap();
    file.write_all(b"and half").unwrap();

    place_file(&file, &part, &path).unwrap();
    let failed = place_file(&file, &part, &path);

    assert_eq!(names(folder.path()), ["image"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "half and half");
    assert_eq!(failed.unwrap_err().path, path);
}

#[test]
fn a_socket_replaces_an_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("status.sock");
    drop(UnixListener::bind(&path).unwrap());
    drop(UnixListener::bind(with_ending(&path, ".new")).unwrap());

    let listener = replace_with(&path, ".new", |beside| UnixListener::bind(beside)).unwrap();

    assert_eq!(names(folder.path()), ["status.sock"]);
    std::os::unix::net::UnixStream::connect(&path).unwrap();
    drop(listener);
}

#[test]
fn staged_files_are_invisible_until_each_is_placed() {
    let folder = tempfile::tempdir().unwrap();
    let staging = folder.path().join(".staging");
    fs::create_dir(&staging).unwrap();
    fs::write(staging.join("0"), "left by a process that was killed").unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("deep/two"));

    let staged = StagingFolder::at(&staging).unwrap();
    assert!(names(folder.path()).is_empty());
    staged.write("0", &one, 0o644, b"one").unwrap();
    staged.write("1", &two, 0o600, b"two").unwrap();
    assert_eq!(names(folder.path()), [".staging"]);
    staged.place("0", &one).unwrap();
    staged.place("1", &two).unwrap();
    drop(staged);

    assert_eq!(names(folder.path()), ["deep", "one"]);
    assert_eq!([mode(&one), mode(&two)], [0o644, 0o600]);
    assert_eq!(fs::read(&two).unwrap(), b"two");
}

#[test]
fn a_folder_swap_is_atomic_and_undone_on_failure() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layout");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("old"), "").unwrap();
    let staging = StagingFolder::beside(&path).unwrap();

    let failed = staging.swap("missing", &path);
    let after_failure = names(&path);
    fs::write(staging.make("new").unwrap().join("index.json"), "").unwrap();
    staging.swap("new", &path).unwrap();
    drop(staging);

    assert_eq!(failed.unwrap_err().path, path);
    assert_eq!(after_failure, ["old"]);
    assert_eq!(names(&path), ["index.json"]);
    assert_eq!(names(folder.path()), ["layout"]);
}
