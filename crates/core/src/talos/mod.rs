//! What is known of Talos itself: releases, what each brings, and the formats it reads.

pub mod asset;
pub mod cel;
pub mod config;
pub mod digest;
pub mod document;
pub mod emit;
pub mod encode;
pub mod generate;
pub mod go;
pub mod kind;
pub mod label;
pub mod link;
pub mod load;
pub mod magic;
pub mod meta;
pub mod patch;
pub mod platform_network;
pub mod release;
pub mod schematic;
pub mod secrets;
pub mod talosconfig;
mod typed;
pub mod types;
pub mod validate;
pub mod word;
pub mod yaml;
