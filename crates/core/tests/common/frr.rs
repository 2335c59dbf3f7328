//! The releases of FRR that files are tried on.

use std::process::Output;

use super::lab::{Machine, Root};

/// A release of FRR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frr {
    /// 8.4, this machine's: `scripts/tools frr`.
    V8,
    /// 10.3, in what `scripts/lab-root` makes.
    V10,
}

impl Frr {
    pub const ALL: [Self; 2] = [Self::V8, Self::V10];

    /// A machine with this FRR, which does not run yet.
    pub fn machine(self) -> Machine {
        let machine = Machine::new(match self {
            Self::V8 => Root::Own,
            Self::V10 => Root::Trixie,
        });
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

    /// Starts the daemons that a file `daemons` names, with its options. One for another release says nothing here: then
    /// all run, with none.
    pub fn start(self, machine: &Machine, daemons: &str) {
        let fits = daemons.lines().any(|line| line == "mgmtd=yes") == (self == Self::V10);
        for name in ["mgmtd", "zebra", "bgpd", "bfdd", "staticd"] {
            let (runs, options) = if fits {
                let options = daemons.lines().find_map(|line| line.strip_prefix(&format!("{name}_options=")));
                (options.is_some(), options.unwrap_or_default().trim_matches('"'))
            } else {
                (name != "mgmtd" || self == Self::V10, "-P 0")
            };
            if runs {
                machine.start(&format!("/usr/lib/frr/{name} {options}"), &format!("/run/frr/{name}.vty"));
            }
        }
    }

    /// Loads a file into running daemons.
    pub fn load(machine: &Machine, conf: &str) -> Output {
        machine.write("/etc/frr/frr.conf", conf);
        machine.run("vtysh -f /etc/frr/frr.conf")
    }
}
