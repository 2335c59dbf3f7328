//! `ichor lab status` and `ichor lab capture`.

mod lab;

use crate::common::{folder, ichor_with};

#[test]
fn a_missing_lab_is_reported() {
    let (desk, runtime) = (folder(&[]), folder(&[]));
    // Labs of unprivileged users are in this folder.
    let env = [("XDG_RUNTIME_DIR", runtime.path().to_str().unwrap())];

    for words in ["status", "status --json", "status --watch", "capture cp1:fab0"] {
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        let run = ichor_with(desk.path(), &format!("lab {verb} --lab no-such-lab {rest}"), &env);

        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words}");
        assert!(run.stderr.contains("no-such-lab"), "{}", run.stderr);
    }
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0, "nothing is written");
}
