//! FRR, 8.4 to 10: `frr.conf` and `daemons`.
//!
//! A `page` is what both a node's and a router's configuration ([`fabric`](crate::render::fabric)) are written on.
//!
//! Not here: what FRR cannot do at all ([`plan::backend`](crate::plan::backend)).

pub(crate) mod community;
mod conf;
mod daemons;
pub(in crate::render) mod page;

use super::{File, Order, Refusal, Service};
use crate::routing::Domain;

/// The release in ichor's extension.
const OURS: (u16, u16) = (10, 5);

/// The service of a node; what is wrong is added to `refusals`.
pub fn render(order: Order<'_>, passwords: &[Option<String>], refusals: &mut Vec<Refusal>) -> Service {
    let Order { model, routing, .. } = order;
    let version = routing.version.get().map_or(OURS, |version| version.minor());
    if version < (8, 4) || version.0 > 10 {
        let (major, minor) = version;
        let reason = format!("FRR {major}.{minor} is not known here; take one from 8.4 to 10");
        refusals.push(Refusal::new("routing.version", reason));
    }
    let gateway = conf::gateway(model);
    if gateway.is_none() && model.workload.as_ref().is_some_and(|it| it.domain == Domain::Shared) {
        let reason = "without isolation FRR sends what the speaker announces to a neighbour that has an address of the \
                      link's family, and there is none; use `isolation: vrf`";
        refusals.push(Refusal::new("routing.workload.isolation", reason));
    }
    let daemons = daemons::render(model, routing, version, refusals);
    let conf = conf::render(model, passwords, gateway, version);
    Service {
        name: "frr",
        version,
        folder: "/usr/local/etc/frr",
        files: vec![
            File { name: "frr.conf", text: conf, private: true },
            File { name: "daemons", text: daemons, private: false },
        ],
    }
}
