//! The recorded answers of Talos, compared with the current release.

mod lab;
