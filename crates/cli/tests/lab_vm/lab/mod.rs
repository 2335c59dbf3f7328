//! A lab of an unprivileged user, with VRFs and the daemons of Debian 13, as unpacked by `scripts/lab-root`.
//!
//! A virtual machine is slow to boot, so one test covers everything.

mod shell;
mod user;

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use user::User;

/// The example with MetalLB in a VRF, with one node: more are slow on an emulated processor.
fn cluster() -> String {
    let example = include_str!("../../../../../examples/metallb/ichor.yaml");
    let others = ["name: cp2", "name: cp3", "name: wk"];
    let lines = example.lines().filter(|line| !others.iter().any(|other| line.contains(other)));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn a_lab_of_an_unprivileged_user_works_like_any_other() {
    let user = User::new(&[("ichor.yaml", &cluster())]);

    assert_comes_up(&user);
    assert_matches_prediction(&user);
    assert_status_and_cut(&user);
    shell::streams_and_codes(&user);
    shell::files(&user);
    shell::signals(&user);
    shell::terminal(&user);
    shell::several_at_once(&user);
    shell::given_up(&user);
    assert_death_is_reported(&user);
}

fn assert_comes_up(user: &User) {
    let up = user.up();

    assert_eq!(up.code, 0, "{}", up.all());
    assert!(up.stderr.contains("the lab runs on an emulated processor"), "{}", up.stderr);
    // Sessions of the node with two leafs and its speaker, and of each leaf with two spines.
    assert_eq!(up.stdout.matches("established").count(), 7, "{}", up.all());
    let again = user.up();
    assert_eq!(again.code, 0, "{}", again.all());
    assert!(again.stderr.contains("the lab is already running"), "{}", again.stderr);
    let list = user.ichor("lab ls");
    assert!(list.stdout.contains("running in a virtual machine"), "{}", list.all());
    let file = user.desk.path().canonicalize().unwrap().join("ichor.yaml").display().to_string();
    assert!(list.stdout.contains(&file), "{}", list.all());
    assert!(up.stderr.contains("BFD intervals are 10 times as long"), "{}", up.stderr);
}

/// The packet rate is limited to what an emulated processor can handle.
fn assert_matches_prediction(user: &User) {
    let test = user.ichor("lab test ichor.yaml --k 0");

    assert_eq!(test.code, 0, "{}", test.all());
}

fn assert_status_and_cut(user: &User) {
    let vrf = user.ichor("lab exec cp1 -- ip -brief link show type vrf");
    assert!(vrf.code == 0 && vrf.stdout.starts_with("metallb "), "{}", vrf.all());
    let code = user.ichor("lab exec cp1 -- sh -c exit\u{a0}7");
    assert_eq!(code.code, 7, "{}", code.all());
    let unknown = user.ichor("lab exec cp9 -- true");
    assert!(
        unknown.code == 2 && unknown.stderr.contains("unknown name `cp9` in this lab"),
        "{}",
        unknown.all()
    );

    let cut = user.ichor("lab cut cp1:fab0");
    let link = user.ichor("lab exec cp1 -- cat /sys/class/net/eth0/operstate");
    let heal = user.ichor("lab heal");

    assert_eq!((cut.code, heal.code), (0, 0), "{}{}", cut.all(), heal.all());
    assert!(cut.stderr.contains("cp1:fab0 is cut"), "{}", cut.stderr);
    assert_eq!(link.stdout.trim(), "down");
}

fn assert_death_is_reported(user: &User) {
    let running = user.start(&["sleep", "100"]);
    user.wait_for_command("sleep 100");
    let qemu: i32 = fs::read_to_string(user.state().join("lock")).unwrap().trim().parse().unwrap();

    kill(Pid::from_raw(qemu), Signal::SIGKILL).unwrap();
    let run = running.end();

    assert_eq!(run.code, 2, "{}", run.all());
    assert!(run.stderr.contains("the virtual machine exited before the command finished"), "{}", run.stderr);
    let list = user.ichor("lab ls");
    assert!(list.stdout.contains("dead"), "{}", list.all());
    let down = user.ichor("lab down");
    assert_eq!(down.code, 0, "{}", down.all());
    assert!(!user.state().exists());
}
