//! Real machines whose controller speaks Redfish.

mod service;

use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::machines::Drives;
use ichor_core::machines::redfish::system::{self, Power, RESET};
use ichor_core::machines::redfish::virtual_media::{self, Order};
use ichor_core::machines::redfish::{ROOT, action, link, members};
use ichor_core::render::hypervisor::medium::{Medium, Source};
use ichor_talos::secrets::Hidden;
use ichor_values::Issue;
use serde_json::Value;

use super::{MachineError, Machines, Made, Onlooker, Powers, Shelf, State, Stop, Supply};
use crate::http::Trust;
use service::{RedfishError, Service};

/// How long a controller may take until what it was told is so.
const PATIENCE: Duration = Duration::from_mins(2);

/// The time between two looks at it.
const PAUSE: Duration = Duration::from_millis(500);

/// One machine and its controller.
#[derive(Debug)]
pub(super) struct Redfish {
    service: Service,
    /// The path of the machine, where the file names it.
    path: Option<String>,
    media: Vec<Medium>,
}

impl Redfish {
    /// The machine at `url`: its controller's, or with a path that of one machine among several.
    pub(super) fn new(url: &str, trust: &Trust, login: Option<(String, Hidden)>, media: Vec<Medium>) -> Self {
        let url = url.trim_end_matches('/');
        let (base, path) = match url.find("/redfish/v1") {
            Some(at) => (&url[..at], Some(&url[at..])),
            None => (url, None),
        };
        let path = path.filter(|path| path.trim_end_matches('/') != ROOT.trim_end_matches('/'));
        Self { service: Service::new(base, trust, login), path: path.map(ToOwned::to_owned), media }
    }

    fn step<T>(&self, node: &str, what: &str, done: Result<T, RedfishError>) -> Result<T, MachineError> {
        done.map_err(|source| {
            let (node, what, place) = (node.to_owned(), what.to_owned(), self.service.place());
            MachineError { node, what, place, kind: source.kind(), source: Box::new(source) }
        })
    }

    /// The machine: its path and what it says of itself.
    fn system(&self) -> Result<(String, Value), RedfishError> {
        let path = match &self.path {
            Some(path) => path.clone(),
            None => self.only_system()?,
        };
        let system = self.service.get(&path)?;
        Ok((path, system))
    }

    fn only_system(&self) -> Result<String, RedfishError> {
        let root = self.service.get(ROOT)?;
        let systems = link(&root, "Systems").ok_or_else(|| RedfishError::Odd { path: ROOT.to_owned() })?;
        let paths = members(&self.service.get(systems)?);
        match paths.as_slice() {
            [path] => Ok(path.clone()),
            [] => Err(RedfishError::Lacks("its controller knows of no machine".to_owned())),
            many => Err(RedfishError::Lacks(format!(
                "its controller has several machines; write one of them in `power.redfish`: {}",
                many.iter()
                    .map(|path| format!("{}{path}", self.service.place()))
                    .collect::<Vec<_>>()
                    .join(", ")
            ))),
        }
    }

    /// The drives for CDs: those of the machine itself, else those of the controllers that manage it.
    fn drives(&self, system: &Value) -> Result<Vec<(String, Value)>, RedfishError> {
        let mut collections: Vec<String> =
            link(system, "VirtualMedia").map(ToOwned::to_owned).into_iter().collect();
        if collections.is_empty() {
            let managers = system.get("Links").and_then(|links| links.get("ManagedBy")).map(members);
            for path in managers.unwrap_or_default() {
                let manager = self.service.get(&path)?;
                collections.extend(link(&manager, "VirtualMedia").map(ToOwned::to_owned));
            }
        }
        let mut drives = Vec::new();
        for collection in collections {
            for path in members(&self.service.get(&collection)?) {
                let drive = self.service.get(&path)?;
                if virtual_media::takes_cds(&drive) {
                    drives.push((path, drive));
                }
            }
        }
        Ok(drives)
    }

    fn switch(&self, power: Power) -> Result<(), RedfishError> {
        let (path, system) = self.system()?;
        let want = power == Power::On;
        if system::is_on(&system) == Some(want) {
            return Ok(());
        }
        let lacks = || RedfishError::Lacks("its controller cannot switch it so".to_owned());
        let target = action(&system, RESET).ok_or_else(lacks)?;
        self.service.post(target, &system::reset(&system, power).ok_or_else(lacks)?)?;
        let what = if want { "that it is on" } else { "that it is off" };
        wait(what, || Ok(system::is_on(&self.service.get(&path)?) == Some(want)))
    }

    fn order(&self, path: &str, drive: &Value, order: &Order) -> Result<(), RedfishError> {
        match order {
            Order::Post(target, body) => self.service.post(target, body),
            Order::Patch(body) => self.service.patch(path, drive, body),
        }
    }

    fn put_in(&self, shelf: &dyn Shelf) -> Result<(), RedfishError> {
        if self.media.is_empty() {
            return Ok(());
        }
        let (path, system) = self.system()?;
        let drives = self.drives(&system)?;
        if drives.len() < self.media.len() {
            return Err(RedfishError::Lacks(too_few(drives.len(), self.media.len())));
        }
        for (medium, (path, drive)) in self.media.iter().zip(&drives) {
            let Supply::Url(url) = shelf.supply(medium)? else {
                return Err(RedfishError::Lacks(fetches(medium)));
            };
            self.insert(path, drive, &url)?;
        }
        let boot = system::boot_from_cd(&system);
        let boot =
            boot.ok_or_else(|| RedfishError::Lacks("its controller cannot make it boot a CD".to_owned()))?;
        self.service.patch(&path, &system, &boot)
    }

    fn insert(&self, path: &str, drive: &Value, url: &str) -> Result<(), RedfishError> {
        match virtual_media::inside(drive) {
            Some(inside) if inside == url => return Ok(()),
            // A drive takes one medium at a time.
            Some(_) => self.take_out_of(path, drive)?,
            None => {}
        }
        self.order(path, drive, &virtual_media::insert(drive, url))?;
        let is_in = || Ok(virtual_media::inside(&self.service.get(path)?).is_some());
        wait("that the medium is in the drive", is_in)
    }

    fn take_out_of(&self, path: &str, drive: &Value) -> Result<(), RedfishError> {
        self.order(path, drive, &virtual_media::eject(drive))?;
        wait("that the drive is empty", || Ok(virtual_media::inside(&self.service.get(path)?).is_none()))
    }

    /// Takes out what was put in, and leaves what somebody else did.
    fn take_out(&self) -> Result<(), RedfishError> {
        let (_, system) = self.system()?;
        for (path, drive) in self.drives(&system)? {
            let is_ours = |inside: &str| {
                self.media.iter().any(|it| matches!(&it.source, Source::Url(url) if url == inside))
            };
            if virtual_media::inside(&drive).is_some_and(is_ours) {
                self.take_out_of(&path, &drive)?;
            }
        }
        Ok(())
    }

    /// What is in the drives, by its address.
    fn look_inside(&self) -> Result<Drives, RedfishError> {
        let (_, system) = self.system()?;
        let drives = self.drives(&system)?;
        let inside = drives.iter().filter_map(|(path, drive)| {
            let name = path.rsplit('/').next().unwrap_or(path);
            Some((format!("drive {name}"), virtual_media::inside(drive)?.to_owned()))
        });
        let wanted = self.media.iter().map(|medium| {
            let what = match &medium.source {
                Source::Url(url) => url,
                _ => &medium.name,
            };
            (None, what.clone(), medium)
        });
        let found = Drives::compare(inside, wanted);
        Ok(Drives { boots_cd: !found.inside.is_empty() && system::boots_cd(&system), ..found })
    }

    fn look(&self) -> Result<Vec<String>, RedfishError> {
        let (_, system) = self.system()?;
        let mut found = Vec::new();
        if system::reset(&system, Power::On).is_none() || action(&system, RESET).is_none() {
            found.push("its controller cannot switch it on".to_owned());
        }
        if self.media.is_empty() {
            return Ok(found);
        }
        if system::boot_from_cd(&system).is_none() {
            found.push("its controller cannot make it boot a CD".to_owned());
        }
        let drives = self.drives(&system)?.len();
        if drives < self.media.len() {
            found.push(too_few(drives, self.media.len()));
        }
        found.extend(self.media.iter().filter(|it| !matches!(it.source, Source::Url(_))).map(fetches));
        Ok(found)
    }
}

/// Waits until `holds`.
fn wait(what: &str, holds: impl Fn() -> Result<bool, RedfishError>) -> Result<(), RedfishError> {
    let start = Instant::now();
    while !holds()? {
        if start.elapsed() > PATIENCE {
            return Err(RedfishError::Slow(what.to_owned(), PATIENCE.as_secs()));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

fn too_few(have: usize, want: usize) -> String {
    let drives = if have == 1 { "one virtual drive".to_owned() } else { format!("{have} virtual drives") };
    format!("its controller has {drives} for CDs, and {want} are needed")
}

fn fetches(medium: &Medium) -> String {
    format!("its controller fetches media by itself, and {} is at no address", medium.name)
}

impl Machines for Redfish {
    fn place(&self) -> String {
        self.service.place()
    }

    fn powers(&self) -> Powers {
        Powers { makes: false, media: true, addresses: false }
    }

    fn check(&self, nodes: &[&str]) -> Vec<Issue> {
        let fix =
            "write an address in `image.source.iso`, and `boot.from: apply` where no second drive is there";
        match self.look() {
            Ok(found) => nodes
                .iter()
                .flat_map(|node| found.iter().map(move |what| Issue::error(*node, what).with_help(fix)))
                .collect(),
            Err(error) => vec![super::unasked(&self.service.place(), error.kind(), &error)],
        }
    }

    fn state(&self, node: &str) -> Result<State, MachineError> {
        let (_, system) = self.step(node, "look at its machine", self.system())?;
        Ok(if system::is_on(&system) == Some(true) { State::On } else { State::Off })
    }

    fn make(&self, _: &str, _: &dyn Shelf, _: &dyn Onlooker) -> Result<Made, MachineError> {
        Ok(Made::Before)
    }

    fn media(&self, _: &str) -> Vec<Medium> {
        self.media.clone()
    }

    fn attach(&self, node: &str, shelf: &dyn Shelf, _: &dyn Onlooker) -> Result<(), MachineError> {
        self.step(node, "put media into its machine", self.put_in(shelf))
    }

    fn drives(&self, node: &str) -> Result<Option<Drives>, MachineError> {
        self.step(node, "look into its machine's drives", self.look_inside()).map(Some)
    }

    fn start(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "switch its machine on", self.switch(Power::On))
    }

    fn stop(&self, node: &str, how: Stop) -> Result<(), MachineError> {
        let power = if how == Stop::Asked { Power::Shutdown } else { Power::Off };
        self.step(node, "switch its machine off", self.switch(power))
    }

    fn eject(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "take the media out of its machine", self.take_out())
    }

    fn delete(&self, node: &str) -> Result<(), MachineError> {
        Err(super::is_real(node, self.service.place()))
    }

    fn addresses(&self, _: &str) -> Result<Vec<IpAddr>, MachineError> {
        Ok(Vec::new())
    }
}
