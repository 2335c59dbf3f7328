//! HTTP, Talos' API, and the few calls to Kubernetes' API.
//!
//! [`talos`] connects to a node, verifies its identity, and makes calls; [`kubernetes`] lists, cordons and drains nodes; [`http`] is
//! the client for all servers that speak HTTP.

pub mod http;
pub mod kubernetes;
pub mod talos;
