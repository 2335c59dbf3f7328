//! The agent and a real kernel. Each test has network and mounts of its own, and leaves nothing.

mod alone;
mod common;
mod host;

mod advertisement;
mod down;
mod namespace;
mod neighbour;
mod refused;
mod routes;
mod shared;
mod watch;

/// What needs VRFs and dummy links. Needs `scripts/lab-vm`.
mod lab {
    mod vrf;
}
