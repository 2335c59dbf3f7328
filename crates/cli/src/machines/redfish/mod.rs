//! Physical machines with a Redfish BMC.

mod client;

use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::machines::Drives;
use ichor_core::machines::redfish::system::{self, PowerAction, RESET};
use ichor_core::machines::redfish::virtual_media::{self, MediaAction};
use ichor_core::machines::redfish::{ROOT, action_target, link_path, member_paths};
use ichor_core::render::hypervisor::medium::{Medium, MediumSource};
use ichor_talos::secrets::Hidden;
use ichor_values::Issue;
use serde_json::Value;

use super::{
    Capabilities, Creation, MachineError, MachineProvider, MachineState, MediaSource, MediumContent,
    PowerOff, ProgressSink,
};
use crate::http::ServerTrust;
use client::{RedfishClient, RedfishError};

/// Time limit for a state change.
const STATE_TIMEOUT: Duration = Duration::from_mins(2);

/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A machine and its BMC.
#[derive(Debug)]
pub(super) struct Redfish {
    service: RedfishClient,
    /// Path of the system, if the cluster file names it.
    path: Option<String>,
    media: Vec<Medium>,
}

impl Redfish {
    /// Creates the provider for `url`: the BMC, or with a path one of its systems.
    pub(super) fn new(
        url: &str,
        trust: &ServerTrust,
        login: Option<(String, Hidden)>,
        media: Vec<Medium>,
    ) -> Self {
        let url = url.trim_end_matches('/');
        let (base, path) = match url.find("/redfish/v1") {
            Some(at) => (&url[..at], Some(&url[at..])),
            None => (url, None),
        };
        let path = path.filter(|path| path.trim_end_matches('/') != ROOT.trim_end_matches('/'));
        Self { service: RedfishClient::new(base, trust, login), path: path.map(ToOwned::to_owned), media }
    }

    fn step<T>(&self, node: &str, what: &str, done: Result<T, RedfishError>) -> Result<T, MachineError> {
        done.map_err(|source| {
            let (node, operation, location) = (node.to_owned(), what.to_owned(), self.service.location());
            MachineError { node, operation, location, kind: source.kind(), source: Box::new(source) }
        })
    }

    /// Path and resource of the system.
    fn system(&self) -> Result<(String, Value), RedfishError> {
        let path = match &self.path {
            Some(path) => path.clone(),
            None => self.find_only_system()?,
        };
        let system = self.service.get(&path)?;
        Ok((path, system))
    }

    fn find_only_system(&self) -> Result<String, RedfishError> {
        let root = self.service.get(ROOT)?;
        let systems =
            link_path(&root, "Systems").ok_or_else(|| RedfishError::Odd { path: ROOT.to_owned() })?;
        let paths = member_paths(&self.service.get(systems)?);
        match paths.as_slice() {
            [path] => Ok(path.clone()),
            [] => Err(RedfishError::Lacks("the BMC lists no system".to_owned())),
            many => Err(RedfishError::Lacks(format!(
                "the BMC lists several systems; set `power.redfish` to one of them: {}",
                many.iter()
                    .map(|path| format!("{}{path}", self.service.location()))
                    .collect::<Vec<_>>()
                    .join(", ")
            ))),
        }
    }

    /// Virtual CD drives of the system, else of the managers of the system.
    fn drives(&self, system: &Value) -> Result<Vec<(String, Value)>, RedfishError> {
        let mut collections: Vec<String> =
            link_path(system, "VirtualMedia").map(ToOwned::to_owned).into_iter().collect();
        if collections.is_empty() {
            let managers = system.get("Links").and_then(|links| links.get("ManagedBy")).map(member_paths);
            for path in managers.unwrap_or_default() {
                let manager = self.service.get(&path)?;
                collections.extend(link_path(&manager, "VirtualMedia").map(ToOwned::to_owned));
            }
        }
        let mut drives = Vec::new();
        for collection in collections {
            for path in member_paths(&self.service.get(&collection)?) {
                let drive = self.service.get(&path)?;
                if virtual_media::supports_cd(&drive) {
                    drives.push((path, drive));
                }
            }
        }
        Ok(drives)
    }

    fn set_power(&self, power: PowerAction) -> Result<(), RedfishError> {
        let (path, system) = self.system()?;
        let want = power == PowerAction::On;
        if system::is_on(&system) == Some(want) {
            return Ok(());
        }
        let lacks = || RedfishError::Lacks("the BMC does not support this power operation".to_owned());
        let target = action_target(&system, RESET).ok_or_else(lacks)?;
        self.service.post(target, &system::reset_request(&system, power).ok_or_else(lacks)?)?;
        let what = if want { "the machine to power on" } else { "the machine to power off" };
        wait_until(what, || Ok(system::is_on(&self.service.get(&path)?) == Some(want)))
    }

    fn send_media_action(&self, path: &str, drive: &Value, order: &MediaAction) -> Result<(), RedfishError> {
        match order {
            MediaAction::Post(target, body) => self.service.post(target, body),
            MediaAction::Patch(body) => self.service.patch(path, drive, body),
        }
    }

    fn attach_media(&self, source: &dyn MediaSource) -> Result<(), RedfishError> {
        if self.media.is_empty() {
            return Ok(());
        }
        let (path, system) = self.system()?;
        let drives = self.drives(&system)?;
        if drives.len() < self.media.len() {
            return Err(RedfishError::Lacks(too_few_drives(drives.len(), self.media.len())));
        }
        for (medium, (path, drive)) in self.media.iter().zip(&drives) {
            let MediumContent::Url(url) = source.content(medium)? else {
                return Err(RedfishError::Lacks(url_needed(medium)));
            };
            self.insert_medium(path, drive, &url)?;
        }
        let boot = system::cd_boot_request(&system);
        let boot =
            boot.ok_or_else(|| RedfishError::Lacks("the BMC cannot boot the machine from a CD".to_owned()))?;
        self.service.patch(&path, &system, &boot)
    }

    fn insert_medium(&self, path: &str, drive: &Value, url: &str) -> Result<(), RedfishError> {
        match virtual_media::inserted_image(drive) {
            Some(inside) if inside == url => return Ok(()),
            // A drive takes one medium at a time.
            Some(_) => self.eject_from(path, drive)?,
            None => {}
        }
        self.send_media_action(path, drive, &virtual_media::insert_request(drive, url))?;
        let is_in = || Ok(virtual_media::inserted_image(&self.service.get(path)?).is_some());
        wait_until("the medium to be inserted", is_in)
    }

    fn eject_from(&self, path: &str, drive: &Value) -> Result<(), RedfishError> {
        self.send_media_action(path, drive, &virtual_media::eject_request(drive))?;
        wait_until("the drive to be empty", || {
            Ok(virtual_media::inserted_image(&self.service.get(path)?).is_none())
        })
    }

    /// Ejects our media and leaves media inserted manually.
    fn eject_media(&self) -> Result<(), RedfishError> {
        let (_, system) = self.system()?;
        for (path, drive) in self.drives(&system)? {
            let is_ours = |inside: &str| {
                self.media.iter().any(|it| matches!(&it.source, MediumSource::Url(url) if url == inside))
            };
            if virtual_media::inserted_image(&drive).is_some_and(is_ours) {
                self.eject_from(&path, &drive)?;
            }
        }
        Ok(())
    }

    /// Contents of the drives, by URL.
    fn inserted_media(&self) -> Result<Drives, RedfishError> {
        let (_, system) = self.system()?;
        let drives = self.drives(&system)?;
        let inside = drives.iter().filter_map(|(path, drive)| {
            let name = path.rsplit('/').next().unwrap_or(path);
            Some((format!("drive {name}"), virtual_media::inserted_image(drive)?.to_owned()))
        });
        let wanted = self.media.iter().map(|medium| {
            let what = match &medium.source {
                MediumSource::Url(url) => url,
                _ => &medium.name,
            };
            (None, what.clone(), medium)
        });
        let found = Drives::compare(inside, wanted);
        Ok(Drives { boots_cd: !found.inside.is_empty() && system::boots_cd(&system), ..found })
    }

    fn preflight(&self) -> Result<Vec<String>, RedfishError> {
        let (_, system) = self.system()?;
        let mut found = Vec::new();
        if system::reset_request(&system, PowerAction::On).is_none()
            || action_target(&system, RESET).is_none()
        {
            found.push("the BMC cannot power on the machine".to_owned());
        }
        if self.media.is_empty() {
            return Ok(found);
        }
        if system::cd_boot_request(&system).is_none() {
            found.push("the BMC cannot boot the machine from a CD".to_owned());
        }
        let drives = self.drives(&system)?.len();
        if drives < self.media.len() {
            found.push(too_few_drives(drives, self.media.len()));
        }
        found.extend(
            self.media.iter().filter(|it| !matches!(it.source, MediumSource::Url(_))).map(url_needed),
        );
        Ok(found)
    }
}

/// Polls until `condition` is true.
fn wait_until(what: &str, condition: impl Fn() -> Result<bool, RedfishError>) -> Result<(), RedfishError> {
    let start = Instant::now();
    while !condition()? {
        if start.elapsed() > STATE_TIMEOUT {
            return Err(RedfishError::Slow(what.to_owned(), STATE_TIMEOUT.as_secs()));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn too_few_drives(have: usize, want: usize) -> String {
    let drives =
        if have == 1 { "one virtual CD drive".to_owned() } else { format!("{have} virtual CD drives") };
    format!("the BMC has {drives}, but {want} are needed")
}

fn url_needed(medium: &Medium) -> String {
    format!("the BMC downloads media from a URL, but {} has none", medium.name)
}

impl MachineProvider for Redfish {
    fn location(&self) -> String {
        self.service.location()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { creates_vms: false, attaches_media: true, reports_addresses: false }
    }

    fn check(&self, nodes: &[&str]) -> Vec<Issue> {
        let fix = "set `image.source.iso` to a URL; without a second drive, use `boot.from: apply`";
        match self.preflight() {
            Ok(found) => nodes
                .iter()
                .flat_map(|node| found.iter().map(move |what| Issue::error(*node, what).with_help(fix)))
                .collect(),
            Err(error) => vec![super::unreachable_issue(&self.service.location(), error.kind(), &error)],
        }
    }

    fn state(&self, node: &str) -> Result<MachineState, MachineError> {
        let (_, system) = self.step(node, "query the power state of its machine", self.system())?;
        Ok(if system::is_on(&system) == Some(true) { MachineState::On } else { MachineState::Off })
    }

    fn create(&self, _: &str, _: &dyn MediaSource, _: &dyn ProgressSink) -> Result<Creation, MachineError> {
        Ok(Creation::Existed)
    }

    fn media(&self, _: &str) -> Vec<Medium> {
        self.media.clone()
    }

    fn attach(&self, node: &str, source: &dyn MediaSource, _: &dyn ProgressSink) -> Result<(), MachineError> {
        self.step(node, "attach media to its machine", self.attach_media(source))
    }

    fn drives(&self, node: &str) -> Result<Option<Drives>, MachineError> {
        self.step(node, "query the drives of its machine", self.inserted_media()).map(Some)
    }

    fn start(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "power on its machine", self.set_power(PowerAction::On))
    }

    fn stop(&self, node: &str, how: PowerOff) -> Result<(), MachineError> {
        let power = if how == PowerOff::Graceful { PowerAction::Shutdown } else { PowerAction::Off };
        self.step(node, "power off its machine", self.set_power(power))
    }

    fn eject(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "eject the media of its machine", self.eject_media())
    }

    fn delete(&self, node: &str) -> Result<(), MachineError> {
        Err(super::physical_machine_error(node, self.service.location()))
    }

    fn addresses(&self, _: &str) -> Result<Vec<IpAddr>, MachineError> {
        Ok(Vec::new())
    }
}
