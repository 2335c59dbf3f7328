//! HTTP/1.1 over TCP and TLS, directly or through a proxy.
//!
//! A [`Client`] has [`ClientOptions`]: its trust ([`ServerTrust`]), its [`Proxy`], its timeouts. It sends a
//! [`Request`] with a [`Payload`], follows redirects, and gives a [`Response`], whose body is read piece by piece. Connections are
//! kept and used again.
//!
//! Not here: the meaning of responses, and blocking callers (`cli::http`).

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
