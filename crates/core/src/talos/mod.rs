//! What is known of Talos itself: releases, and what each brings.

pub mod document;
pub mod emit;
pub mod generate;
pub mod kind;
pub mod link;
pub mod release;
pub mod secrets;
pub mod talosconfig;
pub mod word;
