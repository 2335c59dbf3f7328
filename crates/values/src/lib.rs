//! Checked values, YAML with source locations, and go-yaml's text.
//!
//! * Values: [`Asn`], [`Mac`], [`TalosVersion`] and the others at the top, each made by `parse` and impossible to hold wrong;
//!   [`Moment`].
//! * YAML with locations: [`tree`] is a parsed file, [`source`] a location in it, [`FileIssue`] a problem there.
//! * [`Issue`] is the shape of every reported problem: subject, message and help.
//! * Records: [`record!`] and [`choice!`] describe the keys of a file once; from the description come the type, the reader
//!   ([`read`]), the printer ([`print`](mod@print)), the schema ([`schema`]) and the merging of layers ([`key`]).
//! * [`listing`] writes lists and numbers as people read them.
//! * go-yaml: [`go_yaml`] reads and writes YAML as Talos' own library does.
//!
//! Not here: which keys the cluster file has (`ichor_core::cluster`), and anything that touches a file or a socket.

mod arch;
mod backend;
mod explanation;
mod file_issue;
mod form;
pub mod format;
pub mod go_yaml;
mod issue;
pub mod key;
pub mod listing;
mod measure;
mod moment;
mod name;
mod nearest;
mod net;
mod number;
mod parse;
pub mod print;
pub mod read;
pub mod record;
mod scalar;
pub mod schema;
mod secret;
pub mod source;
pub mod symlink;
pub mod tree;
mod value_error;
mod version;

pub use arch::Arch;
pub use backend::{Backend, DAEMON_RELEASE};
pub use explanation::Explanation;
pub use file_issue::FileIssue;
pub use form::{Any, Pair, Toggle, WordOrRecord};
pub use issue::{Issue, Severity};
pub use measure::{Duration, Size};
pub use moment::{Moment, duration};
pub use name::{
    AgeRecipient, Community, DiskPath, DnsName, Endpoint, EnvName, FilePath, Fingerprint, HostPort,
    ImageReference, LabelKey, LabelValue, LinkName, NodeName, PortRef, SizeRange, Taint, Text, Url, Word,
};
pub use nearest::nearest;
pub use net::{Address, AddressOrPrefix4, AddressOrPrefix6, Mac, Prefix};
pub use number::{Asn, Mtu, VlanId};
pub use secret::Secret;
pub use source::{Location, Source, Sources};
pub use value_error::ValueError;
pub use version::{KubernetesVersion, SoftwareVersion, TalosVersion};
