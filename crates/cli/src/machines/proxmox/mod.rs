//! Machines on Proxmox VE, through its API.

mod api;
mod look;
mod store;
mod task;
mod upload;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use ichor_core::machines::Drives;
use ichor_core::machines::proxmox::answer::{addresses, settings, size};
use ichor_core::machines::proxmox::obstacles::obstacles;
use ichor_core::machines::proxmox::there::Machine;
use ichor_core::machines::proxmox::wanted::{DISK, EMPTY};
use ichor_core::machines::proxmox::{Wanted, drives, request};
use ichor_core::render::hypervisor::medium::Medium;
use ichor_values::Issue;

use super::{Kind, MachineError, Machines, Made, Onlooker, Powers, Shelf, State, Stop};
use crate::http::Trust;
use api::{Api, ApiError};

pub(super) use api::Login;

/// How many seconds what runs on a machine has to end by itself.
const FAREWELL: u64 = 120;

/// A Proxmox cluster, and what is wanted of it.
#[derive(Debug)]
pub(super) struct Proxmox {
    api: Api,
    /// In the order of the file.
    wanted: Vec<Wanted>,
    /// The host of each machine, once it was decided.
    placed: Mutex<BTreeMap<String, String>>,
    /// Held while a number is chosen, and while a file that several machines share is brought in.
    turn: Mutex<()>,
    /// Whether machines that others had begun to make before this run are made by now.
    settled: Mutex<bool>,
}

impl Proxmox {
    pub(super) fn new(url: &str, trust: &Trust, login: Login, wanted: Vec<Wanted>) -> Self {
        let api = Api::new(url, trust, login);
        Self { api, wanted, placed: Mutex::default(), turn: Mutex::default(), settled: Mutex::default() }
    }

    /// What is wanted of a node's machine, and how to say that a step of it failed.
    fn wanted(&self, node: &str) -> &Wanted {
        self.wanted
            .iter()
            .find(|wanted| wanted.node == node)
            .expect("`Fleet` asks for nodes that it gave to this provider")
    }

    fn failed(&self, node: &str, what: &str, source: ApiError) -> MachineError {
        let (node, what, place) = (node.to_owned(), what.to_owned(), self.api.place());
        MachineError { node, what, place, kind: source.kind(), source: Box::new(source) }
    }

    fn not(&self, node: &str, what: &str, kind: Kind, why: String) -> MachineError {
        let (node, what, place) = (node.to_owned(), what.to_owned(), self.api.place());
        MachineError { node, what, place, kind, source: why.into() }
    }

    /// The node's own machine, which has to be there.
    fn own(&self, node: &str, what: &str) -> Result<Machine, MachineError> {
        let found =
            look::find(&self.api, self.wanted(node)).map_err(|error| self.failed(node, what, error))?;
        match found {
            look::Found::Own(machine) => Ok(machine),
            look::Found::Nothing => Err(self.not(
                node,
                what,
                Kind::Absent,
                "there is no such machine; `ichor up` makes it".to_owned(),
            )),
            look::Found::Foreign(whose) => {
                Err(self.not(node, what, Kind::Foreign, format!("{whose} is not ours: it has another UUID")))
            }
        }
    }

    /// The host of a machine that is not there yet. Decided for all at once, so that each time it comes out the same.
    fn host(&self, wanted: &Wanted) -> Result<Option<String>, ApiError> {
        if let Some(host) = &wanted.host {
            return Ok(Some(host.clone()));
        }
        let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        if placed.is_empty() {
            *placed = look::placed(&self.api, &self.wanted)?;
        }
        Ok(placed.get(&wanted.node).cloned())
    }

    /// Waits for machines that somebody has begun to make, once: without a number of its own, a machine that an earlier run has
    /// begun is known by its name alone, which it does not have yet.
    fn settle(&self, onlooker: &dyn Onlooker) -> Result<(), ApiError> {
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        if !*settled {
            look::settle(&self.api, onlooker)?;
            *settled = true;
        }
        Ok(())
    }

    fn create(&self, wanted: &Wanted, shelf: &dyn Shelf, onlooker: &dyn Onlooker) -> Result<(), ApiError> {
        let host = self.host(wanted)?.ok_or_else(|| ApiError::Refused {
            request: request::hosts().to_string(),
            status: 595,
            said: "no host of the cluster answers".to_owned(),
        })?;
        if let Some(image) = &wanted.image {
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            store::bring(&self.api, &host, image, shelf, onlooker)?;
        }
        let (id, call, answer) = {
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let id = match wanted.id {
                Some(id) => id,
                None => look::free_id(&self.api)?,
            };
            let call = request::create(&host, id, &wanted.settings);
            let answer = self.api.call(&call)?;
            (id, call, answer)
        };
        task::follow(&self.api, &call, &answer, onlooker)?;
        self.enlarge(wanted, &host, id, onlooker)
    }

    /// Gives a disk that began as an image the size it shall have.
    fn enlarge(&self, wanted: &Wanted, host: &str, id: u32, onlooker: &dyn Onlooker) -> Result<(), ApiError> {
        if wanted.image.is_none() {
            return Ok(());
        }
        let now = settings(&self.api.call(&request::settings(host, id))?);
        let has = now.get(DISK).and_then(|disk| size(disk));
        if has.is_some_and(|has| has >= wanted.disk << 30) {
            return Ok(());
        }
        task::run(&self.api, &request::resize(host, id, DISK, &format!("{}G", wanted.disk)), onlooker)
    }

    /// Puts CDs in, or takes them out.
    fn fill(&self, machine: &Machine, drives: &[(String, String)]) -> Result<(), ApiError> {
        if drives.is_empty() {
            return Ok(());
        }
        self.api.call(&request::change(&machine.host, machine.id, drives)).map(drop)
    }

    fn put_in(
        &self,
        wanted: &Wanted,
        machine: &Machine,
        shelf: &dyn Shelf,
        onlooker: &dyn Onlooker,
    ) -> Result<(), ApiError> {
        for drive in &wanted.drives {
            let _turn = (!drive.medium.own).then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
            store::bring(&self.api, &machine.host, drive, shelf, onlooker)?;
        }
        let now = settings(&self.api.call(&request::settings(&machine.host, machine.id))?);
        let is_in =
            |name: &str, volume: &str| now.get(name).is_some_and(|now| now.split(',').next() == Some(volume));
        let missing = wanted.drives.iter().filter(|drive| !is_in(drive.name, &drive.volume));
        let drives: Vec<_> = missing.map(|drive| (drive.name.to_owned(), drive.full())).collect();
        self.fill(machine, &drives)
    }

    fn take_out(&self, wanted: &Wanted, machine: &Machine) -> Result<(), ApiError> {
        let now = settings(&self.api.call(&request::settings(&machine.host, machine.id))?);
        // What somebody else put in stays.
        let is_in =
            |name: &str, volume: &str| now.get(name).is_some_and(|now| now.split(',').next() == Some(volume));
        let full = wanted.drives.iter().filter(|drive| is_in(drive.name, &drive.volume));
        let drives: Vec<_> = full.map(|drive| (drive.name.to_owned(), EMPTY.to_owned())).collect();
        self.fill(machine, &drives)?;
        store::discard_own(&self.api, &machine.host, wanted)
    }

    fn remove(&self, wanted: &Wanted, machine: &Machine) -> Result<(), ApiError> {
        if machine.is_on {
            task::run(&self.api, &request::stop(&machine.host, machine.id), &super::Nobody)?;
        }
        task::run(&self.api, &request::delete(&machine.host, machine.id), &super::Nobody)?;
        store::discard_own(&self.api, &machine.host, wanted)
    }

    /// What a guest agent tells; nothing where it is not there, or does not answer yet.
    fn ask_agent(&self, wanted: &Wanted, machine: &Machine) -> Result<Vec<IpAddr>, ApiError> {
        let now = settings(&self.api.call(&request::settings(&machine.host, machine.id))?);
        let macs: Vec<String> = look::macs(&now);
        match self.api.call(&request::ports(&machine.host, machine.id)) {
            Ok(answer) => Ok(addresses(&answer, if macs.is_empty() { &wanted.macs } else { &macs })),
            Err(error) if error.kind() == Kind::Refused => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

impl Machines for Proxmox {
    fn place(&self) -> String {
        self.api.place()
    }

    fn powers(&self) -> Powers {
        Powers { makes: true, media: true, addresses: true }
    }

    fn check(&self, nodes: &[&str]) -> Vec<Issue> {
        let wanted: Vec<_> = nodes.iter().map(|node| self.wanted(node)).collect();
        match look::look(&self.api, &self.wanted, &wanted) {
            Ok((there, placed)) => obstacles(&self.api.place(), &wanted, &there, &placed),
            Err(error) => vec![super::unasked(&self.api.place(), error.kind(), &error)],
        }
    }

    fn state(&self, node: &str) -> Result<State, MachineError> {
        let found = look::find(&self.api, self.wanted(node));
        Ok(match found.map_err(|error| self.failed(node, "look at its machine", error))? {
            look::Found::Own(machine) if machine.is_on => State::On,
            look::Found::Own(_) => State::Off,
            look::Found::Nothing => State::Absent,
            look::Found::Foreign(whose) => State::Foreign(whose),
        })
    }

    fn make(&self, node: &str, shelf: &dyn Shelf, onlooker: &dyn Onlooker) -> Result<Made, MachineError> {
        let (wanted, what) = (self.wanted(node), "make its machine");
        let failed = |error| self.failed(node, what, error);
        let mut found = self.own(node, what);
        if wanted.id.is_none() && found.as_ref().is_err_and(|error| error.kind == Kind::Absent) {
            self.settle(onlooker).map_err(failed)?;
            found = self.own(node, what);
        }
        match found {
            Ok(machine) => {
                // An earlier run may have come no further.
                let done = self.enlarge(wanted, &machine.host, machine.id, onlooker);
                return done.map(|()| Made::Before).map_err(failed);
            }
            Err(error) if error.kind == Kind::Absent => {}
            Err(error) => return Err(error),
        }
        self.create(wanted, shelf, onlooker).map_err(failed)?;
        Ok(Made::Now)
    }

    fn media(&self, node: &str) -> Vec<Medium> {
        self.wanted(node).files().map(|file| file.medium.clone()).collect()
    }

    fn attach(&self, node: &str, shelf: &dyn Shelf, onlooker: &dyn Onlooker) -> Result<(), MachineError> {
        let what = "put media into its machine";
        let machine = self.own(node, what)?;
        let done = self.put_in(self.wanted(node), &machine, shelf, onlooker);
        done.map_err(|error| self.failed(node, what, error))
    }

    fn drives(&self, node: &str) -> Result<Option<Drives>, MachineError> {
        let what = "look into its machine's drives";
        let machine = self.own(node, what)?;
        let now = self.api.call(&request::settings(&machine.host, machine.id));
        let now = now.map_err(|error| self.failed(node, what, error))?;
        Ok(Some(drives::drives(self.wanted(node), &settings(&now))))
    }

    fn start(&self, node: &str) -> Result<(), MachineError> {
        let what = "switch its machine on";
        let machine = self.own(node, what)?;
        if machine.is_on {
            return Ok(());
        }
        let done = task::run(&self.api, &request::start(&machine.host, machine.id), &super::Nobody);
        done.map_err(|error| self.failed(node, what, error))
    }

    fn stop(&self, node: &str, how: Stop) -> Result<(), MachineError> {
        let what = "switch its machine off";
        let machine = self.own(node, what)?;
        if !machine.is_on {
            return Ok(());
        }
        let call = match how {
            Stop::Asked => request::shutdown(&machine.host, machine.id, FAREWELL),
            Stop::Cut => request::stop(&machine.host, machine.id),
        };
        task::run(&self.api, &call, &super::Nobody).map_err(|error| self.failed(node, what, error))
    }

    fn eject(&self, node: &str) -> Result<(), MachineError> {
        let what = "take the media out of its machine";
        let machine = self.own(node, what)?;
        self.take_out(self.wanted(node), &machine).map_err(|error| self.failed(node, what, error))
    }

    fn delete(&self, node: &str) -> Result<(), MachineError> {
        let what = "take its machine away";
        let machine = match self.own(node, what) {
            Err(error) if error.kind == Kind::Absent => return Ok(()),
            found => found?,
        };
        self.remove(self.wanted(node), &machine).map_err(|error| self.failed(node, what, error))
    }

    fn addresses(&self, node: &str) -> Result<Vec<IpAddr>, MachineError> {
        let what = "ask for its machine's addresses";
        let (wanted, machine) = (self.wanted(node), self.own(node, what)?);
        if !wanted.has_agent || !machine.is_on {
            return Ok(Vec::new());
        }
        self.ask_agent(wanted, &machine).map_err(|error| self.failed(node, what, error))
    }
}
