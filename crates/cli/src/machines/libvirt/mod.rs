//! Machines on a libvirt host, through virsh.

mod store;
mod virsh;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::machines::Drives;
use ichor_core::machines::libvirt::answer::{self, full_drives, is_on};
use ichor_core::machines::libvirt::obstacles::{There, obstacles};
use ichor_core::machines::libvirt::{Wanted, drives};
use ichor_core::render::hypervisor::medium::Medium;
use ichor_values::Issue;

use super::program::ProgramError;
use super::{Kind, MachineError, Machines, Made, Onlooker, Powers, Shelf, State, Stop, SupplyError};
use crate::cache::FetchError;
use virsh::Virsh;

/// How long what runs on a machine has to end by itself.
const FAREWELL: Duration = Duration::from_mins(2);

/// The time between two looks at it.
const PAUSE: Duration = Duration::from_millis(500);

/// A step that was not done.
#[derive(Debug, thiserror::Error)]
enum LibvirtError {
    #[error(transparent)]
    Virsh(#[from] ProgramError),
    #[error(transparent)]
    Supply(#[from] SupplyError),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Home(#[from] crate::cache::NoHome),
    #[error("cannot read {what}")]
    Local { what: String, source: std::io::Error },
    #[error("there is no such machine; `ichor up` makes it")]
    Absent,
    #[error("the machine of this name is not ours: its UUID is {0}")]
    Foreign(String),
    #[error(
        "there is a disk {0} without its machine; take it away with `virsh vol-delete`, or give it another name"
    )]
    Disk(String),
    #[error("it is still on after {} s; `--cut` does not wait", FAREWELL.as_secs())]
    Awake,
}

impl LibvirtError {
    fn kind(&self) -> Kind {
        match self {
            Self::Virsh(error) => error.kind(),
            Self::Supply(_) | Self::Fetch(_) | Self::Home(_) | Self::Local { .. } => Kind::Ours,
            Self::Absent => Kind::Absent,
            Self::Foreign(_) | Self::Disk(_) => Kind::Foreign,
            Self::Awake => Kind::Refused,
        }
    }
}

/// A libvirt host, and what is wanted of it.
#[derive(Debug)]
pub(super) struct Libvirt {
    virsh: Virsh,
    wanted: Vec<Wanted>,
    /// Held while something is made that machines share: a network, a pool, an image.
    turn: Mutex<()>,
}

impl Libvirt {
    pub(super) fn new(uri: &str, wanted: Vec<Wanted>) -> Self {
        Self { virsh: Virsh::new(uri), wanted, turn: Mutex::default() }
    }

    fn wanted(&self, node: &str) -> &Wanted {
        let found = self.wanted.iter().find(|wanted| wanted.node == node);
        found.expect("`Fleet` asks for nodes that it gave to this provider")
    }

    fn step<T>(
        &self,
        node: &str,
        what: &str,
        act: impl FnOnce(&Wanted) -> Result<T, LibvirtError>,
    ) -> Result<T, MachineError> {
        act(self.wanted(node)).map_err(|source| {
            let (node, what, place) = (node.to_owned(), what.to_owned(), self.virsh.place());
            MachineError { node, what, place, kind: source.kind(), source: Box::new(source) }
        })
    }

    fn domains(&self) -> Result<There, ProgramError> {
        let said = self.virsh.say(&["list", "--all", "--uuid", "--name"])?;
        Ok(There { domains: answer::domains(&said), ..There::default() })
    }

    /// The UUID of the node's own machine, which has to be there.
    fn own(&self, wanted: &Wanted) -> Result<String, LibvirtError> {
        let there = self.domains()?;
        match (there.own(wanted), there.foreign(wanted)) {
            (Some(own), _) => Ok(own.uuid.clone()),
            (None, Some(other)) => Err(LibvirtError::Foreign(other.uuid.clone())),
            (None, None) => Err(LibvirtError::Absent),
        }
    }

    fn is_on(&self, uuid: &str) -> Result<bool, ProgramError> {
        Ok(is_on(&self.virsh.say(&["domstate", uuid])?))
    }

    fn look(&self, wanted: &[&Wanted]) -> Result<There, ProgramError> {
        let mut there = self.domains()?;
        there.release = answer::release(&self.virsh.say(&["version", "--daemon"])?);
        there.pools = answer::names(&self.virsh.say(&["pool-list", "--name"])?);
        there.networks = answer::names(&self.virsh.say(&["net-list", "--all", "--name"])?);
        let absent = wanted.iter().filter(|one| there.own(one).is_none());
        for store in absent.map(|one| &one.store).collect::<BTreeSet<_>>() {
            store::refresh(&self.virsh, store)?;
        }
        for one in wanted {
            if !there.abilities.contains_key(one.architecture) {
                let abilities = match self.virsh.say(&["domcapabilities", "--arch", one.architecture]) {
                    Ok(said) => Some(answer::abilities(&said)),
                    Err(error) if error.kind() == Kind::Refused => None,
                    Err(error) => return Err(error),
                };
                there.abilities.insert(one.architecture, abilities);
            }
            if there.own(one).is_none() && store::shows_disk(&self.virsh, one)? {
                there.disks.push(one.disk.clone());
            }
        }
        Ok(there)
    }

    fn create(&self, wanted: &Wanted, onlooker: &dyn Onlooker) -> Result<Made, LibvirtError> {
        let made = match self.own(wanted) {
            Ok(_) => Made::Before,
            Err(LibvirtError::Absent) => {
                self.find_room(wanted)?;
                self.define(wanted, onlooker)?;
                Made::Now
            }
            Err(error) => return Err(error),
        };
        // The machine is there before its disk: a disk without a machine is somebody else's.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.connect(wanted)?;
        store::disk(&self.virsh, wanted)?;
        Ok(made)
    }

    /// Refuses a machine whose disk is there without it.
    fn find_room(&self, wanted: &Wanted) -> Result<(), LibvirtError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if store::has_disk(&self.virsh, wanted)? {
            return Err(LibvirtError::Disk(wanted.disk.clone()));
        }
        Ok(())
    }

    fn define(&self, wanted: &Wanted, onlooker: &dyn Onlooker) -> Result<(), ProgramError> {
        let has_kvm =
            self.virsh.has(&["domcapabilities", "--virttype", "kvm", "--arch", wanted.architecture])?;
        if !has_kvm {
            onlooker.line(&format!("{}: its host has no KVM, so it is emulated and slow", wanted.node));
        }
        let document = if has_kvm { &wanted.document } else { &wanted.emulated };
        self.virsh.give(&["define", "/dev/stdin"], document)?;
        let uuid = wanted.uuid.to_string();
        let mut words = vec!["autostart", &uuid];
        words.extend((!wanted.on_boot).then_some("--disable"));
        self.virsh.say(&words).map(drop)
    }

    /// Makes sure that the network runs that a machine is in.
    fn connect(&self, wanted: &Wanted) -> Result<(), ProgramError> {
        let (name, virsh) = (wanted.network.as_str(), &self.virsh);
        let running = answer::names(&virsh.say(&["net-list", "--name"])?);
        if running.iter().any(|known| known == name) {
            return Ok(());
        }
        let known = answer::names(&virsh.say(&["net-list", "--all", "--name"])?);
        if let Some(document) =
            wanted.network_document.as_ref().filter(|_| !known.iter().any(|it| it == name))
        {
            virsh.give(&["net-define", "/dev/stdin"], document)?;
            virsh.say(&["net-autostart", name])?;
        }
        virsh.say(&["net-start", name]).map(drop)
    }

    fn put_in(
        &self,
        wanted: &Wanted,
        shelf: &dyn Shelf,
        onlooker: &dyn Onlooker,
    ) -> Result<(), LibvirtError> {
        let uuid = self.own(wanted)?;
        for drive in wanted.drives.iter().filter(|drive| !drive.is_given()) {
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            store::bring(&self.virsh, drive, shelf, onlooker)?;
        }
        let full = full_drives(&self.virsh.say(&["domblklist", &uuid, "--details"])?);
        let is_on = self.is_on(&uuid)?;
        for drive in wanted.drives.iter().filter(|drive| !full.contains(&drive.device)) {
            let mut words = vec!["update-device", uuid.as_str(), "/dev/stdin", "--config"];
            words.extend(is_on.then_some("--live"));
            self.virsh.give(&words, &drive.element)?;
        }
        Ok(())
    }

    fn take_out(&self, wanted: &Wanted) -> Result<(), LibvirtError> {
        let uuid = self.own(wanted)?;
        let full = full_drives(&self.virsh.say(&["domblklist", &uuid, "--details"])?);
        let is_on = self.is_on(&uuid)?;
        for drive in wanted.drives.iter().filter(|drive| full.contains(&drive.device)) {
            let mut words = vec!["change-media", uuid.as_str(), drive.device.as_str(), "--eject", "--config"];
            // A guest that has locked its drive would keep the CD for ever.
            words.extend(if is_on { ["--live", "--force"].as_slice() } else { &[] });
            self.virsh.say(&words)?;
        }
        Ok(store::discard_own(&self.virsh, wanted)?)
    }

    fn remove(&self, wanted: &Wanted) -> Result<(), LibvirtError> {
        let uuid = match self.own(wanted) {
            Err(LibvirtError::Absent) => return Ok(()),
            found => found?,
        };
        if self.is_on(&uuid)? {
            self.virsh.say(&["destroy", &uuid])?;
        }
        store::discard_all(&self.virsh, wanted)?;
        self.virsh.say(&["undefine", &uuid, "--nvram", "--managed-save", "--snapshots-metadata"])?;
        Ok(())
    }

    fn end(&self, wanted: &Wanted, how: Stop) -> Result<(), LibvirtError> {
        let uuid = self.own(wanted)?;
        if !self.is_on(&uuid)? {
            return Ok(());
        }
        if how == Stop::Cut {
            return Ok(self.virsh.say(&["destroy", &uuid]).map(drop)?);
        }
        self.virsh.say(&["shutdown", &uuid])?;
        let start = Instant::now();
        while self.is_on(&uuid)? {
            if start.elapsed() > FAREWELL {
                return Err(LibvirtError::Awake);
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// What the guest agent tells, else what the network has leased, else who was seen on it.
    fn ask(&self, wanted: &Wanted) -> Result<Vec<IpAddr>, LibvirtError> {
        let uuid = self.own(wanted)?;
        let sources = if wanted.has_agent { ["agent", "lease", "arp"].as_slice() } else { &["lease", "arp"] };
        for source in sources {
            let said = match self.virsh.say(&["domifaddr", &uuid, "--full", "--source", source]) {
                Ok(said) => said,
                // An agent that does not answer yet, a machine that is off.
                Err(error) if error.kind() == Kind::Refused => continue,
                Err(error) => return Err(error.into()),
            };
            let found = answer::addresses(&said, &wanted.macs);
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }
}

impl Machines for Libvirt {
    fn place(&self) -> String {
        self.virsh.place()
    }

    fn powers(&self) -> Powers {
        Powers { makes: true, media: true, addresses: true }
    }

    fn check(&self, nodes: &[&str]) -> Vec<Issue> {
        let wanted: Vec<_> = nodes.iter().map(|node| self.wanted(node)).collect();
        match self.look(&wanted) {
            Ok(there) => obstacles(&self.virsh.place(), &wanted, &there),
            Err(error) => vec![super::unasked(&self.virsh.place(), error.kind(), &error)],
        }
    }

    fn state(&self, node: &str) -> Result<State, MachineError> {
        self.step(node, "look at its machine", |wanted| match self.own(wanted) {
            Ok(uuid) => Ok(if self.is_on(&uuid)? { State::On } else { State::Off }),
            Err(LibvirtError::Absent) => Ok(State::Absent),
            Err(LibvirtError::Foreign(uuid)) => Ok(State::Foreign(format!("`{node}` with the UUID {uuid}"))),
            Err(error) => Err(error),
        })
    }

    fn make(&self, node: &str, _: &dyn Shelf, onlooker: &dyn Onlooker) -> Result<Made, MachineError> {
        self.step(node, "make its machine", |wanted| self.create(wanted, onlooker))
    }

    fn media(&self, node: &str) -> Vec<Medium> {
        self.wanted(node).drives.iter().map(|drive| drive.medium.clone()).collect()
    }

    fn attach(&self, node: &str, shelf: &dyn Shelf, onlooker: &dyn Onlooker) -> Result<(), MachineError> {
        self.step(node, "put media into its machine", |wanted| self.put_in(wanted, shelf, onlooker))
    }

    fn drives(&self, node: &str) -> Result<Option<Drives>, MachineError> {
        self.step(node, "look into its machine's drives", |wanted| {
            let uuid = self.own(wanted)?;
            Ok(Some(drives::drives(wanted, &self.virsh.say(&["dumpxml", &uuid])?)))
        })
    }

    fn start(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "switch its machine on", |wanted| {
            let uuid = self.own(wanted)?;
            if !self.is_on(&uuid)? {
                self.virsh.say(&["start", &uuid])?;
            }
            Ok(())
        })
    }

    fn stop(&self, node: &str, how: Stop) -> Result<(), MachineError> {
        self.step(node, "switch its machine off", |wanted| self.end(wanted, how))
    }

    fn eject(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "take the media out of its machine", |wanted| self.take_out(wanted))
    }

    fn delete(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "take its machine away", |wanted| self.remove(wanted))
    }

    fn addresses(&self, node: &str) -> Result<Vec<IpAddr>, MachineError> {
        self.step(node, "ask for its machine's addresses", |wanted| self.ask(wanted))
    }
}
