//! A simulator of Talos' API, for tests and `ichor lab nodes`.
//!
//! [`fleet`] is the behaviour of machines between power on and a healthy cluster, as their API shows it: pure, time is an
//! argument. [`serve`] puts it on sockets.
//!
//! It is not Talos: no machine boots, and no container runs. Tests that boot machines use Talos itself.

pub mod fleet;
pub mod serve;
