//! Configurations of routing daemons, from a node's [`BgpModel`].
//!
//! [`render`] turns a [`RenderRequest`] into the [`Service`] that runs the daemon on the node: its files and their
//! folder. Each backend has a module of its own.
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

/// The longest password that TCP accepts (`TCP_MD5SIG_MAXKEYLEN` of Linux).
const LONGEST_PASSWORD: usize = 80;

/// The key of templates.
pub const TEMPLATE: &str = "routing.template";

/// Fetches a secret that the cluster file refers to.
pub type SecretFetcher<'a> = dyn Fn(&Secret) -> Result<String, SecretError> + Sync + 'a;

/// Why a secret cannot be fetched, as reported by its fetcher. It does not contain the secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct SecretError {
    reason: String,
}

impl SecretError {
    /// An error with this reason.
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
    /// TCP does not accept it, or it would break the line in which it is written.
    #[error(
        "the password of a session must be 1 to {LONGEST_PASSWORD} letters, digits and signs of ASCII, without spaces"
    )]
    Form,
}

/// The inputs of a daemon's configuration.
#[derive(Clone, Copy)]
pub struct RenderRequest<'a> {
    /// The routing daemon.
    pub backend: Backend,
    /// The extension that contains it.
    pub carrier: Carrier,
    /// The BGP model.
    pub model: &'a BgpModel,
    /// The daemon's release; unset, that of the extension.
    pub version: Option<&'a SoftwareVersion>,
    /// Further options.
    pub options: &'a DaemonOptions,
    /// A template that replaces the daemon's own configuration.
    pub template: Option<Template<'a>>,
    /// Routers with known addresses.
    pub routers: &'a RouterAddresses,
}

/// Addresses of the routers on ports, by the names of the ports; empty in a build.
pub type RouterAddresses = BTreeMap<String, Ipv6Addr>;

/// Further options by daemon, each word of the command line separately.
pub(crate) type DaemonOptions = BTreeMap<String, Vec<String>>;

/// An extension service and its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name, unless the cluster file sets another.
    pub name: &'static str,
    /// The release of the daemon that its files are written for.
    pub version: (u16, u16),
    /// The folder of its files on the node.
    pub folder: &'static str,
    /// The files, the daemon's own configuration first.
    pub files: Vec<ConfigFile>,
}

impl Service {
    /// The text of the daemon's own configuration.
    pub fn text(&self) -> &str {
        self.files.first().map_or("", |file| file.text.as_str())
    }

    /// The text of `daemons`, which selects the programs and their options; empty if the service has no such file.
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
    /// Whether it may contain passwords.
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

/// Renders the service of a node, or returns every problem, each under its key; none where Talos itself speaks BGP.
/// `fetch` provides the passwords of sessions.
pub fn render(request: RenderRequest<'_>, fetch: &SecretFetcher<'_>) -> Result<Option<Service>, Vec<Issue>> {
    let mut issues = Vec::new();
    let passwords = fetch_passwords(request.model, fetch, &mut issues);
    render_with(request, &passwords, issues)
}

/// Renders the service of a node with known passwords: one for each fabric session. `issues` has the problems up to
/// here.
pub(crate) fn render_with(
    request: RenderRequest<'_>,
    passwords: &[Option<String>],
    mut issues: Vec<Issue>,
) -> Result<Option<Service>, Vec<Issue>> {
    let mut service = match request.backend {
        Backend::Frr => Some(frr::render(request, passwords, &mut issues)),
        Backend::Bird => Some(bird::render(request, passwords, &mut issues)),
        Backend::Gobgp => Some(gobgp::render(request, passwords, &mut issues)),
        Backend::Native => None,
    };
    if let (Some(service), Some(template)) = (&mut service, request.template)
        && let Err(issue) = apply_template(service, template, request, passwords)
    {
        issues.push(issue);
    }
    if issues.is_empty() { Ok(service) } else { Err(issues) }
}

/// The service of ready-made files; without `daemons`, the default daemons of this release run.
pub fn ready_made_service(
    backend: Backend,
    configuration: &str,
    daemons: Option<&str>,
    version: Option<&SoftwareVersion>,
) -> Result<Service, Vec<Issue>> {
    match backend {
        Backend::Frr => Ok(frr::ready_made_service(configuration, daemons, version)),
        Backend::Bird => Ok(bird::ready_made_service(configuration, daemons, version)),
        Backend::Gobgp => Ok(gobgp::ready_made_service(configuration, daemons, version)),
        Backend::Native => Err(vec![no_daemon()]),
    }
}

/// Replaces the daemon's own configuration by the output of a template.
fn apply_template(
    service: &mut Service,
    template: Template<'_>,
    request: RenderRequest<'_>,
    passwords: &[Option<String>],
) -> Result<(), Issue> {
    let Some(file) = service.files.first_mut() else { return Ok(()) };
    let daemon = DaemonInfo { backend: request.backend, version: service.version, default: &file.text };
    let variables = variables::template_variables(request.model, passwords, daemon);
    let secrets: Vec<&str> = passwords.iter().flatten().map(String::as_str).collect();
    file.text = template::render(template, &variables, &secrets)
        .map_err(|error| Issue::error(TEMPLATE, error.to_string()))?;
    file.private = true;
    Ok(())
}

/// The password of each fabric session; failures are added to `issues`.
pub fn fetch_passwords(
    model: &BgpModel,
    fetch: &SecretFetcher<'_>,
    issues: &mut Vec<Issue>,
) -> Vec<Option<String>> {
    let mut fetch_one = |secret: &Secret| match fetch_password(fetch, secret) {
        Ok(password) => Some(password),
        Err(error) => {
            issues.push(Issue::error("routing.neighbors", error.to_string()));
            None
        }
    };
    let neighbors = model.fabric.neighbors.iter();
    neighbors.map(|neighbor| neighbor.password.as_ref().and_then(&mut fetch_one)).collect()
}

/// Fetches the password of one session.
pub fn fetch_password(fetch: &SecretFetcher<'_>, secret: &Secret) -> Result<String, PasswordError> {
    let password = fetch(secret)?;
    if is_valid_password(&password) { Ok(password) } else { Err(PasswordError::Form) }
}

/// A line break would end the line and start another.
fn is_valid_password(password: &str) -> bool {
    (1..=LONGEST_PASSWORD).contains(&password.len()) && password.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The further options of one daemon; problems with them are added to `issues`.
fn daemon_options<'a>(options: &'a DaemonOptions, daemon: &str, issues: &mut Vec<Issue>) -> &'a [String] {
    let words = options.get(daemon).map_or(&[][..], Vec::as_slice);
    if let Some(bad) = words.iter().find(|option| !is_word(option)) {
        let reason = format!("`{bad}` is not a single word of a command line; write each word as an item");
        issues.push(Issue::error("routing.daemons", reason));
    }
    words
}

/// Whether an option is one word of a command line, which a shell reads between double quotes.
fn is_word(option: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'$' | b'`');
    !option.is_empty() && option.bytes().all(plain)
}
