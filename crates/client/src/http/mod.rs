//! HTTP/1.1 over TCP and TLS, also through a proxy.
//!
//! A [`Client`] has [`ClientOptions`]: whom it trusts ([`ServerTrust`]), through which [`Proxy`] it connects, how long it waits. It sends a
//! [`Request`] with a [`Payload`], follows redirects, and gives a [`Response`], whose body is read piece by piece. Connections are
//! kept and used again.
//!
//! Not here: what answers mean, and callers that block (`cli::http`).

mod client;
mod connect;
mod error;
mod payload;
mod pool;
mod proxy;
mod redirect;
mod response;
mod trust;

#[cfg(test)]
mod tests;

pub use client::{Client, ClientOptions, Request};
pub use error::RequestError;
pub use hyper::{Method, StatusCode};
pub use payload::{ChunkSender, Payload};
pub use proxy::Proxy;
pub use response::Response;
pub use trust::{CertificatePin, ClientIdentity, ServerTrust};
