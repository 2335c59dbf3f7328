//! The agent and a real kernel. Each test has network and mounts of its own, and leaves nothing.

mod alone;
mod host;

mod advertisement;
mod down;
mod links;
mod namespace;
mod neighbour;
mod refused;
mod routes;
mod shared;
mod watch;

/// What needs VRFs, dummy links and real leafs. Needs root, `scripts/tools frr`, `scripts/lab-root` and `scripts/lab-vm`.
mod lab {
    mod leaf;
    mod vrf;
}
