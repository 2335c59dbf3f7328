//! FRR, 8.4 to 10: `frr.conf` and `daemons`.
//!
//! Not here: what FRR cannot do at all ([`plan::backend`](crate::plan::backend)).

mod conf;
mod daemons;

use super::Refusal;
use crate::cluster::section::Routing;
use crate::cluster::value::Secret;
use crate::routing::{Domain, Model};

/// The release in ichor's extension.
const OURS: (u16, u16) = (10, 5);

/// The longest password TCP takes (`TCP_MD5SIG_MAXKEYLEN` of Linux).
const LONGEST_PASSWORD: usize = 80;

/// The files FRR reads.
#[derive(Clone, PartialEq, Eq)]
pub struct Files {
    /// `frr.conf`; it holds the passwords of sessions.
    pub conf: String,
    /// `daemons`.
    pub daemons: String,
}

/// Fetches a secret that the file refers to.
pub type Fetch<'a> = dyn Fn(&Secret) -> Result<String, String> + Sync + 'a;

/// The files of a node, or everything that is wrong.
pub fn render(model: &Model, routing: &Routing, fetch: &Fetch<'_>) -> Result<Files, Vec<Refusal>> {
    let version = routing.version.get().map_or(OURS, |version| version.minor());
    let mut refusals = Vec::new();
    if version < (8, 4) || version.0 > 10 {
        let (major, minor) = version;
        let reason = format!("FRR {major}.{minor} is not known here; take one from 8.4 to 10");
        refusals.push(Refusal::new("routing.version", reason));
    }
    if routing.template.entries().next().is_some() {
        let reason = "templates of one's own are not rendered; leave the key out";
        refusals.push(Refusal::new("routing.template", reason));
    }
    let gateway = conf::gateway(model);
    if gateway.is_none() && model.workload.as_ref().is_some_and(|it| it.domain == Domain::Shared) {
        let reason = "without isolation FRR sends what the speaker announces to a neighbour that has an address of the \
                      link's family, and there is none; use `isolation: vrf`";
        refusals.push(Refusal::new("routing.workload.isolation", reason));
    }
    let passwords = passwords(model, fetch, &mut refusals);
    let daemons = daemons::render(model, routing, version, &mut refusals);
    if refusals.is_empty() {
        Ok(Files { conf: conf::render(model, &passwords, gateway), daemons })
    } else {
        Err(refusals)
    }
}

/// The password of each session with the fabric.
fn passwords(model: &Model, fetch: &Fetch<'_>, refusals: &mut Vec<Refusal>) -> Vec<Option<String>> {
    let mut one = |secret: &Secret| {
        let reason = match fetch(secret) {
            Ok(password) if fits(&password) => return Some(password),
            Ok(_) => format!(
                "the password of a session must be 1 to {LONGEST_PASSWORD} letters, digits and signs of ASCII, \
                 without spaces"
            ),
            Err(reason) => reason,
        };
        refusals.push(Refusal::new("routing.neighbors", reason));
        None
    };
    model.fabric.neighbors.iter().map(|neighbor| neighbor.password.as_ref().and_then(&mut one)).collect()
}

/// A line break would end the line and start another.
fn fits(password: &str) -> bool {
    (1..=LONGEST_PASSWORD).contains(&password.len()) && password.bytes().all(|byte| byte.is_ascii_graphic())
}
