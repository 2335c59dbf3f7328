//! VMs on a libvirt host, through virsh.

mod virsh;
mod volumes;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::machines::Drives;
use ichor_core::machines::libvirt::blockers::{LibvirtInventory, find_blockers};
use ichor_core::machines::libvirt::virsh_output::{self, is_on, parse_occupied_drives};
use ichor_core::machines::libvirt::{DesiredDomain, drives};
use ichor_core::render::hypervisor::medium::Medium;
use ichor_values::Issue;

use super::program::ToolError;
use super::{
    Capabilities, Creation, FailureKind, MachineError, MachineProvider, MachineState, MediaSource,
    MediumError, PowerOff, ProgressSink,
};
use crate::cache::FetchError;
use virsh::Virsh;

/// Time limit for a graceful shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_mins(2);

/// Interval between polls of the power state.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A failed operation on a libvirt host.
#[derive(Debug, thiserror::Error)]
enum LibvirtError {
    #[error(transparent)]
    Virsh(#[from] ToolError),
    #[error(transparent)]
    Supply(#[from] MediumError),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Home(#[from] crate::cache::NoHomeError),
    #[error("cannot read {what}")]
    Local { what: String, source: std::io::Error },
    #[error("the VM does not exist; create it with `ichor up`")]
    Absent,
    #[error("the VM of this name was not created by ichor: its UUID is {0}")]
    Foreign(String),
    #[error("there is a disk {0} without its machine; delete it with `virsh vol-delete`, or rename it")]
    Disk(String),
    #[error("still on after {} s; use `--cut` to cut the power", SHUTDOWN_TIMEOUT.as_secs())]
    StillOn,
}

impl LibvirtError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Virsh(error) => error.kind(),
            Self::Supply(_) | Self::Fetch(_) | Self::Home(_) | Self::Local { .. } => FailureKind::Local,
            Self::Absent => FailureKind::Missing,
            Self::Foreign(_) | Self::Disk(_) => FailureKind::Foreign,
            Self::StillOn => FailureKind::Rejected,
        }
    }
}

/// A libvirt host and the VMs it should run.
#[derive(Debug)]
pub(super) struct Libvirt {
    virsh: Virsh,
    wanted: Vec<DesiredDomain>,
    /// Locked while an object shared by VMs is created: a network, a pool, an image.
    shared_objects: Mutex<()>,
}

impl Libvirt {
    pub(super) fn new(uri: &str, wanted: Vec<DesiredDomain>) -> Self {
        Self { virsh: Virsh::new(uri), wanted, shared_objects: Mutex::default() }
    }

    fn wanted(&self, node: &str) -> &DesiredDomain {
        let found = self.wanted.iter().find(|wanted| wanted.node == node);
        found.expect("`Fleet` only passes nodes of this provider")
    }

    fn step<T>(
        &self,
        node: &str,
        what: &str,
        act: impl FnOnce(&DesiredDomain) -> Result<T, LibvirtError>,
    ) -> Result<T, MachineError> {
        act(self.wanted(node)).map_err(|source| {
            let (node, operation, location) = (node.to_owned(), what.to_owned(), self.virsh.location());
            MachineError { node, operation, location, kind: source.kind(), source: Box::new(source) }
        })
    }

    fn domains(&self) -> Result<LibvirtInventory, ToolError> {
        let output = self.virsh.run(&["list", "--all", "--uuid", "--name"])?;
        Ok(LibvirtInventory { domains: virsh_output::parse_domains(&output), ..LibvirtInventory::default() })
    }

    /// UUID of the node's VM, which must exist.
    fn own_domain(&self, wanted: &DesiredDomain) -> Result<String, LibvirtError> {
        let inventory = self.domains()?;
        match (inventory.find_own(wanted), inventory.find_foreign(wanted)) {
            (Some(own_domain), _) => Ok(own_domain.uuid.clone()),
            (None, Some(other)) => Err(LibvirtError::Foreign(other.uuid.clone())),
            (None, None) => Err(LibvirtError::Absent),
        }
    }

    fn is_on(&self, uuid: &str) -> Result<bool, ToolError> {
        Ok(is_on(&self.virsh.run(&["domstate", uuid])?))
    }

    fn read_inventory(&self, wanted: &[&DesiredDomain]) -> Result<LibvirtInventory, ToolError> {
        let mut inventory = self.domains()?;
        inventory.release = virsh_output::parse_release(&self.virsh.run(&["version", "--daemon"])?);
        inventory.pools = virsh_output::parse_names(&self.virsh.run(&["pool-list", "--name"])?);
        inventory.networks = virsh_output::parse_names(&self.virsh.run(&["net-list", "--all", "--name"])?);
        let absent = wanted.iter().filter(|vm| inventory.find_own(vm).is_none());
        for store in absent.map(|vm| &vm.store).collect::<BTreeSet<_>>() {
            volumes::refresh_if_running(&self.virsh, store)?;
        }
        for vm in wanted {
            if !inventory.capabilities.contains_key(vm.architecture) {
                let capabilities = match self.virsh.run(&["domcapabilities", "--arch", vm.architecture]) {
                    Ok(output) => Some(virsh_output::parse_capabilities(&output)),
                    Err(error) if error.kind() == FailureKind::Rejected => None,
                    Err(error) => return Err(error),
                };
                inventory.capabilities.insert(vm.architecture, capabilities);
            }
            if inventory.find_own(vm).is_none() && volumes::disk_visible(&self.virsh, vm)? {
                inventory.disks.push(vm.disk.clone());
            }
        }
        Ok(inventory)
    }

    fn create_domain(
        &self,
        wanted: &DesiredDomain,
        progress: &dyn ProgressSink,
    ) -> Result<Creation, LibvirtError> {
        let made = match self.own_domain(wanted) {
            Ok(_) => Creation::Existed,
            Err(LibvirtError::Absent) => {
                self.check_disk_name(wanted)?;
                self.define(wanted, progress)?;
                Creation::Created
            }
            Err(error) => return Err(error),
        };
        // The VM is defined before its disk: a disk without a VM was not created by ichor.
        let _turn = self.shared_objects.lock().unwrap_or_else(PoisonError::into_inner);
        self.start_network(wanted)?;
        volumes::create_disk(&self.virsh, wanted)?;
        Ok(made)
    }

    /// Fails if the disk exists without its VM.
    fn check_disk_name(&self, wanted: &DesiredDomain) -> Result<(), LibvirtError> {
        let _turn = self.shared_objects.lock().unwrap_or_else(PoisonError::into_inner);
        if volumes::has_disk(&self.virsh, wanted)? {
            return Err(LibvirtError::Disk(wanted.disk.clone()));
        }
        Ok(())
    }

    fn define(&self, wanted: &DesiredDomain, progress: &dyn ProgressSink) -> Result<(), ToolError> {
        let has_kvm =
            self.virsh.succeeds(&["domcapabilities", "--virttype", "kvm", "--arch", wanted.architecture])?;
        if !has_kvm {
            progress.message(&format!("{}: the host has no KVM; the VM is emulated and slow", wanted.node));
        }
        let document = if has_kvm { &wanted.document } else { &wanted.emulated };
        self.virsh.run_with_input(&["define", "/dev/stdin"], document)?;
        let uuid = wanted.uuid.to_string();
        let mut arguments = vec!["autostart", &uuid];
        arguments.extend((!wanted.on_boot).then_some("--disable"));
        self.virsh.run(&arguments).map(drop)
    }

    /// Defines and starts the network of a VM.
    fn start_network(&self, wanted: &DesiredDomain) -> Result<(), ToolError> {
        let (name, virsh) = (wanted.network.as_str(), &self.virsh);
        let running = virsh_output::parse_names(&virsh.run(&["net-list", "--name"])?);
        if running.iter().any(|known| known == name) {
            return Ok(());
        }
        let known = virsh_output::parse_names(&virsh.run(&["net-list", "--all", "--name"])?);
        if let Some(document) =
            wanted.network_document.as_ref().filter(|_| !known.iter().any(|it| it == name))
        {
            virsh.run_with_input(&["net-define", "/dev/stdin"], document)?;
            virsh.run(&["net-autostart", name])?;
        }
        virsh.run(&["net-start", name]).map(drop)
    }

    fn attach_media(
        &self,
        wanted: &DesiredDomain,
        source: &dyn MediaSource,
        progress: &dyn ProgressSink,
    ) -> Result<(), LibvirtError> {
        let uuid = self.own_domain(wanted)?;
        for drive in wanted.drives.iter().filter(|drive| !drive.is_given()) {
            let _turn = self.shared_objects.lock().unwrap_or_else(PoisonError::into_inner);
            volumes::upload_medium(&self.virsh, drive, source, progress)?;
        }
        let full = parse_occupied_drives(&self.virsh.run(&["domblklist", &uuid, "--details"])?);
        let is_on = self.is_on(&uuid)?;
        for drive in wanted.drives.iter().filter(|drive| !full.contains(&drive.device)) {
            let mut arguments = vec!["update-device", uuid.as_str(), "/dev/stdin", "--config"];
            arguments.extend(is_on.then_some("--live"));
            self.virsh.run_with_input(&arguments, &drive.element)?;
        }
        Ok(())
    }

    fn eject_media(&self, wanted: &DesiredDomain) -> Result<(), LibvirtError> {
        let uuid = self.own_domain(wanted)?;
        let full = parse_occupied_drives(&self.virsh.run(&["domblklist", &uuid, "--details"])?);
        let is_on = self.is_on(&uuid)?;
        for drive in wanted.drives.iter().filter(|drive| full.contains(&drive.device)) {
            let mut arguments =
                vec!["change-media", uuid.as_str(), drive.device.as_str(), "--eject", "--config"];
            // Without --force a guest that has locked its drive keeps the CD.
            arguments.extend(if is_on { ["--live", "--force"].as_slice() } else { &[] });
            self.virsh.run(&arguments)?;
        }
        Ok(volumes::delete_own_media(&self.virsh, wanted)?)
    }

    fn delete_domain(&self, wanted: &DesiredDomain) -> Result<(), LibvirtError> {
        let uuid = match self.own_domain(wanted) {
            Err(LibvirtError::Absent) => return Ok(()),
            found => found?,
        };
        if self.is_on(&uuid)? {
            self.virsh.run(&["destroy", &uuid])?;
        }
        volumes::delete_volumes(&self.virsh, wanted)?;
        self.virsh.run(&["undefine", &uuid, "--nvram", "--managed-save", "--snapshots-metadata"])?;
        Ok(())
    }

    fn shut_down(&self, wanted: &DesiredDomain, how: PowerOff) -> Result<(), LibvirtError> {
        let uuid = self.own_domain(wanted)?;
        if !self.is_on(&uuid)? {
            return Ok(());
        }
        if how == PowerOff::Forced {
            return Ok(self.virsh.run(&["destroy", &uuid]).map(drop)?);
        }
        self.virsh.run(&["shutdown", &uuid])?;
        let start = Instant::now();
        while self.is_on(&uuid)? {
            if start.elapsed() > SHUTDOWN_TIMEOUT {
                return Err(LibvirtError::StillOn);
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Addresses from the guest agent, else from DHCP leases, else from ARP.
    fn query_addresses(&self, wanted: &DesiredDomain) -> Result<Vec<IpAddr>, LibvirtError> {
        let uuid = self.own_domain(wanted)?;
        let sources = if wanted.has_agent { ["agent", "lease", "arp"].as_slice() } else { &["lease", "arp"] };
        for source in sources {
            let output = match self.virsh.run(&["domifaddr", &uuid, "--full", "--source", source]) {
                Ok(output) => output,
                // The agent is not ready yet, or the VM is off.
                Err(error) if error.kind() == FailureKind::Rejected => continue,
                Err(error) => return Err(error.into()),
            };
            let found = virsh_output::parse_addresses(&output, &wanted.macs);
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }
}

impl MachineProvider for Libvirt {
    fn location(&self) -> String {
        self.virsh.location()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { creates_vms: true, attaches_media: true, reports_addresses: true }
    }

    fn check(&self, nodes: &[&str]) -> Vec<Issue> {
        let wanted: Vec<_> = nodes.iter().map(|node| self.wanted(node)).collect();
        match self.read_inventory(&wanted) {
            Ok(inventory) => find_blockers(&self.virsh.location(), &wanted, &inventory),
            Err(error) => vec![super::unreachable_issue(&self.virsh.location(), error.kind(), &error)],
        }
    }

    fn state(&self, node: &str) -> Result<MachineState, MachineError> {
        self.step(node, "query the state of its machine", |wanted| match self.own_domain(wanted) {
            Ok(uuid) => Ok(if self.is_on(&uuid)? { MachineState::On } else { MachineState::Off }),
            Err(LibvirtError::Absent) => Ok(MachineState::Absent),
            Err(LibvirtError::Foreign(uuid)) => {
                Ok(MachineState::Foreign(format!("`{node}` with the UUID {uuid}")))
            }
            Err(error) => Err(error),
        })
    }

    fn create(
        &self,
        node: &str,
        _: &dyn MediaSource,
        progress: &dyn ProgressSink,
    ) -> Result<Creation, MachineError> {
        self.step(node, "create its machine", |wanted| self.create_domain(wanted, progress))
    }

    fn media(&self, node: &str) -> Vec<Medium> {
        self.wanted(node).drives.iter().map(|drive| drive.medium.clone()).collect()
    }

    fn attach(
        &self,
        node: &str,
        source: &dyn MediaSource,
        progress: &dyn ProgressSink,
    ) -> Result<(), MachineError> {
        self.step(node, "attach media to its machine", |wanted| self.attach_media(wanted, source, progress))
    }

    fn drives(&self, node: &str) -> Result<Option<Drives>, MachineError> {
        self.step(node, "query the drives of its machine", |wanted| {
            let uuid = self.own_domain(wanted)?;
            Ok(Some(drives::compare_drives(wanted, &self.virsh.run(&["dumpxml", &uuid])?)))
        })
    }

    fn start(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "power on its machine", |wanted| {
            let uuid = self.own_domain(wanted)?;
            if !self.is_on(&uuid)? {
                self.virsh.run(&["start", &uuid])?;
            }
            Ok(())
        })
    }

    fn stop(&self, node: &str, how: PowerOff) -> Result<(), MachineError> {
        self.step(node, "power off its machine", |wanted| self.shut_down(wanted, how))
    }

    fn eject(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "eject the media of its machine", |wanted| self.eject_media(wanted))
    }

    fn delete(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "delete its machine", |wanted| self.delete_domain(wanted))
    }

    fn addresses(&self, node: &str) -> Result<Vec<IpAddr>, MachineError> {
        self.step(node, "query the addresses of its machine", |wanted| self.query_addresses(wanted))
    }
}
