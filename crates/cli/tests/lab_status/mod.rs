//! `ichor lab status` and `ichor lab capture`: what is seen of a lab that runs.

mod lab;

use crate::common::{folder, ichor_with};

#[test]
fn a_lab_that_is_not_there_is_told() {
    let (desk, runtime) = (folder(&[]), folder(&[]));
    // Without root's rights labs are there.
    let env = [("XDG_RUNTIME_DIR", runtime.path().to_str().unwrap())];

    for words in ["status", "status --json", "status --watch", "capture cp1:fab0"] {
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        let run = ichor_with(desk.path(), &format!("lab {verb} --lab no-such-lab {rest}"), &env);

        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words}");
        assert!(run.stderr.contains("no-such-lab"), "{}", run.stderr);
    }
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0, "nothing is written");
}
