//! FRR's daemons under the agent, 8.4 and 10.3, with a real leaf.

mod driver;
mod lab;
