//! Machine providers by node.

use std::collections::BTreeMap;
use std::sync::Arc;

use ichor_core::cluster::load::resolve_path;
use ichor_core::cluster::section::Power;
use ichor_core::machines::libvirt::desired_domain::desired_domains;
use ichor_core::machines::proxmox::DesiredVm;
use ichor_core::plan::{Decided, NodePlan, Plan, ProxmoxPlan};
use ichor_core::render::hypervisor::medium;
use ichor_core::render::hypervisor::vm_definition::VmDefinition;
use ichor_talos::secrets::Hidden;
use ichor_values::{FilePath, Fingerprint, Issue, Secret};

use super::MachineProvider;
use super::ipmi::Ipmi;
use super::libvirt::Libvirt;
use super::proxmox::{Proxmox, ProxmoxLogin};
use super::redfish::Redfish;
use crate::http::{CertificatePin, ServerTrust};
use crate::secret;

/// The machine provider of each node.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    providers: BTreeMap<String, Arc<dyn MachineProvider>>,
}

impl Fleet {
    /// Creates the providers of `plan`, whose cluster file is `from`. Only secret sources are queried.
    pub(crate) fn from_plan(from: &str, plan: &Plan) -> Result<Self, Vec<Issue>> {
        let (mut fleet, mut found) = (Self::default(), Vec::new());
        let mut guests = Vec::new();
        for node in &plan.nodes {
            match VmDefinition::from_node(plan, node) {
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
            let here =
                |guest: &&VmDefinition<'_>| guest.vm.hypervisor.as_ref().is_some_and(|it| it.value == *name);
            let guests: Vec<_> = guests.iter().filter(here).collect();
            if guests.is_empty() {
                continue;
            }
            let keeper = SectionContext { from, at: format!("hypervisors.{name}") };
            let provider: Result<Arc<dyn MachineProvider>, _> = if let Some(proxmox) = &hypervisor.proxmox {
                login(&keeper, proxmox, &guests)
            } else if let Some(libvirt) = &hypervisor.libvirt {
                Ok(Arc::new(Libvirt::new(&libvirt.uri.value, desired_domains(libvirt, plan, &guests))))
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
            let keeper = SectionContext { from, at: format!("nodes.{}.power", node.name) };
            match metal(&keeper, plan.cluster.name.as_str(), power, node) {
                Ok(provider) => fleet.providers.extend(provider.map(|it| (node.name.to_string(), it))),
                Err(mut obstacles) => found.append(&mut obstacles),
            }
        }
        if found.is_empty() { Ok(fleet) } else { Err(found) }
    }

    /// Provider of a node's machine, if ichor manages its power.
    pub(crate) fn provider(&self, node: &str) -> Option<&Arc<dyn MachineProvider>> {
        self.providers.get(node)
    }

    /// Runs the preflight checks of `nodes`, once per provider.
    pub(crate) fn check(&self, nodes: &[&str]) -> Vec<Issue> {
        let mut parts: Vec<(&Arc<dyn MachineProvider>, Vec<&str>)> = Vec::new();
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

/// Resolves secrets and certificates of one section of the cluster file.
struct SectionContext<'k> {
    /// The cluster file.
    from: &'k str,
    /// Key path of the section.
    at: String,
}

impl SectionContext<'_> {
    fn secret(&self, key: &str, secret: &Secret) -> Result<Hidden, Issue> {
        let fix = "run `ichor check --resolve` to test every secret";
        let refused = |error: secret::SecretError| {
            Issue::error(format!("{}.{key}", self.at), error.to_string()).with_help(fix)
        };
        secret::resolve(self.from, secret).map(Hidden::new).map_err(refused)
    }

    /// Requires HTTPS for a server that receives a secret.
    fn encrypted<'u>(&self, key: &str, url: &'u str) -> Result<&'u str, Issue> {
        if url.starts_with("https://") {
            return Ok(url);
        }
        let what = format!(
            "{} is not encrypted, so the credentials would be sent in the clear",
            crate::http::redact_url(url)
        );
        Err(Issue::error(format!("{}.{key}", self.at), what).with_help("use https://"))
    }

    fn trust(&self, pin: Option<&Fingerprint>, ca: Option<&FilePath>) -> Result<ServerTrust, Issue> {
        if let Some(pin) = pin.and_then(|pin| CertificatePin::parse(pin.as_str())) {
            return Ok(ServerTrust::Pinned(pin));
        }
        let Some(ca) = ca else { return Ok(ServerTrust::System) };
        let path = resolve_path(self.from, ca.as_str());
        let unread = |error: std::io::Error| {
            let what = format!("cannot read {path}: {}", crate::disk::io_reason(&error));
            Issue::error(format!("{}.ca", self.at), what).with_help("copy the CA certificate to that path")
        };
        std::fs::read(&path).map(|pem| ServerTrust::pem(&pem)).map_err(unread)
    }
}

fn login(
    keeper: &SectionContext<'_>,
    proxmox: &ProxmoxPlan,
    guests: &[&VmDefinition<'_>],
) -> Result<Arc<dyn MachineProvider>, Vec<Issue>> {
    let trust = keeper.trust(value(proxmox.fingerprint.as_ref()), value(proxmox.ca.as_ref()));
    let login =
        match (value(proxmox.token.as_ref()), value(proxmox.user.as_ref()), value(proxmox.password.as_ref()))
        {
            (Some(token), ..) => keeper.secret("token", token).map(ProxmoxLogin::Token),
            (None, Some(user), Some(password)) => keeper
                .secret("password", password)
                .map(|password| ProxmoxLogin::Password { user: user.to_string(), password }),
            _ => Err(Issue::error(&keeper.at, "missing credentials")
                .with_help("set `token`, or `user` and `password`")),
        };
    let url = value(proxmox.url.as_ref())
        .ok_or_else(|| {
            Issue::error(&keeper.at, "missing `url`").with_help("set it, such as https://HOST:8006")
        })
        .and_then(|url| keeper.encrypted("url", url.as_str()));
    match (url, trust, login) {
        (Ok(url), Ok(trust), Ok(login)) => {
            let wanted = guests.iter().map(|guest| DesiredVm::from_definition(guest)).collect();
            Ok(Arc::new(Proxmox::new(url, &trust, login, wanted)))
        }
        (url, trust, login) => Err([url.err(), trust.err(), login.err()].into_iter().flatten().collect()),
    }
}

fn value<T>(decided: Option<&Decided<T>>) -> Option<&T> {
    decided.map(|decided| &decided.value)
}

/// The BMC of a physical machine. Redfish is preferred over IPMI because it can also attach media.
fn metal(
    keeper: &SectionContext<'_>,
    cluster: &str,
    power: &Power,
    node: &NodePlan,
) -> Result<Option<Arc<dyn MachineProvider>>, Vec<Issue>> {
    let login = match (power.user.get(), power.password.get()) {
        (Some(user), Some(password)) => {
            keeper.secret("password", password).map(|password| Some((user.to_string(), password)))
        }
        _ => Ok(None),
    };
    if let Some(url) = power.redfish.get() {
        let url = keeper.encrypted("redfish", url.as_str());
        let trust = keeper.trust(power.fingerprint.get(), power.ca.get());
        let media = medium::metal_media(cluster, node).map_err(|error| {
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
