//! The extension of `ichor extension build` with the real agent, run as Talos runs a service.

mod lab;
