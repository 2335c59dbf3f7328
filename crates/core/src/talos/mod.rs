//! What is known of Talos itself: releases, what each brings, and the formats it reads.

pub mod asset;
pub mod digest;
pub mod document;
pub mod emit;
pub mod kind;
pub mod link;
pub mod magic;
pub mod meta;
mod node;
pub mod platform_network;
pub mod release;
pub mod schematic;
pub mod word;
