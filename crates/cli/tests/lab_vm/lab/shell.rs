//! Streams, files, signals and terminals of commands in the virtual machine.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::user::{User, run};

pub fn streams_and_codes(user: &User) {
    let both = run(&mut user.inside(&["sh", "-c", "echo out; echo err >&2; exit 9"]));
    assert_eq!((both.code, &*both.stdout, &*both.stderr), (9, "out\n", "err\n"));
    let killed = run(&mut user.inside(&["sh", "-c", "kill -9 $$"]));
    assert_eq!(killed.code, 128 + 9, "{}", killed.all());
    let missing = run(&mut user.inside(&["there-is-no-such-program"]));
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("cannot run there-is-no-such-program"), "{}", missing.stderr);
    let result =
        run(user.inside(&["sh", "-c", "echo $WORD $ICHOR_LAB_EMULATED; id -u; pwd"]).env("WORD", "told"));
    assert_eq!(result.stdout, format!("told 1\n0\n{}\n", user.desk.path().canonicalize().unwrap().display()));

    // More data than any buffer holds, in both directions.
    let sent: Vec<u8> =
        (0_u32..2_500_000).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let mut child = user.inside(&["cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, copy) = (child.stdin.take().unwrap(), sent.clone());
    let sender = thread::spawn(move || input.write_all(&copy).unwrap());
    let mut came = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut came).unwrap();
    sender.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(came == sent, "{} of {} bytes were received, or they differ", came.len(), sent.len());
}

pub fn files(user: &User) {
    let desk = user.desk.path();
    fs::write(desk.join("report"), "an old one").unwrap();
    let inside = |words: &str, script: &str| {
        let mut command = user.command(&format!("lab inside --lab rack {words} -- sh -c"));
        run(command.arg(script))
    };

    let private = inside("--file report", "umask 077; rm report; echo new >report; echo other >forgotten");
    assert_eq!(private.code, 0, "{}", private.all());
    assert_eq!(fs::read_to_string(desk.join("report")).unwrap(), "new\n");
    assert_eq!(fs::metadata(desk.join("report")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!desk.join("forgotten").exists());

    // Earlier files are not copied again.
    fs::write(desk.join("report"), "of another user").unwrap();
    let nothing = inside("--file report", "false");
    assert_eq!(nothing.code, 1);
    assert_eq!(fs::read_to_string(desk.join("report")).unwrap(), "of another user");
}

pub fn signals(user: &User) {
    let script = "trap 'echo heard; exit 4' INT; echo ready; while :; do sleep 0.1; done";
    let mut running = user.start(&["sh", "-c", script]);
    let mut ready = [0; 6];
    running.0.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();

    kill(Pid::from_raw(running.0.id().cast_signed()), Signal::SIGINT).unwrap();
    let run = running.end();

    assert_eq!((run.code, &*run.stdout), (4, "heard\n"), "{}", run.all());
}

pub fn terminal(user: &User) {
    let script = "test -t 0 && test -t 1 && test -t 2 && stty size";
    let command = user.inside(&["sh", "-c", script]);
    let words: Vec<_> = [command.get_program()].into_iter().chain(command.get_args()).collect();
    let words: Vec<_> = words.iter().map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let line = format!("stty rows 33 cols 101; {}; echo code $?; stty -a", words.join(" "));
    let mut script = std::process::Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        script.env(name, value.unwrap_or_default());
    }

    let run = run(&mut script);

    assert!(run.stdout.contains("33 101\r\ncode 0\r\n"), "{}", run.all());
    assert!(run.stdout.contains(" icanon"), "the terminal is restored: {}", run.all());
}

pub fn several_at_once(user: &User) {
    // The commands wait for each other.
    let meet = |own: &str, other: &str| {
        let script = format!("touch /run/{own}; until test -e /run/{other}; do sleep 0.1; done; echo {own}");
        user.start(&["timeout", "60", "sh", "-c", &script])
    };
    let (one, other) = (meet("one", "other"), meet("other", "one"));

    let (one, other) = (one.end(), other.end());

    assert_eq!((&*one.stdout, &*other.stdout), ("one\n", "other\n"), "{}{}", one.all(), other.all());
}

pub fn given_up(user: &User) {
    let mut running = user.start(&["sh", "-c", "exec yes given-up"]);
    user.wait_for_command("yes given-up");

    running.0.kill().unwrap();
    running.0.wait().unwrap();

    // The next command uses the same port without data of the previous one.
    let next = run(&mut user.inside(&["echo", "next"]));
    assert_eq!((next.code, &*next.stdout), (0, "next\n"), "{}", next.all());
    let start = Instant::now();
    while user.count("yes given-up") > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "it runs on");
    }
}
