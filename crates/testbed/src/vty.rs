//! FRR's daemons by their sockets, as the agent talks to them.

use std::fmt;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::Duration;

use ichor_bgp::reload::{
    Comparison, ConfigChange, FrrConfig, FrrDaemon, Line, compare, difference, in_order,
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
    /// What the daemon said.
    pub said: String,
}

impl fmt::Display for RefusedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.command, self.status, self.said)
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

    /// What the daemon says, and its status: 0 is done, 2 a command it does not know, 13 one it refuses.
    pub fn ask(&mut self, command: &str) -> (String, u8) {
        self.0.write_all(format!("{command}\0").as_bytes()).unwrap();
        let mut said = Vec::new();
        let mut part = [0; 4096];
        loop {
            let read = self.0.read(&mut part).unwrap();
            assert!(read > 0, "{command}: the daemon hung up after {}", String::from_utf8_lossy(&said));
            said.extend_from_slice(&part[..read]);
            if let [text @ .., 0, 0, 0, status] = said.as_slice() {
                return (String::from_utf8_lossy(text).into_owned(), *status);
            }
        }
    }

    /// The same, again while somebody else writes: mgmtd lets one at a time, and does so itself for a moment after its start.
    fn ask_until_free(&mut self, command: &str) -> (String, u8) {
        for _ in 0..100 {
            let (said, status) = self.ask(command);
            if !said.contains("could not lock") {
                return (said, status);
            }
            sleep(Duration::from_millis(30));
        }
        self.ask(command)
    }

    /// Makes a change, or says why the daemon did not.
    pub fn apply(&mut self, change: &ConfigChange) -> Result<(), RefusedCommand> {
        for command in change.commands() {
            let (said, status) = self.ask_until_free(&command);
            if status != 0 {
                self.ask(ConfigChange::END);
                return Err(RefusedCommand { command, status, said });
            }
        }
        Ok(())
    }
}

/// The daemons of a machine that run.
pub fn daemons(machine: &LabMachine, frr: Frr) -> Vec<FrrDaemon> {
    let runs = |daemon: &FrrDaemon| machine.path(&format!("/run/frr/{daemon}.vty")).exists();
    FrrDaemon::of(frr.version()).iter().copied().filter(runs).collect()
}

/// What a daemon runs of what it is told.
pub fn running(machine: &LabMachine, frr: Frr, daemon: FrrDaemon) -> FrrConfig {
    let (text, status) = Vty::open(machine, daemon).ask("show running-config");
    assert_eq!(status, 0, "{daemon}: {text}");
    FrrConfig::parse(&text).of(daemon, frr.version())
}

/// Makes a configuration of the one that runs. What was told and what a daemon did not do are returned.
pub fn reload(machine: &LabMachine, frr: Frr, conf: &str) -> (Vec<(FrrDaemon, ConfigChange)>, Vec<String>) {
    let intended = FrrConfig::parse(conf);
    let changes = in_order(daemons(machine, frr).into_iter().map(|daemon| {
        (daemon, difference(&running(machine, frr, daemon), &intended.of(daemon, frr.version())))
    }));
    let mut against = Vec::new();
    for (daemon, change) in &changes {
        // bgpd of FRR 10.3 loses aggregates, without a word, when instances come and go faster than it deletes them.
        if frr.version().0 >= 10 {
            sleep(Duration::from_millis(20));
        }
        let refused = Vty::open(machine, *daemon).apply(change).err();
        against.extend(refused.map(|said| format!("{daemon}: {said}")));
    }
    (changes, against)
}

/// What of a configuration does not run, and what runs besides, daemon by daemon.
pub fn compared(machine: &LabMachine, frr: Frr, conf: &str) -> Vec<String> {
    let intended = FrrConfig::parse(conf);
    let daemons = daemons(machine, frr);
    let lost = |line: &&Line| !daemons.iter().any(|daemon| daemon.takes(frr.version(), line));
    let lost = intended.lines().iter().filter(lost);
    let mut wrong: Vec<_> = lost.map(|line| format!("no daemon takes: {line}")).collect();
    for daemon in daemons {
        let running = running(machine, frr, daemon);
        let Comparison { missing, extra } = compare(&running, &intended.of(daemon, frr.version()));
        wrong.extend(missing.iter().map(|line| format!("{daemon} lacks: {line}")));
        wrong.extend(extra.iter().map(|line| format!("{daemon} has besides: {line}")));
    }
    wrong
}
