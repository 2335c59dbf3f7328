//! GoBGP, 3 and 4: `gobgpd.toml` and `daemons`.
//!
//! gobgpd neither installs routes nor reads the addresses of links. The agent does both over its API; the file alone
//! decides what may leave the node: of the prefixes that the agent adds, only announced addresses do.
//!
//! Not here: features that GoBGP lacks (`ichor_core::plan::backend`).

mod conf;
mod daemons;
mod policy;
mod toml;

use super::{ConfigFile, RenderRequest, Service};
use ichor_values::{Issue, SoftwareVersion};

/// The release in ichor's extension.
const OURS: (u16, u16) = (4, 8);

/// Renders the service of a node; problems are added to `issues`.
pub(crate) fn render(
    request: RenderRequest<'_>,
    passwords: &[Option<String>],
    issues: &mut Vec<Issue>,
) -> Service {
    let RenderRequest { model, options, .. } = request;
    let version = request.version.map_or(OURS, SoftwareVersion::minor);
    let (major, minor) = version;
    if !(3..=4).contains(&major) {
        let reason = format!("GoBGP {major}.{minor} is not known here; take one of 3 or 4");
        issues.push(Issue::error("routing.version", reason));
    }
    let daemons = daemons::render(model, options, issues);
    service(version, conf::render(model, passwords), daemons)
}

/// The service of ready-made files.
pub fn ready_made_service(
    configuration: &str,
    daemons: Option<&str>,
    version: Option<&SoftwareVersion>,
) -> Service {
    let version = version.map_or(OURS, SoftwareVersion::minor);
    let daemons = daemons.map_or_else(daemons::default_daemons, str::to_owned);
    service(version, configuration.to_owned(), daemons)
}

fn service(version: (u16, u16), conf: String, daemons: String) -> Service {
    Service {
        name: "gobgp",
        version,
        folder: "/usr/local/etc/gobgp",
        files: vec![
            ConfigFile { name: "gobgpd.toml", text: conf, private: true },
            ConfigFile { name: "daemons", text: daemons, private: false },
        ],
    }
}
