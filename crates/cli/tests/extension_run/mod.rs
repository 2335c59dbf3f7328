//! The extension that `ichor extension build` makes, with the real agent in it, run as Talos runs a service.

mod lab;
