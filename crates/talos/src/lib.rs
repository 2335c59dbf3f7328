//! Everything Talos Linux defines: machine configurations, secrets, schematics, META, extensions, and the messages of its API.
//!
//! This crate uses neither files, sockets nor the clock. A function's verdict on a configuration is that of the given release of
//! Talos; the tests compare both.
//!
//! # Load a configuration and validate it for a release
//!
//! ```
//! use ichor_talos::load::load;
//! use ichor_talos::validate::{Mode, Setting, is_refused, validate};
//! use ichor_values::TalosVersion;
//!
//! let talos = TalosVersion::parse("v1.13.9")?;
//! let unknown = load("machine:\n  hostnam: n1\n", &talos).unwrap_err();
//! assert!(unknown.to_string().contains("hostnam"));
//!
//! let config = load("version: v1alpha1\nmachine:\n  type: worker\ncluster:\n  controlPlane: {}\n", &talos)?;
//! let found = validate(&config, Setting { talos: &talos, mode: Mode::Metal });
//! assert!(is_refused(&config, &found, false), "a machine needs certificates");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Generate the configuration of a role
//!
//! ```
//! use ichor_talos::generate::{Contract, Endpoint, Input, control_plane};
//! use ichor_talos::secrets::Bundle;
//! use ichor_values::go_yaml::emit::emit_all;
//! use ichor_values::{Moment, TalosVersion};
//! # use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng as _};
//! # let (mut random, now) = (ChaCha20Rng::seed_from_u64(1), Moment::parse("2026-01-01T00:00:00Z").unwrap());
//!
//! let talos = TalosVersion::parse("v1.13.9")?;
//! let secrets = Bundle::quick(&talos, &mut random, now)?;
//! let input = Input::new("demo", Endpoint::parse("https://10.0.0.10:6443")?, Contract::for_release(&talos));
//! let text = emit_all(&control_plane(&input, &secrets));
//! assert!(text.starts_with("version: v1alpha1\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Patch it
//!
//! ```
//! use ichor_talos::patch::{Patch, apply};
//! use ichor_values::TalosVersion;
//! use ichor_values::go_yaml::emit::emit_all;
//!
//! let talos = TalosVersion::parse("v1.13.9")?;
//! let patch = Patch::read("labels.yaml", "machine: {nodeLabels: {rack: r1}}", &talos)?;
//! let patched = apply("version: v1alpha1\nmachine:\n    type: worker\n", &[patch], &talos)?;
//! assert!(emit_all(&patched).contains("rack: r1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! * Configurations: [`load`] reads and [`types`] know each field; [`validate`], [`patch`], [`difference`], [`generate`]; [`encode`] puts fields
//!   in Talos' order. [`cel`] and [`label`] check expressions and labels.
//! * Secrets: [`secrets`] is the bundle of a cluster, [`sops`] its encryption, [`secret_value`] finds secrets in any configuration.
//!   [`talosconfig`] and [`kubeconfig`] are the configurations of clients.
//! * Boot: [`schematic`], [`asset`], [`meta`], [`platform_network`], [`nocloud`], [`command_line`], [`kernel_args`], [`config_url`], [`extension`].
//! * Running nodes: [`api`], the [`resource`]s it serves, the [`peer`] at its other end, [`kubernetes`]' objects.
//! * Facts: [`release`], [`catalogue`], [`kind`], [`link`]; [`go`] has the formats of Go's libraries.

pub mod api;
pub mod asset;
pub mod catalogue;
pub(crate) mod cel;
pub mod command_line;
pub mod config;
pub mod config_url;
pub mod difference;
pub mod digest;
pub mod document;
pub mod encode;
pub mod extension;
pub mod generate;
pub mod go;
pub mod kernel_args;
pub(crate) mod key_path;
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
