//! The releases of FRR that files are tried on.

use std::process::Output;

use super::lab::{LabMachine, RootFileSystem};

/// A release of FRR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frr {
    /// 8.4, this machine's: `scripts/tools frr`.
    V8,
    /// 10.3, in the output of `scripts/lab-root`.
    V10,
}

impl Frr {
    pub const ALL: [Self; 2] = [Self::V8, Self::V10];

    /// Its first two numbers.
    pub fn version(self) -> (u16, u16) {
        match self {
            Self::V8 => (8, 4),
            Self::V10 => (10, 3),
        }
    }

    /// A machine with this FRR, which does not run yet.
    pub fn machine(self) -> LabMachine {
        self.prepare(LabMachine::new(self.root()))
    }

    /// A machine that shares the network of another.
    pub fn machine_beside(self, other: &LabMachine) -> LabMachine {
        self.prepare(LabMachine::beside(other, self.root()))
    }

    fn root(self) -> RootFileSystem {
        match self {
            Self::V8 => RootFileSystem::Own,
            Self::V10 => RootFileSystem::Trixie,
        }
    }

    fn prepare(self, machine: LabMachine) -> LabMachine {
        let major = if self == Self::V8 { "8" } else { "10" };
        let found = machine.run("/usr/lib/frr/bgpd --version 2>&1 | head -n 1");
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        assert!(
            found.contains(&format!("version {major}.")),
            "no FRR {major}: {found}; `scripts/tools frr` and `scripts/lab-root` install what is tried"
        );
        machine.ask("install -d -o frr -g frr /run/frr && touch /etc/frr/vtysh.conf");
        machine
    }

    /// Starts the daemons that a file `daemons` names, with its options. Without one, and where it is for another release,
    /// all run, with next to none.
    pub fn start(self, machine: &LabMachine, daemons: Option<&str>) {
        let fits = |text: &&str| text.contains(if self == Self::V10 { "mgmtd=yes" } else { "mgmtd=no" });
        let daemons = daemons.filter(fits);
        for name in ["mgmtd", "zebra", "bgpd", "bfdd", "staticd"] {
            let options = match daemons {
                Some(text) => text.lines().find_map(|line| line.strip_prefix(&format!("{name}_options="))),
                None => (name != "mgmtd" || self == Self::V10).then_some("-P 0"),
            };
            if let Some(options) = options.map(|options| options.trim_matches('"')) {
                machine.start(&format!("/usr/lib/frr/{name} {options}"), &format!("/run/frr/{name}.vty"));
            }
        }
    }

    /// Loads a file into running daemons.
    pub fn load(machine: &LabMachine, conf: &str) -> Output {
        machine.write("/etc/frr/frr.conf", conf);
        machine.run("vtysh -f /etc/frr/frr.conf")
    }
}

/// The lines of a file that concern bgpd: others end its reading.
pub fn of_bgpd(conf: &str) -> String {
    let mut lines = String::new();
    let mut skipping = false;
    for line in conf.lines() {
        skipping |= line == "bfd" || line.starts_with("interface ");
        let zebra = line.starts_with(" set src")
            || line.starts_with("no zebra ")
            || line.contains(" protocol bgp route-map ")
            || line.ends_with(" forwarding");
        if !skipping && !zebra {
            lines += line;
            lines.push('\n');
        }
        skipping &= line != "exit";
    }
    lines
}
