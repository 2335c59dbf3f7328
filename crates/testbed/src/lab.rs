//! Machines for real daemons: namespaces of their own for network, mounts and processes, on the file system of this machine
//! or on the one that `scripts/lab-root` makes.
//!
//! Everything in a machine ends with its first process, and that ends with the test, however the test ends: it waits on a
//! pipe that no other process has open. Machines share nothing with each other but the links between them, and leave nothing behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The timeout of a command or condition in seconds. Emulation takes longer.
fn patience() -> u64 {
    if super::vm::is_here() { 240 } else { 60 }
}

/// Starts the first process of a machine. Writes go to memory; the rest of the file system is read-only or, on the
/// host's own, shared with other programs.
const FIRST: &str = r#"
set -eu
read -r pid _ </proc/self/stat
if [ -n "$1" ]; then
    mount --bind "$1" "$1"
    mount -o remount,bind,ro "$1"
    mount --rbind /dev "$1/dev"
    mount -t proc proc "$1/proc"
    cd "$1"
    pivot_root . .
    umount -l .
else
    mount -t proc proc /proc
fi
mount -t sysfs sysfs /sys
for folder in /run /tmp /var/tmp /var/log /var/lib/frr /etc/frr; do
    [ ! -d "$folder" ] || mount -t tmpfs none "$folder"
done
mkdir /run/lock
for family in all default; do
    echo 0 >"/proc/sys/net/ipv6/conf/$family/accept_dad"
done
ip link set lo up
echo "$pid"
exec cat >/dev/null
"#;

/// The file system of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootFileSystem {
    /// This machine's.
    Own,
    /// Debian 13.
    Trixie,
}

/// The output path of `scripts/lab-root`.
pub fn lab_path(name: &str) -> PathBuf {
    script_output("scripts/lab-root", name)
}

/// The output of one of the scripts.
pub fn script_output(script: &str, name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lab").join(name);
    assert!(path.exists(), "{}: not there; make it with `{script}`", path.display());
    path.canonicalize().unwrap()
}

/// The output of a command on stdout and stderr.
pub fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// The longest time between two questions.
const PAUSE: Duration = Duration::from_millis(500);

/// Polls until `holds` is true; on a timeout it panics with `state`. The interval grows, so that fast results are
/// detected at once and polling takes little time from slow work.
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool, state: impl Fn() -> String) {
    let (start, mut pause) = (Instant::now(), Duration::from_millis(20));
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(patience()), "{what}: never seen\n{}", state());
        std::thread::sleep(pause);
        pause = PAUSE.min(pause * 3 / 2);
    }
}

/// Waits, to give an unwanted event the time to happen.
pub fn wait_seconds(seconds: u64) {
    std::thread::sleep(Duration::from_secs(seconds));
}

/// A machine of its own.
pub struct LabMachine {
    first: Child,
    pid: String,
}

impl LabMachine {
    /// A machine with a network of its own.
    pub fn new(root: RootFileSystem) -> Self {
        Self::first(Command::new("unshare").arg("--net"), root)
    }

    /// A machine that shares the network of another.
    pub fn beside(other: &Self, root: RootFileSystem) -> Self {
        Self::first(Command::new("nsenter").args(["--net", "--target", &other.pid, "unshare"]), root)
    }

    fn first(command: &mut Command, root: RootFileSystem) -> Self {
        let root = match root {
            RootFileSystem::Own => PathBuf::new(),
            RootFileSystem::Trixie => lab_path("trixie"),
        };
        command.args(["--mount", "--pid", "--fork", "--kill-child", "bash", "-c", FIRST, "first"]).arg(root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut first = command.spawn().unwrap();
        let mut pid = String::new();
        BufReader::new(first.stdout.take().unwrap()).read_line(&mut pid).unwrap();
        let pid = pid.trim_end().to_owned();
        assert!(!pid.is_empty(), "no machine of its own; this test needs root");
        Self { first, pid }
    }

    /// The start of a command in the machine; the program and its arguments follow.
    pub fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--mount", "--net", "--pid", "--target", &self.pid]);
        command
    }

    /// The start of a command in the machine's network, with the files of this process.
    pub fn enter_network(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.pid]);
        command
    }

    /// The PID of its first process on the host, which is needed to join its namespaces.
    pub fn pid(&self) -> &str {
        &self.pid
    }

    /// Runs a shell script in the machine.
    pub fn run(&self, script: &str) -> Output {
        let mut command = self.enter();
        command.args(["timeout", &patience().to_string(), "sh", "-c", script]).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// Runs a shell script in the machine, which must succeed, and returns its stdout.
    pub fn ask(&self, script: &str) -> String {
        let output = self.run(script);
        assert!(output.status.success(), "{script}: {}", output_text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts a background process; it is ready when the file `sign` exists.
    pub fn start(&self, command: &str, sign: &str) {
        self.ask(&format!("{command} >/tmp/log-of-start 2>&1 &"));
        let path = self.path(sign);
        wait_for(command, || path.exists(), || self.ask("cat /tmp/log-of-start"));
    }

    /// Writes a file where the machine can.
    pub fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).unwrap();
    }

    /// A cable between two machines.
    pub fn cable(&self, port: &str, other: &Self, theirs: &str) {
        self.plug(&[port], other, &[theirs]);
    }

    /// A cable whose ends have these MAC addresses.
    pub fn cable_with(&self, port: [&str; 2], other: &Self, theirs: [&str; 2]) {
        let with = |[name, mac]: [_; 2]| [name, "address", mac];
        self.plug(&with(port), other, &with(theirs));
    }

    /// Takes a port out of the network namespace of this process, and switches it on.
    pub fn take_port(&self, port: &str, name: &str) {
        let moved = ["link", "set", port, "netns", &self.pid, "name", name];
        let output = Command::new("ip").args(moved).output().unwrap();
        assert!(output.status.success(), "{port}: {}", output_text(&output));
        self.ask(&format!("ip link set {name} up"));
    }

    fn plug(&self, port: &[&str], other: &Self, theirs: &[&str]) {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.pid, "ip", "link", "add"]).args(port);
        command.args(["type", "veth", "peer", "name"]).args(theirs).args(["netns", &other.pid]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{port:?}: {}", output_text(&output));
        self.ask(&format!("ip link set {} up", port[0]));
        other.ask(&format!("ip link set {} up", theirs[0]));
    }

    /// The path of a file of the machine for this process.
    pub fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.pid))
    }
}

impl Drop for LabMachine {
    fn drop(&mut self) {
        drop(self.first.stdin.take());
        let _ = self.first.wait();
    }
}
