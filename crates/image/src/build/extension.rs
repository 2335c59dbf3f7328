//! Extensions of an image: given ones, validated as by Talos, and those that are made along with the image.

use std::io;

use crate::build::initramfs;
use crate::extension as made;
use crate::media::Content;
use crate::oci::{Digest, FileTree, TreeEntry};
use ichor_talos::extension;
use ichor_talos::extension::{ExtensionMetadata, Remark};
use ichor_talos::release;
use ichor_values::{Issue, TalosVersion};

/// The extension that holds a configuration, and the one that lists the modules of all others.
pub(crate) const EMBEDDED: &str = "embedded-config";
pub(super) const MODULES: &str = "modules.dep";

/// The folder of modules in the root file system of an extension, with a subfolder per kernel.
pub(super) const MODULES_FOLDER: &str = "rootfs/usr/lib/modules";

/// The SELinux label of a machine's state.
const STATE_LABEL: &str = "system_u:object_r:system_state_t:s0";

/// An extension.
#[derive(Clone, Debug)]
pub struct Extension {
    /// The metadata of its manifest.
    pub metadata: ExtensionMetadata,
    /// Its image, unpacked: `manifest.yaml` and `rootfs`.
    pub root: FileTree,
    /// The services it has, with the files that define them.
    pub services: Vec<(String, String)>,
}

/// Why an extension does not go into an image.
#[derive(Debug, thiserror::Error)]
pub enum ExtensionError {
    /// Talos does not take it.
    #[error("Talos {talos} rejects the extension: {}{}", describe_problem(.problem), more(*.others))]
    Refused {
        /// The release.
        talos: String,
        /// The first thing that is wrong.
        problem: Box<Remark>,
        /// The number of other files.
        others: usize,
    },
    /// A configuration for a release without embedded configurations.
    #[error(
        "Talos {talos} does not support an embedded configuration; use Talos 1.12 or later, or other boot media"
    )]
    NotEmbedded {
        /// The release.
        talos: String,
    },
    /// Its files could not be read.
    #[error("cannot read the files of the extension")]
    Files(#[source] io::Error),
    /// The configuration could not be read.
    #[error("cannot read the configuration")]
    Read(#[from] io::Error),
}

fn describe_problem(problem: &Remark) -> String {
    let Issue { subject, message, .. } = &problem.issue;
    let place = if subject.is_empty() { String::new() } else { format!(" {subject}") };
    format!("{}{place}: {message}; {}", problem.file, problem.fix())
}

fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        others => format!(" (and {others} more; `ichor extension check` lists all)"),
    }
}

impl Extension {
    /// Makes an extension from its unpacked image. The remarks are settings that Talos ignores and that are likely mistakes.
    pub fn from_tree(root: FileTree, talos: &TalosVersion) -> Result<(Self, Vec<Remark>), ExtensionError> {
        let tree = made::tree(&root).map_err(ExtensionError::Files)?;
        let verdict = extension::check_extension(&tree, talos);
        if let Some(problem) = verdict.problems.first() {
            return Err(ExtensionError::Refused {
                talos: talos.to_string(),
                problem: Box::new(problem.clone()),
                others: verdict.problems.len() - 1,
            });
        }
        let metadata = extension::metadata(&tree, talos).expect("a manifest that Talos takes is read");
        let services = extension::services(&tree, talos);
        Ok((Self { metadata, root, services }, verdict.warnings))
    }

    /// The extension that has a machine's configuration inside, as Talos' imager makes it.
    pub fn embedded(config: &Content, talos: &TalosVersion) -> Result<Self, ExtensionError> {
        if !release::at_least(talos, 12) {
            return Err(ExtensionError::NotEmbedded { talos: talos.to_string() });
        }
        let version = Digest::of_all(&mut config.reader())?.hex().to_owned();
        let metadata = ExtensionMetadata {
            name: EMBEDDED.to_owned(),
            version,
            author: "Imager".to_owned(),
            description: "Virtual extension which embeds the machine configuration.".to_owned(),
            constraint: ">= 1.0.0".to_owned(),
            extra: String::new(),
        };
        // 1.12 reads it as root, for which permissions do not matter.
        let mode = if release::at_least(talos, 13) { 0o400 } else { 0 };
        let label = Some(STATE_LABEL.to_owned());
        let file = TreeEntry { label, ..TreeEntry::file(mode, config.clone()) };
        let mut root = FileTree::default();
        root.put(&format!("rootfs/{}", initramfs::CONFIG), file);
        Ok(Self::virtual_extension(metadata, root))
    }

    /// The extension that lists the modules of all others, for a kernel: `files` are those that depmod wrote.
    pub fn modules(kernel: &str, files: &[(String, Content)]) -> Self {
        let metadata = ExtensionMetadata {
            name: MODULES.to_owned(),
            version: kernel.to_owned(),
            author: "Talos Machinery".to_owned(),
            description: "Combined modules.dep for all extensions".to_owned(),
            ..ExtensionMetadata::default()
        };
        let mut root = FileTree::default();
        for (name, content) in files {
            root.put(&format!("{MODULES_FOLDER}/{kernel}/{name}"), TreeEntry::file(0o644, content.clone()));
        }
        Self::virtual_extension(metadata, root)
    }

    fn virtual_extension(metadata: ExtensionMetadata, mut root: FileTree) -> Self {
        root.put("manifest.yaml", TreeEntry::file(0o644, extension::manifest(&metadata).into_bytes()));
        Self { metadata, root, services: Vec::new() }
    }

    /// The kernels it has modules for.
    pub fn kernels(&self) -> Vec<&str> {
        let below = self.root.below(MODULES_FOLDER).map(|(path, _)| &path[MODULES_FOLDER.len() + 1..]);
        below.filter(|name| !name.contains('/')).collect()
    }
}
