//! The initramfs of an image: what is published, and extensions behind it.

use std::fs::File;
use std::io::BufWriter;

use anyhow::Context as _;
use ichor_image::build::conflict::conflicts;
use ichor_image::build::extension::Extension;
use ichor_image::build::initramfs::{Addition, Base, ROOT};
use ichor_image::build::modules::Modules;
use ichor_image::build::{Parts, fit};
use ichor_image::media::Content;
use ichor_image::media::squashfs;
use ichor_image::oci::Spool as _;
use ichor_talos::extension::Metadata;
use ichor_values::Arch;
use ichor_values::TalosVersion;

use super::{Opened, depmod};
use crate::oci::{Disk, full};
use crate::press::on_all_processors;
use crate::progress::Progress;

/// The parts of a release that were looked into.
pub(crate) struct Ground {
    pub parts: Parts,
    talos: TalosVersion,
    /// The version of the kernel, where it is known.
    kernel: Option<String>,
    base: Base,
}

/// An initramfs with extensions, and what takes how much of it.
pub(crate) struct Initramfs {
    pub content: Content,
    pub sizes: Vec<(String, u64)>,
    /// Names and versions of all extensions in it, the lowest first.
    pub extensions: Vec<(String, String)>,
}

impl Ground {
    /// Looks into the parts of a release: whether they belong together, and which extensions they have already.
    pub(crate) fn open(parts: Parts, talos: &TalosVersion, arch: Arch) -> anyhow::Result<Self> {
        let _progress = Progress::start("reading the initramfs");
        let mut spool = Disk::new()?;
        let base = Base::read(&parts.initramfs, &mut |_, bytes| spool.keep(bytes).map(Some));
        let base = base.context("cannot use the initramfs")?;
        let root = base.kept.get(ROOT).context("the initramfs has no root file system")?;
        let kernel = fit::check(&parts.kernel, root, talos, arch)?;
        Ok(Self { parts, talos: talos.clone(), kernel, base })
    }

    /// Everything that is wrong with extensions in one image, in words, and whether it keeps the image from being made.
    pub(crate) fn conflicts(&self, extensions: &[Extension]) -> anyhow::Result<Vec<(String, bool)>> {
        let conflicts = conflicts(extensions, &self.base, &self.talos, self.kernel.as_deref())?;
        let mut found: Vec<_> = conflicts.iter().map(|it| (it.to_string(), it.is_fatal())).collect();
        if let Some(extension) = extensions.iter().find(|extension| !extension.kernels().is_empty()) {
            found.extend(depmod::find(extension).err().map(|error| (error.to_string(), true)));
        }
        Ok(found)
    }

    /// The extensions with one more that lists the modules of all; none where they have no modules.
    fn with_modules(&self, extensions: &[Extension]) -> anyhow::Result<Option<Vec<Extension>>> {
        let Some(modules) = Modules::of(extensions, &self.base)? else { return Ok(None) };
        let _progress = Progress::start("listing kernel modules");
        let first = extensions.iter().find(|extension| !extension.kernels().is_empty());
        let program = depmod::find(first.context("an extension with modules")?)?;
        let list = depmod::list(&program, &modules)?;
        Ok(Some(extensions.iter().cloned().chain([list]).collect()))
    }

    /// The initramfs with extensions, which have no conflicts.
    pub(crate) fn with(&self, extensions: &[Extension]) -> anyhow::Result<Initramfs> {
        let base = &self.parts.initramfs;
        let mut sizes = vec![("published initramfs".to_owned(), base.len())];
        if extensions.is_empty() {
            let extensions = self.base.layers.iter().map(|layer| named(&layer.metadata)).collect();
            return Ok(Initramfs { content: base.clone(), sizes, extensions });
        }
        let listed = self.with_modules(extensions)?;
        let extensions = listed.as_deref().unwrap_or(extensions);
        let plan = self.base.plan(extensions);
        let squashes = plan.additions.iter().map(squash).collect::<anyhow::Result<Vec<_>>>()?;
        let mut spool = Disk::new()?;
        let tail = spool.write(Box::new(|out| plan.write_tail(&squashes, out)));
        let content = plan.initramfs(tail.context("cannot pack the extensions")?)?;
        for (addition, squash) in plan.additions.iter().zip(&squashes) {
            sizes.push((format!("extension {}", addition.layer.metadata.name), squash.len()));
        }
        let extensions = plan.layers().iter().map(|layer| named(&layer.metadata)).collect();
        Ok(Initramfs { content, sizes, extensions })
    }
}

fn named(metadata: &Metadata) -> (String, String) {
    (metadata.name.clone(), metadata.version.clone())
}

/// The file system of an extension, in a file without a name.
fn squash(addition: &Addition) -> anyhow::Result<Content> {
    let name = &addition.layer.metadata.name;
    let _progress = Progress::start("packing extensions");
    let attempt = || -> anyhow::Result<File> {
        let mut out = BufWriter::new(tempfile::tempfile()?);
        squashfs::write(&addition.tree, "rootfs", &mut out, &on_all_processors).map_err(
            |error| match error {
                squashfs::WriteError::Write(error) => squashfs::WriteError::Write(full(error)),
                other => other,
            },
        )?;
        Ok(out.into_inner().map_err(|error| full(error.into_error()))?)
    };
    let file = attempt().with_context(|| format!("cannot pack the extension {name}"))?;
    Ok(Opened::content(file)?)
}
