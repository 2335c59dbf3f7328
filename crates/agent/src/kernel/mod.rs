//! The kernel: links, addresses, routes and switches.
