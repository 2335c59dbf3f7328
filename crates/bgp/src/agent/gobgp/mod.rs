//! What GoBGP leaves to others: routes in the kernel, neighbours that must be known first, and whether it took a file.
//!
//! gobgpd installs nothing, so [`routes`] are what the kernel shall have of the [`Path`]s in its table. It does not start
//! with a neighbour on a port where no router was heard, so [`heard`] leaves that one out. And it says nowhere but in its log
//! that it refused a file, so [`Running`] is compared with what the file means.

mod route;
mod running;

pub use route::{Path, given, owes, routes};
pub use running::{Running, Timers};

use crate::model::Model;
use crate::model::fabric::{Found, Neighbor};
use ichor_values::LinkName;

/// What can be told gobgpd while routers were heard on some ports only: neighbours on other ports are left out.
///
/// It looks for the router of a port in the kernel's neighbours when it reads its file, and ends when there is none.
pub fn heard(model: &Model, on: impl Fn(&LinkName) -> bool) -> Model {
    let known = |neighbor: &Neighbor| match &neighbor.found {
        Found::Port { name, .. } => on(name),
        Found::Address { .. } => true,
    };
    let mut model = model.clone();
    model.fabric.neighbors.retain(known);
    model
}
