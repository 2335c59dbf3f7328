//! `ichor image build` with extensions, and machines that boot the images.

pub mod lab;
