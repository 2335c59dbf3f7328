use std::path::Path;
use std::time::Instant;

use super::*;

const LONG: Duration = Duration::from_mins(1);
const SHORT: Duration = Duration::from_millis(300);

fn shell(script: &str, timeout: Duration) -> ProgramRun {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    ProgramRun::new(command, timeout)
}

/// Whether a process runs whose number is in this file.
fn runs(path: &Path) -> bool {
    let pid = fs::read_to_string(path).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn ends(path: &Path) -> bool {
    (0..100).any(|_| {
        thread::sleep(Duration::from_millis(20));
        !runs(path)
    })
}

#[test]
fn output_and_status_are_captured() {
    let output = shell("cat; echo yes; echo no >&2; exit 3", LONG).run().unwrap();

    assert_eq!((&*output.stdout_text(), &*output.stderr_text()), ("yes\n", "no\n"));
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(output.require_success().unwrap_err().to_string(), "sh failed: no");
}

#[test]
fn standard_input_is_passed_and_closed() {
    let input = vec![b'x'; 1 << 20];

    let output = shell("cat", LONG).input(input.clone()).run().unwrap();
    let unread = shell("exit 0", LONG).input(input.clone()).run().unwrap();

    assert_eq!(output.stdout, input);
    assert!(unread.require_success().is_ok());
}

#[test]
fn a_missing_program_is_named() {
    let error = ProgramRun::new(Command::new("/nowhere/bgpd"), LONG).run().unwrap_err();

    assert!(matches!(&error, ProgramError::Missing { .. }), "{error:?}");
    assert_eq!(error.to_string(), "/nowhere/bgpd is not installed");
}

#[test]
fn a_failure_shows_the_last_lines_or_the_exit_status() {
    let error = |script| shell(script, LONG).run().unwrap().require_success().unwrap_err().to_string();

    assert_eq!(error("seq 100 >&2; exit 1"), "sh failed: 96; 97; 98; 99; 100");
    assert_eq!(error("printf '\\n \\033[1mbold\\n' >&2; exit 1"), "sh failed: [1mbold");
    assert_eq!(error("echo fine; exit 7"), "sh failed: exit status: 7");
}

#[test]
fn a_timeout_kills_a_program_with_its_children() {
    for has_own_group in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let [child, grandchild] = ["child", "grandchild"].map(|name| folder.path().join(name));
        let script = format!(
            "sh -c 'sleep 60 & echo $! > {}; wait' & echo $! > {}; wait",
            grandchild.display(),
            child.display()
        );
        let mut run = shell(&script, Duration::from_secs(1));
        run.has_own_group = has_own_group;
        let start = Instant::now();

        let error = run.run().unwrap_err();

        assert!(matches!(&error, ProgramError::TimedOut { .. }), "{error:?}");
        assert_eq!(error.to_string(), "sh did not end within 1s");
        assert!(start.elapsed() < Duration::from_secs(30));
        assert!(ends(&child) && ends(&grandchild), "{has_own_group}");
    }
}

#[test]
fn a_killed_process_group_includes_orphans() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join("left");
    let script = format!("(sleep 60 & echo $! > {}); exec sleep 60", left.display());

    shell(&script, Duration::from_secs(1)).own_group().run().unwrap_err();

    assert!(ends(&left));
}

#[test]
fn streams_kept_open_by_a_daemon_do_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = folder.path().join("daemon");
    let start = Instant::now();

    let script = format!("sleep 60 & echo $! > {}; echo ready", daemon.display());
    let output = shell(&script, LONG).run().unwrap();

    assert_eq!(output.stdout, b"ready\n");
    assert!(start.elapsed() < Duration::from_secs(30));
    assert!(runs(&daemon), "a program that ends in time keeps what it started");
    let pid: i32 = fs::read_to_string(&daemon).unwrap().trim().parse().unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

#[test]
fn output_is_bounded() {
    let start = Instant::now();

    let error = shell("yes", LONG).limit(1 << 20).run().unwrap_err();
    let largest = shell("head -c 1048576 /dev/zero", LONG).limit(1 << 20).run().unwrap();
    let noisy = shell("yes | head -c 10000000 >&2; echo last >&2", LONG).run().unwrap();

    assert_eq!(error.to_string(), "sh writes more than 1048576 bytes");
    assert!(start.elapsed() < Duration::from_secs(50));
    assert_eq!(largest.stdout.len(), 1 << 20);
    assert_eq!(noisy.stderr.len(), KEPT);
    assert!(noisy.stderr.ends_with(b"last\n"));
}

#[test]
fn suppressed_streams_are_not_shown() {
    let output = shell("echo hunter2; echo hunter3 >&2; exit 1", LONG).without_stderr().run().unwrap();

    assert_eq!(output.stderr, b"");
    let error = output.require_success().unwrap_err();
    assert_eq!(error.to_string(), "sh failed: exit status: 1");
    assert!(!format!("{error:?}").contains("hunter"), "{error:?}");
}

#[test]
fn a_run_can_block_inside_a_runtime() {
    let runtime = runtime::Builder::new_current_thread().build().unwrap();

    let output = runtime.block_on(async { shell("echo yes", LONG).run() });

    assert_eq!(output.unwrap().stdout, b"yes\n");
}

#[tokio::test]
async fn a_dropped_run_kills_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let run = shell(&format!("echo $$ > {}; sleep 60; :", pid.display()), LONG);

    assert!(timeout(SHORT, run.run_async()).await.is_err());

    assert!(ends(&pid));
}
