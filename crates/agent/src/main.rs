//! The `ichor-agent` command: routing on a Talos node.

fn main() {}
