//! GoBGP with the files that ichor writes. Needs 3.36 and 4.8 in `target/lab/`.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "real daemons read files")]

mod lab;
