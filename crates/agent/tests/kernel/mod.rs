//! The agent and a real kernel. Each test has its own network and mounts, and leaves nothing behind.

mod host;
mod isolation;

mod advertisement;
mod conflict;
mod down;
mod links;
mod namespace;
mod neighbour;
mod routes;
mod shared;
mod watch;

/// Tests that need VRFs, dummy links and real leafs. They need root, `scripts/tools frr`, `scripts/lab-root` and
/// `scripts/lab-vm`.
mod lab {
    mod leaf;
    mod vrf;
}
