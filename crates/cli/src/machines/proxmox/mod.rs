//! VMs on Proxmox VE, through its API.

mod api;
mod inventory;
mod storage;
mod task;
mod upload;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use ichor_core::machines::Drives;
use ichor_core::machines::proxmox::blockers::find_blockers;
use ichor_core::machines::proxmox::desired_vm::{DISK, EMPTY};
use ichor_core::machines::proxmox::inventory::ProxmoxMachine;
use ichor_core::machines::proxmox::reply::{agent_addresses, disk_size, parse_settings};
use ichor_core::machines::proxmox::{DesiredVm, drives, request};
use ichor_core::render::hypervisor::medium::Medium;
use ichor_values::Issue;

use super::{
    Capabilities, Creation, FailureKind, MachineError, MachineProvider, MachineState, MediaSource, PowerOff,
    ProgressSink,
};
use crate::http::ServerTrust;
use api::{ProxmoxApi, ProxmoxError};

pub(super) use api::ProxmoxLogin;

/// Time limit for a graceful shutdown, in seconds.
const SHUTDOWN_TIMEOUT: u64 = 120;

/// A Proxmox cluster and the VMs it should run.
#[derive(Debug)]
pub(super) struct Proxmox {
    api: ProxmoxApi,
    /// Desired VMs, in the order of the file.
    wanted: Vec<DesiredVm>,
    /// Host of each VM, once decided.
    placements: Mutex<BTreeMap<String, String>>,
    /// Locked while a VM number is allocated, and while a shared file is uploaded.
    id_allocation: Mutex<()>,
    /// Whether VM creations that started before this run have finished.
    creations_settled: Mutex<bool>,
}

impl Proxmox {
    pub(super) fn new(url: &str, trust: &ServerTrust, login: ProxmoxLogin, wanted: Vec<DesiredVm>) -> Self {
        let api = ProxmoxApi::new(url, trust, login);
        Self {
            api,
            wanted,
            placements: Mutex::default(),
            id_allocation: Mutex::default(),
            creations_settled: Mutex::default(),
        }
    }

    /// The desired VM of a node.
    fn wanted(&self, node: &str) -> &DesiredVm {
        self.wanted
            .iter()
            .find(|wanted| wanted.node == node)
            .expect("`Fleet` only passes nodes of this provider")
    }

    fn failed(&self, node: &str, what: &str, source: ProxmoxError) -> MachineError {
        let (node, operation, location) = (node.to_owned(), what.to_owned(), self.api.location());
        MachineError { node, operation, location, kind: source.kind(), source: Box::new(source) }
    }

    fn failure(&self, node: &str, what: &str, kind: FailureKind, why: String) -> MachineError {
        let (node, operation, location) = (node.to_owned(), what.to_owned(), self.api.location());
        MachineError { node, operation, location, kind, source: why.into() }
    }

    /// The node's own VM, which must exist.
    fn own_vm(&self, node: &str, what: &str) -> Result<ProxmoxMachine, MachineError> {
        let found = inventory::find_vm(&self.api, self.wanted(node))
            .map_err(|error| self.failed(node, what, error))?;
        match found {
            inventory::NodeVm::Own(machine) => Ok(machine),
            inventory::NodeVm::Nothing => Err(self.failure(
                node,
                what,
                FailureKind::Missing,
                "the VM does not exist; create it with `ichor up`".to_owned(),
            )),
            inventory::NodeVm::Foreign(whose) => Err(self.failure(
                node,
                what,
                FailureKind::Foreign,
                format!("{whose} was not created by ichor: its UUID differs"),
            )),
        }
    }

    /// Host for a new VM. Decided for all VMs together, so that every run decides the same.
    fn choose_host(&self, wanted: &DesiredVm) -> Result<Option<String>, ProxmoxError> {
        if let Some(host) = &wanted.host {
            return Ok(Some(host.clone()));
        }
        let mut placements = self.placements.lock().unwrap_or_else(PoisonError::into_inner);
        if placements.is_empty() {
            *placements = inventory::placements(&self.api, &self.wanted)?;
        }
        Ok(placements.get(&wanted.node).cloned())
    }

    /// Waits once for VM creations in progress: without a configured number, a VM from an earlier run is recognised only by its
    /// name, which it does not have yet.
    fn wait_for_creations(&self, progress: &dyn ProgressSink) -> Result<(), ProxmoxError> {
        let mut creations_settled = self.creations_settled.lock().unwrap_or_else(PoisonError::into_inner);
        if !*creations_settled {
            inventory::wait_for_creations(&self.api, progress)?;
            *creations_settled = true;
        }
        Ok(())
    }

    fn create_vm(
        &self,
        wanted: &DesiredVm,
        source: &dyn MediaSource,
        progress: &dyn ProgressSink,
    ) -> Result<(), ProxmoxError> {
        let host = self.choose_host(wanted)?.ok_or_else(|| ProxmoxError::Refused {
            request: request::hosts().to_string(),
            status: 595,
            message: "no host of the cluster is online".to_owned(),
        })?;
        if let Some(image) = &wanted.image {
            let _turn = self.id_allocation.lock().unwrap_or_else(PoisonError::into_inner);
            storage::upload_medium(&self.api, &host, image, source, progress)?;
        }
        let (id, call, answer) = {
            let _turn = self.id_allocation.lock().unwrap_or_else(PoisonError::into_inner);
            let id = match wanted.id {
                Some(id) => id,
                None => inventory::free_id(&self.api)?,
            };
            let call = request::create(&host, id, &wanted.settings);
            let answer = self.api.call(&call)?;
            (id, call, answer)
        };
        task::wait_for_task(&self.api, &call, &answer, progress)?;
        self.resize_disk(wanted, &host, id, progress)
    }

    /// Grows a disk based on an image to its configured size.
    fn resize_disk(
        &self,
        wanted: &DesiredVm,
        host: &str,
        id: u32,
        progress: &dyn ProgressSink,
    ) -> Result<(), ProxmoxError> {
        if wanted.image.is_none() {
            return Ok(());
        }
        let now = parse_settings(&self.api.call(&request::settings(host, id))?);
        let has = now.get(DISK).and_then(|disk| disk_size(disk));
        if has.is_some_and(|has| has >= wanted.disk << 30) {
            return Ok(());
        }
        task::run_task(&self.api, &request::resize(host, id, DISK, &format!("{}G", wanted.disk)), progress)
    }

    /// Inserts or ejects ISOs.
    fn set_drives(&self, machine: &ProxmoxMachine, drives: &[(String, String)]) -> Result<(), ProxmoxError> {
        if drives.is_empty() {
            return Ok(());
        }
        self.api.call(&request::update(&machine.host, machine.id, drives)).map(drop)
    }

    fn attach_media(
        &self,
        wanted: &DesiredVm,
        machine: &ProxmoxMachine,
        source: &dyn MediaSource,
        progress: &dyn ProgressSink,
    ) -> Result<(), ProxmoxError> {
        for drive in &wanted.drives {
            let _turn = (!drive.medium.own)
                .then(|| self.id_allocation.lock().unwrap_or_else(PoisonError::into_inner));
            storage::upload_medium(&self.api, &machine.host, drive, source, progress)?;
        }
        let now = parse_settings(&self.api.call(&request::settings(&machine.host, machine.id))?);
        let is_in =
            |name: &str, volume: &str| now.get(name).is_some_and(|now| now.split(',').next() == Some(volume));
        let missing = wanted.drives.iter().filter(|drive| !is_in(drive.name, &drive.volume));
        let drives: Vec<_> = missing.map(|drive| (drive.name.to_owned(), drive.inserted_setting())).collect();
        self.set_drives(machine, &drives)
    }

    fn eject_media(&self, wanted: &DesiredVm, machine: &ProxmoxMachine) -> Result<(), ProxmoxError> {
        let now = parse_settings(&self.api.call(&request::settings(&machine.host, machine.id))?);
        // Media inserted manually stay.
        let is_in =
            |name: &str, volume: &str| now.get(name).is_some_and(|now| now.split(',').next() == Some(volume));
        let full = wanted.drives.iter().filter(|drive| is_in(drive.name, &drive.volume));
        let drives: Vec<_> = full.map(|drive| (drive.name.to_owned(), EMPTY.to_owned())).collect();
        self.set_drives(machine, &drives)?;
        storage::delete_own_media(&self.api, &machine.host, wanted)
    }

    fn delete_vm(&self, wanted: &DesiredVm, machine: &ProxmoxMachine) -> Result<(), ProxmoxError> {
        if machine.is_on {
            task::run_task(&self.api, &request::stop(&machine.host, machine.id), &super::NoProgress)?;
        }
        task::run_task(&self.api, &request::delete(&machine.host, machine.id), &super::NoProgress)?;
        storage::delete_own_media(&self.api, &machine.host, wanted)
    }

    /// Addresses reported by the guest agent; empty if it is missing or not ready.
    fn query_agent_addresses(
        &self,
        wanted: &DesiredVm,
        machine: &ProxmoxMachine,
    ) -> Result<Vec<IpAddr>, ProxmoxError> {
        let now = parse_settings(&self.api.call(&request::settings(&machine.host, machine.id))?);
        let macs: Vec<String> = inventory::macs(&now);
        match self.api.call(&request::agent_ports(&machine.host, machine.id)) {
            Ok(answer) => Ok(agent_addresses(&answer, if macs.is_empty() { &wanted.macs } else { &macs })),
            Err(error) if error.kind() == FailureKind::Rejected => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

impl MachineProvider for Proxmox {
    fn location(&self) -> String {
        self.api.location()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { creates_vms: true, attaches_media: true, reports_addresses: true }
    }

    fn check(&self, nodes: &[&str]) -> Vec<Issue> {
        let wanted: Vec<_> = nodes.iter().map(|node| self.wanted(node)).collect();
        match inventory::read_inventory(&self.api, &self.wanted, &wanted) {
            Ok((inventory, placements)) => {
                find_blockers(&self.api.location(), &wanted, &inventory, &placements)
            }
            Err(error) => vec![super::unreachable_issue(&self.api.location(), error.kind(), &error)],
        }
    }

    fn state(&self, node: &str) -> Result<MachineState, MachineError> {
        let found = inventory::find_vm(&self.api, self.wanted(node));
        Ok(match found.map_err(|error| self.failed(node, "query the state of its machine", error))? {
            inventory::NodeVm::Own(machine) if machine.is_on => MachineState::On,
            inventory::NodeVm::Own(_) => MachineState::Off,
            inventory::NodeVm::Nothing => MachineState::Absent,
            inventory::NodeVm::Foreign(whose) => MachineState::Foreign(whose),
        })
    }

    fn create(
        &self,
        node: &str,
        source: &dyn MediaSource,
        progress: &dyn ProgressSink,
    ) -> Result<Creation, MachineError> {
        let (wanted, what) = (self.wanted(node), "create its machine");
        let failed = |error| self.failed(node, what, error);
        let mut found = self.own_vm(node, what);
        if wanted.id.is_none() && found.as_ref().is_err_and(|error| error.kind == FailureKind::Missing) {
            self.wait_for_creations(progress).map_err(failed)?;
            found = self.own_vm(node, what);
        }
        match found {
            Ok(machine) => {
                // An earlier run may have stopped before this.
                let done = self.resize_disk(wanted, &machine.host, machine.id, progress);
                return done.map(|()| Creation::Existed).map_err(failed);
            }
            Err(error) if error.kind == FailureKind::Missing => {}
            Err(error) => return Err(error),
        }
        self.create_vm(wanted, source, progress).map_err(failed)?;
        Ok(Creation::Created)
    }

    fn media(&self, node: &str) -> Vec<Medium> {
        self.wanted(node).files().map(|file| file.medium.clone()).collect()
    }

    fn attach(
        &self,
        node: &str,
        source: &dyn MediaSource,
        progress: &dyn ProgressSink,
    ) -> Result<(), MachineError> {
        let what = "attach media to its machine";
        let machine = self.own_vm(node, what)?;
        let done = self.attach_media(self.wanted(node), &machine, source, progress);
        done.map_err(|error| self.failed(node, what, error))
    }

    fn drives(&self, node: &str) -> Result<Option<Drives>, MachineError> {
        let what = "query the drives of its machine";
        let machine = self.own_vm(node, what)?;
        let now = self.api.call(&request::settings(&machine.host, machine.id));
        let now = now.map_err(|error| self.failed(node, what, error))?;
        Ok(Some(drives::compare_drives(self.wanted(node), &parse_settings(&now))))
    }

    fn start(&self, node: &str) -> Result<(), MachineError> {
        let what = "power on its machine";
        let machine = self.own_vm(node, what)?;
        if machine.is_on {
            return Ok(());
        }
        let done = task::run_task(&self.api, &request::start(&machine.host, machine.id), &super::NoProgress);
        done.map_err(|error| self.failed(node, what, error))
    }

    fn stop(&self, node: &str, how: PowerOff) -> Result<(), MachineError> {
        let what = "power off its machine";
        let machine = self.own_vm(node, what)?;
        if !machine.is_on {
            return Ok(());
        }
        let call = match how {
            PowerOff::Graceful => request::shutdown(&machine.host, machine.id, SHUTDOWN_TIMEOUT),
            PowerOff::Forced => request::stop(&machine.host, machine.id),
        };
        task::run_task(&self.api, &call, &super::NoProgress).map_err(|error| self.failed(node, what, error))
    }

    fn eject(&self, node: &str) -> Result<(), MachineError> {
        let what = "eject the media of its machine";
        let machine = self.own_vm(node, what)?;
        self.eject_media(self.wanted(node), &machine).map_err(|error| self.failed(node, what, error))
    }

    fn delete(&self, node: &str) -> Result<(), MachineError> {
        let what = "delete its machine";
        let machine = match self.own_vm(node, what) {
            Err(error) if error.kind == FailureKind::Missing => return Ok(()),
            found => found?,
        };
        self.delete_vm(self.wanted(node), &machine).map_err(|error| self.failed(node, what, error))
    }

    fn addresses(&self, node: &str) -> Result<Vec<IpAddr>, MachineError> {
        let what = "query the addresses of its machine";
        let (wanted, machine) = (self.wanted(node), self.own_vm(node, what)?);
        if !wanted.has_agent || !machine.is_on {
            return Ok(Vec::new());
        }
        self.query_agent_addresses(wanted, &machine).map_err(|error| self.failed(node, what, error))
    }
}
