//! Images with extensions in them: `ichor image build`, and machines that boot what it makes.

#[path = "../common/mod.rs"]
mod common;
mod lab;
