//! Configurations of routing daemons, from a node's [`Model`].
//!
//! [`render`] is asked with an [`RenderRequest`] and gives the [`Service`] that runs the daemon on the node: the files it reads and where.
//! Each backend has a module of its own.

pub mod bird;
pub mod frr;
pub mod gobgp;
pub mod template;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::Ipv6Addr;

use crate::model::BgpModel;
use crate::setting::Carrier;
use ichor_values::{Backend, Issue, Secret, SoftwareVersion};
pub use template::Template;
use template::variables::{self, DaemonInfo};

/// The longest password TCP takes (`TCP_MD5SIG_MAXKEYLEN` of Linux).
const LONGEST_PASSWORD: usize = 80;

/// The key of templates.
pub const TEMPLATE: &str = "routing.template";

/// Fetches a secret that the file refers to.
pub type SecretFetcher<'a> = dyn Fn(&Secret) -> Result<String, SecretError> + Sync + 'a;

/// Why a secret cannot be fetched, in the words of the edge that tried. It does not repeat the secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct SecretError {
    reason: String,
}

impl SecretError {
    /// The reason is an error of the edge.
    pub fn new(reason: impl Display) -> Self {
        Self { reason: reason.to_string() }
    }
}

/// Why a session has no password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// It cannot be fetched.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// TCP does not take it, or it would break the line it is written in.
    #[error(
        "the password of a session must be 1 to {LONGEST_PASSWORD} letters, digits and signs of ASCII, without spaces"
    )]
    Form,
}

/// What a daemon's configuration is made from.
#[derive(Clone, Copy)]
pub struct RenderRequest<'a> {
    /// Who speaks BGP.
    pub backend: Backend,
    /// What brings it.
    pub carrier: Carrier,
    /// What is meant.
    pub model: &'a BgpModel,
    /// The daemon's release; that of the carrier when there is none.
    pub version: Option<&'a SoftwareVersion>,
    /// Further options.
    pub options: &'a DaemonOptions,
    /// A template in the place of the daemon's own configuration.
    pub template: Option<Template<'a>>,
    /// Routers whose addresses are known.
    pub routers: &'a RouterAddresses,
}

/// Addresses of the routers on ports, by the names of the ports: none at the desk.
pub type RouterAddresses = BTreeMap<String, Ipv6Addr>;

/// Further options, by daemon: each word of a command line for itself.
pub(crate) type DaemonOptions = BTreeMap<String, Vec<String>>;

/// An extension service: what it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name when the file gives it none.
    pub name: &'static str,
    /// Release of the daemon its files are written for.
    pub version: (u16, u16),
    /// Folder of its files on the node.
    pub folder: &'static str,
    /// The files, the daemon's own configuration first.
    pub files: Vec<ConfigFile>,
}

impl Service {
    /// The text of the daemon's own configuration.
    pub fn text(&self) -> &str {
        self.files.first().map_or("", |file| file.text.as_str())
    }

    /// The text of `daemons`, which says what runs and with which options; empty where the service has no such file.
    pub fn daemons(&self) -> &str {
        self.files.iter().find(|file| file.name == "daemons").map_or("", |file| file.text.as_str())
    }
}

/// A file that a routing daemon reads.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
    /// Whether it is of the kind that holds passwords.
    pub private: bool,
}

impl std::fmt::Debug for ConfigFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Talos itself speaks BGP: there is no daemon.
pub(crate) fn no_daemon() -> Issue {
    Issue::error("routing.backend", "Talos itself speaks BGP, and no agent runs")
}

/// The service of a node, or everything that is wrong, each under its key; none where Talos itself speaks BGP. `fetch` gives
/// the passwords of sessions.
pub fn render(order: RenderRequest<'_>, fetch: &SecretFetcher<'_>) -> Result<Option<Service>, Vec<Issue>> {
    let mut issues = Vec::new();
    let passwords = passwords(order.model, fetch, &mut issues);
    render_with(order, &passwords, issues)
}

/// The service of a node whose passwords are known: one for each session with the fabric. `issues` is what is wrong already.
pub(crate) fn render_with(
    order: RenderRequest<'_>,
    passwords: &[Option<String>],
    mut issues: Vec<Issue>,
) -> Result<Option<Service>, Vec<Issue>> {
    let mut service = match order.backend {
        Backend::Frr => Some(frr::render(order, passwords, &mut issues)),
        Backend::Bird => Some(bird::render(order, passwords, &mut issues)),
        Backend::Gobgp => Some(gobgp::render(order, passwords, &mut issues)),
        Backend::Native => None,
    };
    if let (Some(service), Some(template)) = (&mut service, order.template)
        && let Err(issue) = fill(service, template, order, passwords)
    {
        issues.push(issue);
    }
    if issues.is_empty() { Ok(service) } else { Err(issues) }
}

/// The service of files that somebody else wrote; without `daemons`, the usual daemons of this release run.
pub fn ready(
    backend: Backend,
    configuration: &str,
    daemons: Option<&str>,
    version: Option<&SoftwareVersion>,
) -> Result<Service, Vec<Issue>> {
    match backend {
        Backend::Frr => Ok(frr::ready(configuration, daemons, version)),
        Backend::Bird => Ok(bird::ready(configuration, daemons, version)),
        Backend::Gobgp => Ok(gobgp::ready(configuration, daemons, version)),
        Backend::Native => Err(vec![no_daemon()]),
    }
}

/// Puts what a template gives in the place of the daemon's own configuration.
fn fill(
    service: &mut Service,
    template: Template<'_>,
    order: RenderRequest<'_>,
    passwords: &[Option<String>],
) -> Result<(), Issue> {
    let Some(file) = service.files.first_mut() else { return Ok(()) };
    let daemon = DaemonInfo { backend: order.backend, version: service.version, default: &file.text };
    let variables = variables::of(order.model, passwords, daemon);
    let secrets: Vec<&str> = passwords.iter().flatten().map(String::as_str).collect();
    file.text = template::render(template, &variables, &secrets)
        .map_err(|error| Issue::error(TEMPLATE, error.to_string()))?;
    file.private = true;
    Ok(())
}

/// The password of each session with the fabric; why one cannot be had is added to `issues`.
pub fn passwords(
    model: &BgpModel,
    fetch: &SecretFetcher<'_>,
    issues: &mut Vec<Issue>,
) -> Vec<Option<String>> {
    let mut one = |secret: &Secret| match password(fetch, secret) {
        Ok(password) => Some(password),
        Err(error) => {
            issues.push(Issue::error("routing.neighbors", error.to_string()));
            None
        }
    };
    let neighbors = model.fabric.neighbors.iter();
    neighbors.map(|neighbor| neighbor.password.as_ref().and_then(&mut one)).collect()
}

/// The password of one session, or why it cannot be had.
pub fn password(fetch: &SecretFetcher<'_>, secret: &Secret) -> Result<String, PasswordError> {
    let password = fetch(secret)?;
    if fits(&password) { Ok(password) } else { Err(PasswordError::Form) }
}

/// A line break would end the line and start another.
fn fits(password: &str) -> bool {
    (1..=LONGEST_PASSWORD).contains(&password.len()) && password.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The further options of one daemon; what is wrong with one is added to `issues`.
fn words<'a>(options: &'a DaemonOptions, daemon: &str, issues: &mut Vec<Issue>) -> &'a [String] {
    let words = options.get(daemon).map_or(&[][..], Vec::as_slice);
    if let Some(bad) = words.iter().find(|option| !is_word(option)) {
        let reason = format!("`{bad}` is no single word of a command line; write each word as an item");
        issues.push(Issue::error("routing.daemons", reason));
    }
    words
}

/// Whether an option is one word of a command line, which a shell reads between double quotes.
fn is_word(option: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'$' | b'`');
    !option.is_empty() && option.bytes().all(plain)
}
