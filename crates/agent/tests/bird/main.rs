//! BIRD as the agent runs it, 2.0 and 2.17, between real leafs.

#[path = "../single/mod.rs"]
mod single;

mod lab;
