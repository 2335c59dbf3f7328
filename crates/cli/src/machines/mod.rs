//! Machines: made, supplied with media, switched on and off, and taken away.
//!
//! [`Fleet::of`] finds who provides the machine of each node: a hypervisor, or the controller of a real machine. Providers are
//! blocking and may be called from several threads; nodes are called by their names. What is decided is in `core/machines/`.
//!
//! The order is `check` (which changes nothing), `make`, `attach`, `start`, and once Talos is installed `eject`. Each may be called
//! again: what is so already stays as it is. A machine that is somebody else's is never touched.

mod error;
mod fleet;
mod folders;
mod ipmi;
mod libvirt;
mod program;
mod proxmox;
mod redfish;
mod supply;

use std::fmt;
use std::net::IpAddr;

use ichor_core::machines::Drives;
use ichor_core::render::hypervisor::medium::Medium;
use ichor_values::Issue;

pub(crate) use error::{Kind, MachineError};
pub(crate) use fleet::Fleet;
pub(crate) use folders::Folders;
pub(crate) use supply::{Onlooker, Shelf, Supply, SupplyError};

/// Who provides machines.
pub(crate) trait Machines: fmt::Debug + Send + Sync {
    /// Where it is, for people.
    fn place(&self) -> String;

    /// What it can do with its machines.
    fn powers(&self) -> Powers;

    /// Everything that keeps these nodes' machines from being made or used, looked up without changing anything.
    fn check(&self, nodes: &[&str]) -> Vec<Issue>;

    /// What there is of a node's machine.
    fn state(&self, node: &str) -> Result<State, MachineError>;

    /// Makes a node's machine, where it is not there. It is off then, and waits for its media; a disk that begins as an image has it.
    fn make(&self, node: &str, shelf: &dyn Shelf, onlooker: &dyn Onlooker) -> Result<Made, MachineError>;

    /// What a node's machine boots and reads; the one it boots is the first.
    fn media(&self, node: &str) -> Vec<Medium>;

    /// Brings a node's media to where its machine is, and puts them in.
    fn attach(&self, node: &str, shelf: &dyn Shelf, onlooker: &dyn Onlooker) -> Result<(), MachineError>;

    /// What is in the drives of a node's machine; none where it has none that anybody here fills.
    fn drives(&self, node: &str) -> Result<Option<Drives>, MachineError>;

    /// Switches a node's machine on.
    fn start(&self, node: &str) -> Result<(), MachineError>;

    /// Switches a node's machine off.
    fn stop(&self, node: &str, how: Stop) -> Result<(), MachineError>;

    /// Takes a node's media out, and away where they hold secrets.
    fn eject(&self, node: &str) -> Result<(), MachineError>;

    /// Takes a node's machine away for good, with its disk and the media made for it.
    fn delete(&self, node: &str) -> Result<(), MachineError>;

    /// The addresses a node's machine has now, as far as the provider knows: those of its ports, without loopback and link-local ones.
    fn addresses(&self, node: &str) -> Result<Vec<IpAddr>, MachineError>;
}

/// What a provider can do with its machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Powers {
    /// It makes them and takes them away.
    pub makes: bool,
    /// It puts media in.
    pub media: bool,
    /// It may know their addresses.
    pub addresses: bool,
}

/// What there is of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing.
    Absent,
    /// It is switched off.
    Off,
    /// It is switched on.
    On,
    /// Another machine is in its place: which, and whose.
    Foreign(String),
}

/// What came of making a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// It was made.
    Now,
    /// It was there.
    Before,
}

/// How a machine is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// What runs on it is asked to end, and has some time for it.
    Asked,
    /// As if its power were cut.
    Cut,
}

/// Nobody looks on.
pub(crate) struct Nobody;

impl Onlooker for Nobody {
    fn bytes(&self, _: &str, _: u64, _: u64) {}

    fn line(&self, _: &str) {}
}

/// What is said of a provider that cannot be asked.
fn unasked(place: &str, kind: Kind, error: &dyn std::error::Error) -> Issue {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let chain: Vec<_> = std::iter::once(error.to_string()).chain(causes.map(ToString::to_string)).collect();
    let fix = match kind {
        Kind::Denied => "give it a login that may do this, and the right `fingerprint` or `ca`",
        Kind::Ours => "install what is missing here",
        _ => "see that it runs and can be reached from here",
    };
    Issue::error(place, chain.join(": ")).with_help(fix)
}

/// What is said of a machine of metal that is to be taken away.
fn is_real(node: &str, place: String) -> MachineError {
    let (node, what) = (node.to_owned(), "take its machine away".to_owned());
    MachineError { node, what, place, kind: Kind::Unable, source: "it is a real one".into() }
}
