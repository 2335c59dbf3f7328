//! GoBGP as the agent runs it, 3 and 4, between real leafs.

#[path = "../single/mod.rs"]
mod single;

mod lab;
