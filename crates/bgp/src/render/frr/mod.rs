//! FRR, 8.4 to 10: `frr.conf` and `daemons`.
//!
//! `writer` writes the configuration of nodes and of routers (`ichor_core::render::fabric`).
//!
//! Not here: features that FRR lacks (`ichor_core::plan::backend`).

pub(crate) mod community;
mod conf;
mod daemons;
pub mod writer;

use super::{ConfigFile, RenderRequest, Service};
use crate::model::RoutingDomain;
use ichor_values::{Issue, SoftwareVersion};

/// The release in ichor's extension.
const OURS: (u16, u16) = (10, 5);

/// Renders the service of a node; problems are added to `issues`.
pub(crate) fn render(
    request: RenderRequest<'_>,
    passwords: &[Option<String>],
    issues: &mut Vec<Issue>,
) -> Service {
    let RenderRequest { model, options, .. } = request;
    let version = request.version.map_or(OURS, SoftwareVersion::minor);
    if version < (8, 4) || version.0 > 10 {
        let (major, minor) = version;
        let reason = format!("FRR {major}.{minor} is not known here; take one from 8.4 to 10");
        issues.push(Issue::error("routing.version", reason));
    }
    let gateway = conf::gateway(model);
    if gateway.is_none() && model.workload.as_ref().is_some_and(|it| it.domain == RoutingDomain::Shared) {
        let reason = "without isolation FRR sends what the speaker announces to a neighbour that has an address of the \
                      link's family, but no neighbour has one; use `isolation: vrf`";
        issues.push(Issue::error("routing.workload.isolation", reason));
    }
    let daemons = daemons::render(model, options, version, issues);
    let conf = conf::render(model, passwords, gateway, version);
    service(version, conf, daemons)
}

/// The service of ready-made files.
pub fn ready_made_service(
    configuration: &str,
    daemons: Option<&str>,
    version: Option<&SoftwareVersion>,
) -> Service {
    let version = version.map_or(OURS, SoftwareVersion::minor);
    let daemons = daemons.map_or_else(|| daemons::default_daemons(configuration, version), str::to_owned);
    service(version, configuration.to_owned(), daemons)
}

fn service(version: (u16, u16), conf: String, daemons: String) -> Service {
    Service {
        name: "frr",
        version,
        folder: "/usr/local/etc/frr",
        files: vec![
            ConfigFile { name: "frr.conf", text: conf, private: true },
            ConfigFile { name: "daemons", text: daemons, private: false },
        ],
    }
}
