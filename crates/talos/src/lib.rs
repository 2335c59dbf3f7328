//! What is known of Talos itself: its formats, its releases, and what each brings.
//!
//! * Reading: [`yaml`] makes nodes of a text as go-yaml does, [`word`] says what a scalar means, [`types`] what each field
//!   of a configuration takes, and [`load`] makes a [`config`] of it all. `typed` does the same for smaller files.
//!   [`document`] reads without types and finds its way in what it read; [`key_path`] names places.
//! * Changing: [`patch`].
//! * Comparing: [`difference`].
//! * Judging: [`validate`], with [`cel`] for expressions and [`label`] for Kubernetes' labels.
//! * Writing: [`generate`] makes configurations, [`encode`] puts their fields in Talos' order, [`emit`] makes go-yaml's text
//!   of them; [`talosconfig`] is for talosctl.
//! * Images: [`schematic`], [`asset`], [`digest`], [`magic`]. META: [`meta`], [`adv`], [`platform_network`].
//! * Extensions: [`extension`], and [`catalogue`] of the official ones.
//! * Booting: [`nocloud`], [`command_line`], [`kernel_args`], [`config_url`]. Running: [`api`], the [`resource`]s it tells of, the
//!   [`peer`] at its other end, the [`kubeconfig`] it hands out.
//! * Facts: [`release`], [`kind`], [`link`]. [`secrets`] is the bundle of a cluster, [`secret_value`]
//!   finds secrets in what others wrote. [`go`] is what Go's libraries take.
//!
//! Not here: what ichor writes for a node (`ichor_core::render`), and what it thinks of it (`ichor_core::rules`).

pub mod api;
pub mod asset;
pub mod cel;
pub mod command_line;
pub mod config;
pub mod config_url;
pub mod difference;
pub mod document;
pub mod encode;
pub mod extension;
pub mod generate;
pub mod go;
pub mod kernel_args;
pub mod key_path;
pub mod kind;
pub mod kubeconfig;
pub mod kubernetes;
pub mod label;
pub mod link;
pub mod load;
pub mod manifest;
pub mod meta;
pub mod meta_partition;
pub mod nocloud;
pub mod patch;
pub mod peer;
pub mod platform_network;
pub mod release;
pub mod resource;
mod schema_reader;
pub mod schematic;
pub mod secret_value;
pub mod secrets;
pub mod signature;
pub mod sops;
pub mod talosconfig;
pub mod types;
pub mod validate;
