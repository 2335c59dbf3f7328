//! A cluster's fabric on one machine: what has to be built so that real daemons do what the cluster file says.
//!
//! A [`Scene`] is data: machines, the cables between them, and the sessions that shall come up. Whoever builds it needs nothing
//! of the cluster file any more.

pub mod scene;

pub use scene::Scene;
