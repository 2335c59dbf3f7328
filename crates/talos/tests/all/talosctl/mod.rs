//! Real talosctl of four releases, as the judge of ichor's answers.

mod lab;
