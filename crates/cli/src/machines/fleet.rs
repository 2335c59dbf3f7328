//! The machines of a cluster's nodes, each with its provider.

use std::collections::BTreeMap;
use std::sync::Arc;

use ichor_core::cluster::load::beside;
use ichor_core::cluster::section::Power;
use ichor_core::machines::libvirt::wanted;
use ichor_core::machines::proxmox::Wanted;
use ichor_core::plan::{Decided, NodePlan, Plan, ProxmoxPlan};
use ichor_core::render::hypervisor::guest::Guest;
use ichor_core::render::hypervisor::medium;
use ichor_talos::secrets::Hidden;
use ichor_values::{FilePath, Fingerprint, Issue, Secret};

use super::Machines;
use super::ipmi::Ipmi;
use super::libvirt::Libvirt;
use super::proxmox::{Login, Proxmox};
use super::redfish::Redfish;
use crate::http::{Pin, Trust};
use crate::secret;

/// The machines of a cluster's nodes.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    providers: BTreeMap<String, Arc<dyn Machines>>,
}

impl Fleet {
    /// The machines of `plan`, whose cluster file is `from`. Nobody is asked yet but those who keep secrets.
    pub(crate) fn of(from: &str, plan: &Plan) -> Result<Self, Vec<Issue>> {
        let (mut fleet, mut found) = (Self::default(), Vec::new());
        let mut guests = Vec::new();
        for node in &plan.nodes {
            match Guest::of(plan, node) {
                Ok(guest) => guests.extend(guest),
                Err(error) => {
                    found.push(
                        Issue::error(node.name.as_str(), error.to_string()).with_help("see `ichor check`"),
                    );
                }
            }
        }
        for hypervisor in &plan.hypervisors {
            let name = &hypervisor.name;
            let here = |guest: &&Guest<'_>| guest.vm.hypervisor.as_ref().is_some_and(|it| it.value == *name);
            let guests: Vec<_> = guests.iter().filter(here).collect();
            if guests.is_empty() {
                continue;
            }
            let keeper = Keeper { from, at: format!("hypervisors.{name}") };
            let provider: Result<Arc<dyn Machines>, _> = if let Some(proxmox) = &hypervisor.proxmox {
                login(&keeper, proxmox, &guests)
            } else if let Some(libvirt) = &hypervisor.libvirt {
                Ok(Arc::new(Libvirt::new(&libvirt.uri.value, wanted::all(libvirt, plan, &guests))))
            } else {
                continue;
            };
            match provider {
                Ok(provider) => {
                    let names = guests.iter().map(|guest| guest.name().to_owned());
                    fleet.providers.extend(names.map(|name| (name, Arc::clone(&provider))));
                }
                Err(mut obstacles) => found.append(&mut obstacles),
            }
        }
        for node in plan.nodes.iter().filter(|node| node.vm.is_none()) {
            let Some(power) = node.power.as_deref().map(|power| &power.value) else { continue };
            let keeper = Keeper { from, at: format!("nodes.{}.power", node.name) };
            match metal(&keeper, plan.cluster.name.as_str(), power, node) {
                Ok(provider) => fleet.providers.extend(provider.map(|it| (node.name.to_string(), it))),
                Err(mut obstacles) => found.append(&mut obstacles),
            }
        }
        if found.is_empty() { Ok(fleet) } else { Err(found) }
    }

    /// Who provides a node's machine; none where somebody else switches it on.
    pub(crate) fn provider(&self, node: &str) -> Option<&Arc<dyn Machines>> {
        self.providers.get(node)
    }

    /// Everything that keeps the machines of `nodes` from being made or used, each provider asked once.
    pub(crate) fn check(&self, nodes: &[&str]) -> Vec<Issue> {
        let mut parts: Vec<(&Arc<dyn Machines>, Vec<&str>)> = Vec::new();
        for node in nodes {
            let Some(provider) = self.provider(node) else { continue };
            match parts.iter_mut().find(|(known, _)| Arc::ptr_eq(known, provider)) {
                Some((_, nodes)) => nodes.push(node),
                None => parts.push((provider, vec![node])),
            }
        }
        parts.iter().flat_map(|(provider, nodes)| provider.check(nodes)).collect()
    }
}

/// Where secrets and certificates of one section come from.
struct Keeper<'k> {
    /// The cluster file.
    from: &'k str,
    /// The section.
    at: String,
}

impl Keeper<'_> {
    fn secret(&self, key: &str, secret: &Secret) -> Result<Hidden, Issue> {
        let fix = "`ichor check --resolve` tries all of them";
        let refused = |error: secret::SecretError| {
            Issue::error(format!("{}.{key}", self.at), error.to_string()).with_help(fix)
        };
        secret::resolve(self.from, secret).map(Hidden::new).map_err(refused)
    }

    /// The address of a server that is told a secret, which nobody else may hear.
    fn encrypted<'u>(&self, key: &str, url: &'u str) -> Result<&'u str, Issue> {
        if url.starts_with("https://") {
            return Ok(url);
        }
        let what =
            format!("{} is not encrypted, and whoever is there is told a secret", crate::http::shown(url));
        Err(Issue::error(format!("{}.{key}", self.at), what).with_help("write https://"))
    }

    fn trust(&self, pin: Option<&Fingerprint>, ca: Option<&FilePath>) -> Result<Trust, Issue> {
        if let Some(pin) = pin.and_then(|pin| Pin::parse(pin.as_str())) {
            return Ok(Trust::Pinned(pin));
        }
        let Some(ca) = ca else { return Ok(Trust::System) };
        let path = beside(self.from, ca.as_str());
        let unread = |error: std::io::Error| {
            let what = format!("cannot read {path}: {}", crate::disk::reason(&error));
            Issue::error(format!("{}.ca", self.at), what).with_help("put the certificate there")
        };
        std::fs::read(&path).map(|pem| Trust::pem(&pem)).map_err(unread)
    }
}

fn login(
    keeper: &Keeper<'_>,
    proxmox: &ProxmoxPlan,
    guests: &[&Guest<'_>],
) -> Result<Arc<dyn Machines>, Vec<Issue>> {
    let trust = keeper.trust(value(proxmox.fingerprint.as_ref()), value(proxmox.ca.as_ref()));
    let login =
        match (value(proxmox.token.as_ref()), value(proxmox.user.as_ref()), value(proxmox.password.as_ref()))
        {
            (Some(token), ..) => keeper.secret("token", token).map(Login::Token),
            (None, Some(user), Some(password)) => keeper
                .secret("password", password)
                .map(|password| Login::Password { user: user.to_string(), password }),
            _ => Err(Issue::error(&keeper.at, "there is no login")
                .with_help("write `token`, or `user` and `password`")),
        };
    let url = value(proxmox.url.as_ref())
        .ok_or_else(|| Issue::error(&keeper.at, "there is no `url`").with_help("write https://HOST:8006"))
        .and_then(|url| keeper.encrypted("url", url.as_str()));
    match (url, trust, login) {
        (Ok(url), Ok(trust), Ok(login)) => {
            let wanted = guests.iter().map(|guest| Wanted::of(guest)).collect();
            Ok(Arc::new(Proxmox::new(url, &trust, login, wanted)))
        }
        (url, trust, login) => Err([url.err(), trust.err(), login.err()].into_iter().flatten().collect()),
    }
}

fn value<T>(decided: Option<&Decided<T>>) -> Option<&T> {
    decided.map(|decided| &decided.value)
}

/// The controller of a real machine: Redfish where there is a choice, for it can do more.
fn metal(
    keeper: &Keeper<'_>,
    cluster: &str,
    power: &Power,
    node: &NodePlan,
) -> Result<Option<Arc<dyn Machines>>, Vec<Issue>> {
    let login = match (power.user.get(), power.password.get()) {
        (Some(user), Some(password)) => {
            keeper.secret("password", password).map(|password| Some((user.to_string(), password)))
        }
        _ => Ok(None),
    };
    if let Some(url) = power.redfish.get() {
        let url = keeper.encrypted("redfish", url.as_str());
        let trust = keeper.trust(power.fingerprint.get(), power.ca.get());
        let media = medium::of_metal(cluster, node).map_err(|error| {
            Issue::error(node.name.as_str(), error.to_string()).with_help("see `ichor check`")
        });
        return match (url, trust, login, media) {
            (Ok(url), Ok(trust), Ok(login), Ok(media)) => {
                Ok(Some(Arc::new(Redfish::new(url, &trust, login, media))))
            }
            (url, trust, login, media) => {
                Err([url.err(), trust.err(), login.err(), media.err()].into_iter().flatten().collect())
            }
        };
    }
    let Some(host) = power.ipmi.get() else { return Ok(None) };
    match login {
        Ok(login) => Ok(Some(Arc::new(Ipmi::new(host.as_str(), login)))),
        Err(obstacle) => Err(vec![obstacle]),
    }
}
