//! GoBGP: kernel routes, discovery of neighbours, and checking whether gobgpd accepted its file.
//!
//! gobgpd installs no routes, so [`routes`] computes those of the [`BgpPath`]s in its table. It does not start with a
//! neighbour on a port without a known router, so [`without_undiscovered`] omits such neighbours. And it reports a
//! rejected file only in its log, so [`GobgpConfig`] is compared with the file.

mod route;
mod running;

pub use route::{BgpPath, exported_prefixes, owes_withdrawal, routes};
pub use running::{GobgpConfig, SessionTimers};

use crate::model::BgpModel;
use crate::model::fabric::{Neighbor, PeerAddress};
use ichor_values::LinkName;

/// The model without neighbours on ports where no router was discovered.
///
/// gobgpd looks up the router of a port in the kernel's neighbour table when it reads its file, and exits if it is
/// missing.
pub fn without_undiscovered(model: &BgpModel, has_router: impl Fn(&LinkName) -> bool) -> BgpModel {
    let known = |neighbor: &Neighbor| match &neighbor.found {
        PeerAddress::Port { name, .. } => has_router(name),
        PeerAddress::Address { .. } => true,
    };
    let mut model = model.clone();
    model.fabric.neighbors.retain(known);
    model
}
