//! GoBGP, 3 and 4: `gobgpd.toml` and `daemons`.
//!
//! gobgpd neither installs routes nor takes addresses from links. The agent does both over its API; what may leave the node is
//! still in the file alone: of what the agent adds, only the announced addresses get out.
//!
//! Not here: what GoBGP cannot do at all (`ichor_core::plan::backend`).

mod conf;
mod daemons;
mod policy;
mod toml;

use super::{ConfigFile, RenderRequest, Service};
use ichor_values::{Issue, SoftwareVersion};

/// The release in ichor's extension.
const OURS: (u16, u16) = (4, 8);

/// The service of a node; what is wrong is added to `issues`.
pub(crate) fn render(
    order: RenderRequest<'_>,
    passwords: &[Option<String>],
    issues: &mut Vec<Issue>,
) -> Service {
    let RenderRequest { model, options, .. } = order;
    let version = order.version.map_or(OURS, SoftwareVersion::minor);
    let (major, minor) = version;
    if !(3..=4).contains(&major) {
        let reason = format!("GoBGP {major}.{minor} is not known here; take one of 3 or 4");
        issues.push(Issue::error("routing.version", reason));
    }
    let daemons = daemons::render(model, options, issues);
    service(version, conf::render(model, passwords), daemons)
}

/// The service of files that somebody else wrote.
pub fn ready(configuration: &str, daemons: Option<&str>, version: Option<&SoftwareVersion>) -> Service {
    let version = version.map_or(OURS, SoftwareVersion::minor);
    let daemons = daemons.map_or_else(daemons::usual, str::to_owned);
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
