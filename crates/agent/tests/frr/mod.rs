//! FRR's daemons as the agent runs them, 8.4 and 10.3, with a real leaf at the other end of a cable.

mod driver;
mod lab;
