//! FRR's daemons by their sockets, as the agent talks to them.

use std::fmt;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::Duration;

use ichor_bgp::reload::{
    Comparison, ConfigChange, FrrConfig, FrrDaemon, Line, compare, difference, order_changes,
};

use super::frr::Frr;
use super::lab::LabMachine;

/// A command that a daemon did not do.
#[derive(Debug)]
pub struct RefusedCommand {
    /// The command.
    pub(crate) command: String,
    /// The daemon's status.
    pub status: u8,
    /// The output of the daemon.
    pub output: String,
}

impl fmt::Display for RefusedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.command, self.status, self.output)
    }
}

/// A conversation with one daemon.
pub struct Vty(UnixStream);

impl Vty {
    /// Connects to a daemon of a machine.
    pub fn open(machine: &LabMachine, daemon: FrrDaemon) -> Self {
        let socket = UnixStream::connect(machine.path(&format!("/run/frr/{daemon}.vty")));
        let mut vty = Self(socket.unwrap_or_else(|error| panic!("{daemon} does not answer: {error}")));
        assert_eq!(vty.ask("enable").1, 0);
        vty
    }

    /// The daemon's output and status: 0 is done, 2 a command it does not know, 13 one it refuses.
    pub fn ask(&mut self, command: &str) -> (String, u8) {
        self.0.write_all(format!("{command}\0").as_bytes()).unwrap();
        let mut output = Vec::new();
        let mut part = [0; 4096];
        loop {
            let read = self.0.read(&mut part).unwrap();
            assert!(read > 0, "{command}: the daemon hung up after {}", String::from_utf8_lossy(&output));
            output.extend_from_slice(&part[..read]);
            if let [text @ .., 0, 0, 0, status] = output.as_slice() {
                return (String::from_utf8_lossy(text).into_owned(), *status);
            }
        }
    }

    /// The same, with retries while another client has the lock: mgmtd allows one at a time, and takes it itself for a moment
    /// after its start.
    fn ask_until_free(&mut self, command: &str) -> (String, u8) {
        for _ in 0..100 {
            let (output, status) = self.ask(command);
            if !output.contains("could not lock") {
                return (output, status);
            }
            sleep(Duration::from_millis(30));
        }
        self.ask(command)
    }

    /// Applies a change, or returns why the daemon rejected it.
    pub fn apply(&mut self, change: &ConfigChange) -> Result<(), RefusedCommand> {
        for command in change.commands() {
            let (output, status) = self.ask_until_free(&command);
            if status != 0 {
                self.ask(ConfigChange::END);
                return Err(RefusedCommand { command, status, output });
            }
        }
        Ok(())
    }
}

/// The daemons of a machine that run.
pub fn daemons(machine: &LabMachine, frr: Frr) -> Vec<FrrDaemon> {
    let runs = |daemon: &FrrDaemon| machine.path(&format!("/run/frr/{daemon}.vty")).exists();
    FrrDaemon::in_release(frr.version()).iter().copied().filter(runs).collect()
}

/// The part of a configuration that a daemon runs.
pub fn running(machine: &LabMachine, frr: Frr, daemon: FrrDaemon) -> FrrConfig {
    let (text, status) = Vty::open(machine, daemon).ask("show running-config");
    assert_eq!(status, 0, "{daemon}: {text}");
    FrrConfig::parse(&text).for_daemon(daemon, frr.version())
}

/// Applies the differences between the running configuration and `conf`. Returns the changes and the rejected ones.
pub fn reload(machine: &LabMachine, frr: Frr, conf: &str) -> (Vec<(FrrDaemon, ConfigChange)>, Vec<String>) {
    let intended = FrrConfig::parse(conf);
    let changes = order_changes(daemons(machine, frr).into_iter().map(|daemon| {
        (daemon, difference(&running(machine, frr, daemon), &intended.for_daemon(daemon, frr.version())))
    }));
    let mut against = Vec::new();
    for (daemon, change) in &changes {
        // bgpd of FRR 10.3 silently loses aggregates when instances come and go faster than it deletes them.
        if frr.version().0 >= 10 {
            sleep(Duration::from_millis(20));
        }
        let refused = Vty::open(machine, *daemon).apply(change).err();
        against.extend(refused.map(|output| format!("{daemon}: {output}")));
    }
    (changes, against)
}

/// The differences between a configuration and the running one, daemon by daemon.
pub fn compare_running(machine: &LabMachine, frr: Frr, conf: &str) -> Vec<String> {
    let intended = FrrConfig::parse(conf);
    let daemons = daemons(machine, frr);
    let lost = |line: &&Line| !daemons.iter().any(|daemon| daemon.accepts(frr.version(), line));
    let lost = intended.lines().iter().filter(lost);
    let mut wrong: Vec<_> = lost.map(|line| format!("no daemon takes: {line}")).collect();
    for daemon in daemons {
        let running = running(machine, frr, daemon);
        let Comparison { missing, extra } = compare(&running, &intended.for_daemon(daemon, frr.version()));
        wrong.extend(missing.iter().map(|line| format!("{daemon} lacks: {line}")));
        wrong.extend(extra.iter().map(|line| format!("{daemon} has besides: {line}")));
    }
    wrong
}
