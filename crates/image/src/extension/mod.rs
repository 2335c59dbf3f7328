//! Makes the system extension that brings a routing daemon and the agent onto a node.
//!
//! An [`ExtensionRequest`] has the options and the root file system with the daemon: that of an image, or the output
//! of [`debian::unpack`]. [`build_extension`] takes the daemon's programs and the libraries they need, adds the agent, a service
//! definition, a manifest, the licences and an SBOM, and validates the result as Talos does.
//!
//! Not here: images and layers ([`oci`](crate::oci)), and Talos' rules for extensions ([`talos::extension`](ichor_talos::extension)).

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

/// The folder of the service container's root file system in the extension.
fn container_folder(name: &str) -> String {
    format!("rootfs/usr/local/lib/containers/{name}")
}

/// An extension that is wanted.
#[derive(Clone, Copy)]
pub struct ExtensionRequest<'o> {
    /// The backend whose daemon it has.
    pub backend: Backend,
    /// The machines it is for.
    pub arch: Arch,
    /// The name of extension and service.
    pub name: &'o str,
    /// The version of the extension. [default: that of the daemon's package]
    pub version: Option<&'o str>,
    /// The root file system that the daemon is taken from.
    pub input: &'o FileTree,
    /// Its origin, for readers who look for sources.
    pub origin: &'o str,
    /// The agent.
    pub agent: &'o [u8],
    /// Whether the service waits for an ExtensionServiceConfig.
    pub waits: bool,
    /// Its creation time.
    pub created: Moment,
}

/// An extension that was made.
#[derive(Clone, Debug)]
pub struct BuiltExtension {
    /// The machines it is for.
    pub arch: Arch,
    /// Its version.
    pub version: String,
    /// The tree of its image.
    pub tree: FileTree,
    /// The size of each component.
    pub parts: Vec<ComponentSize>,
    /// The list of all parts, in SPDX, which is in the tree as well.
    pub sbom: Vec<u8>,
    /// Packages without a licence text in the input, and missing texts that others refer to.
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
    /// Programs are missing.
    #[error("{} not found in {origin}; searched {folders}", missing.join(", "))]
    Programs {
        /// The programs.
        missing: Vec<String>,
        /// The expected folders.
        folders: String,
        /// The searched input.
        origin: String,
    },
    /// A program that cannot be run.
    #[error("cannot use {path}")]
    Program {
        /// The program.
        path: String,
        /// The problem.
        source: ElfError,
    },
    /// A program for other machines.
    #[error("{path} is for {got}, but the extension is for {want}")]
    Machine {
        /// The program.
        path: String,
        /// Its architecture.
        got: String,
        /// The requested architecture.
        want: Arch,
    },
    /// A file that could not be read.
    #[error("cannot read the built extension")]
    Read(#[source] std::io::Error),
    /// Libraries are missing.
    #[error("libraries not found in {origin}: {}; add the packages that contain them", missing.join(", "))]
    Libraries {
        /// The libraries, each with the file that needs it.
        missing: Vec<String>,
        /// The searched input.
        origin: String,
    },
    /// An agent that is not statically linked.
    #[error(
        "the agent needs {0}, which the extension does not contain; link it statically: -C target-feature=+crt-static"
    )]
    AgentNotStatic(String),
    /// Talos would reject the result.
    #[error("Talos {talos} rejects the extension: {what}")]
    Refused {
        /// The release.
        talos: String,
        /// The remark.
        what: String,
    },
}

/// Makes an extension.
pub fn build_extension(order: &ExtensionRequest<'_>) -> Result<BuiltExtension, ExtensionBuildError> {
    let recipe =
        DaemonRecipe::for_backend(order.backend).ok_or(ExtensionBuildError::Backend(order.backend))?;
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if order.name.is_empty() || !order.name.bytes().all(is_letter) {
        return Err(ExtensionBuildError::Name(order.name.to_owned()));
    }
    let packages = packages::Packages::read(order.input);
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
