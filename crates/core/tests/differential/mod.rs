//! The proof against reality: random small fabrics, computed and run on real FRR. Needs root, `scripts/tools frr` and
//! `scripts/lab-root`.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real programs read files and take time"
)]

mod bench;
mod lab;
