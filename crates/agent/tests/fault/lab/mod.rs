//! Tests with real daemons, in separate machines.

mod failure;
mod killed;
mod secret;
