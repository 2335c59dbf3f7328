//! Machines on Proxmox VE: which requests make them, and what keeps them from being made.
//!
//! A [`Wanted`] is what a node's machine shall be, [`There`] what the cluster answered, [`place`](place::place) decides hosts
//! and [`obstacles`](obstacles::obstacles) says what is in the way. A [`Request`] is one call of the API.

pub mod answer;
pub mod drives;
pub mod obstacles;
pub mod place;
pub mod request;
pub mod task;
pub mod there;
pub mod wanted;

pub use request::Request;
pub use there::There;
pub use wanted::Wanted;
