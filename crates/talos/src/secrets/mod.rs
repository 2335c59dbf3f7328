//! A cluster's secrets, in the form of `talosctl gen secrets`.
//!
//! [`Bundle`] is the content of a secrets file: identity, tokens, certificate authorities, keys. It is made by
//! [`Bundle::new`], read by [`Bundle::read`] or extracted from a configuration by [`from_config`]; [`Bundle::warnings`]
//! are mistakes that Talos accepts. [`admin_certificate`] makes an administrator's certificate for Talos' API.
//!
//! Not here: how a bundle is kept from others ([`sops`](crate::sops)).

mod admin;
mod bundle;
mod certificate;
mod check;
mod file;
mod import;
mod key;
mod make;
mod pem;

pub use admin::{
    ADMIN_ROLE, AdminCaution, AdminFault, admin_cautions, admin_faults, read_admin, write_admin,
};
pub use bundle::{Bundle, BundleError, BundleErrors, Hidden, Pair};
pub use certificate::{
    CertificateError, IssueError, Server, admin_certificate, agent_certificate, client_certificate, ends,
    kubernetes_admin_certificate, roles, self_signed, server_certificate,
};
pub use check::pair_warnings;
pub use import::{ImportError, from_config};
pub use key::KeyError;
pub use pem::Pem;
