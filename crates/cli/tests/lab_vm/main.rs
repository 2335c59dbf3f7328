//! Labs in a virtual machine: commands there are as commands here.

#[path = "../common/mod.rs"]
mod common;

mod lab;
