//! Real sops, as the judge of encrypted files.

mod lab;
