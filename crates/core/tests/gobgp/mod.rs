//! What GoBGP itself says and does with what it is told. It must be there: `target/lab/` has 3.36 and 4.8.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "real daemons read files")]

mod lab;
