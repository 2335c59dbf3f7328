//! The `ichor` command.

fn main() {}
