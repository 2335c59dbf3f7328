//! Makes the system extension that brings a routing daemon and the agent onto a node.
//!
//! An [`ExtensionRequest`] says what is wanted and has the root file system that the daemon is taken from: an image, or what
//! [`debian::unpack`] makes of packages. [`build_extension`] takes the daemon's programs and the libraries they need, adds the agent, a service
//! definition, a manifest, the licences and a list of all parts, and has Talos' own judgement passed on the result.
//!
//! Not here: images and layers ([`oci`](crate::oci)), and what Talos says of extensions ([`talos::extension`](ichor_talos::extension)).

mod accounts;
mod container;
pub mod debian;
mod definition;
mod elf;
mod libraries;
mod licences;
mod manifest;
mod packages;
mod recipe;
mod sbom;
mod sizes;
mod validation;

#[cfg(test)]
mod tests;

pub use elf::{Elf, ElfError};
pub use recipe::DaemonRecipe;
pub use sizes::{Component, ComponentSize};
pub(crate) use validation::tree;
pub use validation::validate;

use crate::oci::{FileTree, TreeEntry};
use ichor_values::Moment;
use ichor_values::{Arch, Backend};

pub use ichor_values::DAEMON_RELEASE as RELEASE;

/// Where the root file system of the service's container lies in the extension.
fn container_folder(name: &str) -> String {
    format!("rootfs/usr/local/lib/containers/{name}")
}

/// An extension that is wanted.
#[derive(Clone, Copy)]
pub struct ExtensionRequest<'o> {
    /// Whose programs are in it.
    pub backend: Backend,
    /// The machines it is for.
    pub arch: Arch,
    /// What extension and service are called.
    pub name: &'o str,
    /// The version of the extension; that of the daemon's package where nothing is said.
    pub version: Option<&'o str>,
    /// The root file system that the daemon is taken from.
    pub input: &'o FileTree,
    /// Where that is from, for those who look for sources.
    pub origin: &'o str,
    /// The agent.
    pub agent: &'o [u8],
    /// Whether the service waits for an ExtensionServiceConfig.
    pub waits: bool,
    /// When it is said to have been made.
    pub created: Moment,
}

/// An extension that was made.
#[derive(Clone, Debug)]
pub struct BuiltExtension {
    /// The machines it is for.
    pub arch: Arch,
    /// Its version.
    pub version: String,
    /// What its image unpacks to.
    pub tree: FileTree,
    /// What takes how much of it.
    pub parts: Vec<ComponentSize>,
    /// The list of all parts, in SPDX, which is in the tree as well.
    pub sbom: Vec<u8>,
    /// Packages without a text of their licence in the input, and texts that others refer to and that are not there.
    pub unlicensed: Vec<String>,
}

/// An extension that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ExtensionBuildError {
    /// A backend that needs no extension.
    #[error("backend {0} needs no extension because Talos itself speaks BGP; want frr, bird or gobgp")]
    Backend(Backend),
    /// A name that no service may have.
    #[error("`{0}` is not a service name; want lower case letters, digits, `-` and `_`, such as frr")]
    Name(String),
    /// A version that cannot be one.
    #[error("`{0}` is not a version; want letters, digits, `.`, `-`, `_`, `+` and `~`, such as 10.5.1")]
    Version(String),
    /// A version that is not known.
    #[error("cannot detect the version of {0} from its packages; set --version")]
    NoVersion(&'static str),
    /// Programs that are not there.
    #[error("{} not found in {origin}; searched {folders}", missing.join(", "))]
    Programs {
        /// The programs.
        missing: Vec<String>,
        /// Where they should be.
        folders: String,
        /// What was looked at.
        origin: String,
    },
    /// A program that cannot be run.
    #[error("cannot use {path}")]
    Program {
        /// The program.
        path: String,
        /// What is wrong with it.
        source: ElfError,
    },
    /// A program for other machines.
    #[error("{path} is for {got}, but the extension is for {want}")]
    Machine {
        /// The program.
        path: String,
        /// What it is for.
        got: String,
        /// What it should be for.
        want: Arch,
    },
    /// A file that could not be read.
    #[error("cannot read the built extension")]
    Read(#[source] std::io::Error),
    /// Libraries that are not there.
    #[error("libraries not found in {origin}: {}; add the packages that contain them", missing.join(", "))]
    Libraries {
        /// The libraries, each with who needs it.
        missing: Vec<String>,
        /// What was looked at.
        origin: String,
    },
    /// An agent that needs something besides the kernel.
    #[error(
        "the agent needs {0}, which the extension does not contain; link it statically: -C target-feature=+crt-static"
    )]
    AgentNotStatic(String),
    /// What was made is nothing that Talos takes.
    #[error("Talos {talos} rejects the extension: {what}")]
    Refused {
        /// The release.
        talos: String,
        /// What it says.
        what: String,
    },
}

/// Makes an extension.
pub fn build_extension(order: &ExtensionRequest<'_>) -> Result<BuiltExtension, ExtensionBuildError> {
    let recipe = DaemonRecipe::of(order.backend).ok_or(ExtensionBuildError::Backend(order.backend))?;
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if order.name.is_empty() || !order.name.bytes().all(is_letter) {
        return Err(ExtensionBuildError::Name(order.name.to_owned()));
    }
    let packages = packages::Packages::of(order.input);
    let container = container::build_container(order, &recipe, &packages)?;
    let version = version(order, &recipe, &container)?;
    let mut tree = FileTree::default();
    let folder = container_folder(order.name);
    for (path, entry) in container.root.iter() {
        tree.put(&format!("{folder}/{path}"), entry.clone());
    }
    let put = |tree: &mut FileTree, path: &str, text: Vec<u8>| tree.put(path, TreeEntry::file(0o644, text));
    put(&mut tree, "manifest.yaml", manifest::text(order, &recipe, &version).into_bytes());
    let definition = format!("rootfs/usr/local/etc/containers/{}.yaml", order.name);
    put(&mut tree, &definition, definition::text(order.name, order.waits).into_bytes());
    let licences = licences::gather_licences(order, &container, &version);
    for (path, text) in licences.files {
        tree.put(&path, TreeEntry::file(0o644, text));
    }
    let sbom = sbom::text(order, &recipe, &version, &container, &tree);
    put(&mut tree, &format!("rootfs/usr/local/share/spdx/{}.spdx.json", order.name), sbom.clone());
    validation::validate_for_all_releases(&tree)?;
    let parts = sizes::component_sizes(&tree, &folder, &container);
    Ok(BuiltExtension { arch: order.arch, version, tree, parts, sbom, unlicensed: licences.missing })
}

fn version(
    order: &ExtensionRequest<'_>,
    recipe: &DaemonRecipe,
    container: &container::Container,
) -> Result<String, ExtensionBuildError> {
    let version = match order.version {
        Some(version) => version.to_owned(),
        None => container.daemon.as_ref().ok_or(ExtensionBuildError::NoVersion(recipe.product))?.upstream(),
    };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+~".contains(&byte);
    let is_version = !version.is_empty() && version.len() <= 100 && version.bytes().all(is_letter);
    if is_version {
        Ok(version)
    } else {
        Err(ExtensionBuildError::Version(version.escape_debug().to_string()))
    }
}
