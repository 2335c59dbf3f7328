//! Builds and writes the products of an image.

use std::io::{BufWriter, Write as _};

use anyhow::Context as _;
use ichor_image::build::installer::{BootFiles, installer};
use ichor_image::build::uki::{ResetProfile, uki};
use ichor_image::build::{BootAssets, Product, disk, iso};
use ichor_image::media::{Content, qcow2};
use ichor_image::oci::{BlobSource, ImageLayout, OciImage};
use ichor_values::Arch;
use ichor_values::Moment;

use super::recipe::ImageRecipe;
use crate::image::{ArtifactCache, Signer, StagedFiles, bios, grub_cd, installer_base};
use crate::oci::{ImageLocation, TempFileStore};
use crate::progress::Progress;

/// Warning that the image is not reproducible.
const XFS: &str =
    "the boot partition for GRUB is not reproducible: mkfs.xfs writes timestamps and random numbers";

/// Builds images with these tools and options.
pub(super) struct ImageBuilder<'b> {
    pub cache: &'b ArtifactCache,
    /// Base image of installers other than the official one.
    pub installer_base: Option<&'b str>,
    pub signer: Option<&'b Signer>,
    pub created: Moment,
}

/// A written product.
pub(super) struct BuiltProduct {
    pub product: Product,
    pub files: Vec<(String, u64)>,
    /// Size of each part.
    pub sizes: Vec<(String, u64)>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// The installer, to push it.
    pub layout: Option<ImageLayout>,
}

impl ImageBuilder<'_> {
    /// Builds and stages every product of a recipe; the initramfs in `parts` includes the extensions.
    pub(super) fn build(
        &self,
        recipe: &ImageRecipe,
        parts: &BootAssets,
        staged: &mut StagedFiles,
    ) -> anyhow::Result<Vec<BuiltProduct>> {
        let mut parts = parts.clone();
        if recipe.secure_boot {
            // GRUB boots unsigned kernels.
            parts.grub = None;
        }
        if let (Some(signer), Some(loader)) = (self.signer, &parts.loader) {
            parts.loader = Some(signer.sign(loader).context("cannot sign systemd-boot")?);
        }
        let (mut disk, mut installer) = (None, None);
        let mut all = Vec::new();
        for product in &recipe.products {
            let work = ProductBuilder { builder: self, recipe, parts: &parts };
            let failed = || format!("cannot create {} of {}", product.word(), recipe.stem);
            let made = match product {
                Product::Netboot => work.netboot(staged),
                Product::Uki => work.uki(staged),
                Product::Iso => work.iso(staged),
                Product::Disk | Product::Qcow2 | Product::Gcp => {
                    let raw = match &disk {
                        Some(raw) => raw,
                        None => disk.insert(work.raw().with_context(failed)?),
                    };
                    work.disk(*product, raw, staged)
                }
                Product::Installer | Product::Layout => {
                    let packed = match &installer {
                        Some(packed) => packed,
                        None => installer.insert(work.packed_installer().with_context(failed)?),
                    };
                    work.installer(*product, packed, staged)
                }
            };
            all.push(made.with_context(failed)?);
        }
        Ok(all)
    }

    /// Checks that the base images of installers can be pulled, before the expensive work starts.
    pub(super) fn check(&self, recipes: &[ImageRecipe]) -> anyhow::Result<()> {
        let with_installer =
            |recipe: &&ImageRecipe| recipe.products.iter().any(|product| product.is_installer());
        let mut known = Vec::new();
        for recipe in recipes.iter().filter(with_installer) {
            let base = self.installer_base(recipe);
            let arch = recipe.profile.arch;
            if matches!(ImageLocation::parse(&base)?, ImageLocation::Registry(_))
                && !known.contains(&(base.clone(), arch))
            {
                self.open_installer(recipe)?;
                known.push((base, arch));
            }
        }
        Ok(())
    }

    /// Base image of a recipe's installer.
    fn installer_base(&self, recipe: &ImageRecipe) -> String {
        self.installer_base.map_or_else(|| installer_base(&recipe.profile.talos), str::to_owned)
    }

    fn open_installer(&self, recipe: &ImageRecipe) -> anyhow::Result<(Box<dyn BlobSource>, OciImage)> {
        let base = self.installer_base(recipe);
        let failed =
            || format!("cannot read {base}, the base image of installers; set another with --installer-base");
        let mut source = self.cache.open_file(&ImageLocation::parse(&base)?).with_context(failed)?;
        let image = OciImage::find(&mut *source, recipe.profile.arch).with_context(failed)?;
        Ok((source, image))
    }

    fn seconds(&self) -> u32 {
        u32::try_from(self.created.unix()).unwrap_or(u32::MAX)
    }
}

/// A disk image before conversion to its format.
struct RawDisk {
    content: Content,
    sizes: Vec<(String, u64)>,
    warnings: Vec<String>,
}

/// An installer before it is written as an archive or a folder.
struct PackedInstaller {
    layout: ImageLayout,
    sizes: Vec<(String, u64)>,
}

struct ProductBuilder<'w> {
    builder: &'w ImageBuilder<'w>,
    recipe: &'w ImageRecipe,
    parts: &'w BootAssets,
}

impl ProductBuilder<'_> {
    /// Kernel command line for media without a META partition.
    fn line_with_meta(&self) -> String {
        let mut line = self.recipe.profile.line.clone();
        line.carry_meta(&self.recipe.profile.meta);
        line.to_string()
    }

    fn kernel_image(&self, line: &str, offer: ResetProfile) -> anyhow::Result<Content> {
        let image = uki(&self.recipe.profile, self.parts, line, offer, self.builder.seconds())?;
        match self.builder.signer {
            Some(signer) => signer.sign(&image).context("cannot sign the kernel image"),
            None => Ok(image),
        }
    }

    /// Stages files; returns their names and sizes.
    fn write(
        &self,
        staged: &mut StagedFiles,
        product: Product,
        contents: &[Content],
    ) -> anyhow::Result<Vec<(String, u64)>> {
        let names = product.files(&self.recipe.stem);
        let mut files = Vec::new();
        for (name, content) in names.into_iter().zip(contents) {
            staged.write(&name, self.recipe.is_private(), content)?;
            files.push((name, content.len()));
        }
        Ok(files)
    }

    fn netboot(&self, staged: &mut StagedFiles) -> anyhow::Result<BuiltProduct> {
        let line = format!("{}\n", self.line_with_meta()).into_bytes();
        let contents = [self.parts.kernel.clone(), self.parts.initramfs.clone(), line.into()];
        let files = self.write(staged, Product::Netboot, &contents)?;
        let names = ["kernel", "initramfs", "command line"].map(str::to_owned);
        let sizes = names.into_iter().zip(contents.iter().map(Content::len)).collect();
        Ok(BuiltProduct { product: Product::Netboot, files, sizes, warnings: Vec::new(), layout: None })
    }

    fn uki(&self, staged: &mut StagedFiles) -> anyhow::Result<BuiltProduct> {
        let image = self.kernel_image(&self.line_with_meta(), ResetProfile::Start)?;
        let sizes = self.kernel_image_sizes(&image);
        let files = self.write(staged, Product::Uki, &[image])?;
        Ok(BuiltProduct { product: Product::Uki, files, sizes, warnings: Vec::new(), layout: None })
    }

    fn kernel_image_sizes(&self, image: &Content) -> Vec<(String, u64)> {
        let known = [("kernel", self.parts.kernel.len()), ("initramfs", self.parts.initramfs.len())];
        let rest = image.len().saturating_sub(known.iter().map(|(_, size)| size).sum());
        known
            .into_iter()
            .chain([("stub and metadata", rest)])
            .map(|(name, size)| (name.to_owned(), size))
            .collect()
    }

    fn iso(&self, staged: &mut StagedFiles) -> anyhow::Result<BuiltProduct> {
        let profile = &self.recipe.profile;
        let image = self.kernel_image(&iso::line(profile).to_string(), ResetProfile::Reset)?;
        let mut parts = self.parts.clone();
        let mut warnings = Vec::new();
        // Only amd64 machines have a BIOS, and Secure Boot excludes it.
        if parts.grub.is_none() && profile.arch == Arch::Amd64 && !self.recipe.secure_boot {
            match grub_cd::CdGrubBuilder::find() {
                Ok(builder) => parts.grub = Some(builder.make().context("cannot build GRUB for BIOS boot")?),
                Err(absent) => warnings.push(format!("the ISO boots only under UEFI: {absent}")),
            }
        }
        let made = iso::iso(profile, &parts, &image)?;
        let files = self.write(staged, Product::Iso, &[made.content])?;
        let sizes = made.sizes.into_iter().map(|(name, size)| (name.to_owned(), size)).collect();
        Ok(BuiltProduct { product: Product::Iso, files, sizes, warnings, layout: None })
    }

    /// Builds the disk for UEFI, and for BIOS if the programs are installed.
    fn raw(&self) -> anyhow::Result<RawDisk> {
        let profile = &self.recipe.profile;
        let image = self.kernel_image(&profile.line.to_string(), ResetProfile::Maintenance)?;
        let mut warnings = Vec::new();
        // Only amd64 machines have a BIOS, and Secure Boot excludes it.
        let has_bios = profile.arch == Arch::Amd64 && !self.recipe.secure_boot;
        let bios = match has_bios.then(bios::BiosTools::find) {
            None => None,
            Some(Ok(tools)) => {
                let _progress = Progress::start("building the BIOS boot partitions");
                warnings.push(XFS.to_owned());
                Some(tools.make(profile, self.parts)?)
            }
            Some(Err(absent)) => {
                warnings.push(format!("the disk boots only under UEFI: {absent}"));
                None
            }
        };
        let content = disk::disk(profile, self.parts, &image, bios.as_ref())?;
        let data = content.stretches().iter().filter(|it| !it.is_hole).map(|it| it.length).sum::<u64>();
        let mut sizes = vec![("unified kernel image".to_owned(), image.len())];
        if bios.is_some() {
            sizes.push(("kernel for GRUB".to_owned(), self.parts.kernel.len()));
            sizes.push(("initramfs for GRUB".to_owned(), self.parts.initramfs.len()));
        }
        let rest = data.saturating_sub(sizes.iter().map(|(_, size)| size).sum());
        sizes.push(("boot loaders and partition tables".to_owned(), rest));
        sizes.push(("free space".to_owned(), content.len() - data));
        Ok(RawDisk { content, sizes, warnings })
    }

    fn disk(
        &self,
        product: Product,
        raw: &RawDisk,
        staged: &mut StagedFiles,
    ) -> anyhow::Result<BuiltProduct> {
        let files = match product {
            Product::Disk => self.write(staged, product, std::slice::from_ref(&raw.content))?,
            _ => {
                let name = product.files(&self.recipe.stem).remove(0);
                let _progress = Progress::start("packing the disk");
                let length =
                    staged.write_with(&name, self.recipe.is_private(), |file| -> anyhow::Result<u64> {
                        let mut out = BufWriter::new(&mut *file);
                        match product {
                            Product::Gcp => disk::google(&raw.content, self.builder.seconds(), &mut out)?,
                            _ => qcow2::write(&raw.content, &mut out)?,
                        }
                        out.flush()?;
                        drop(out);
                        Ok(file.metadata()?.len())
                    })?;
                vec![(name, length)]
            }
        };
        Ok(BuiltProduct {
            product,
            files,
            sizes: raw.sizes.clone(),
            warnings: raw.warnings.clone(),
            layout: None,
        })
    }

    fn packed_installer(&self) -> anyhow::Result<PackedInstaller> {
        let profile = &self.recipe.profile;
        let kernel = self.kernel_image(&profile.line.to_string(), ResetProfile::Maintenance)?;
        let loader = self.parts.loader.clone().context("missing systemd-boot")?;
        let sizes = vec![
            ("unified kernel image".to_owned(), kernel.len()),
            ("systemd-boot".to_owned(), loader.len()),
        ];
        let (mut source, image) = self.builder.open_installer(self.recipe)?;
        let _progress = Progress::start("packing the installer");
        let packed = installer(
            &image,
            &mut *source,
            &BootFiles { loader, kernel },
            self.builder.created,
            &mut TempFileStore::new()?,
        )?;
        Ok(PackedInstaller { layout: ImageLayout::pack(&[packed], &self.tag()), sizes })
    }

    fn installer(
        &self,
        product: Product,
        packed: &PackedInstaller,
        staged: &mut StagedFiles,
    ) -> anyhow::Result<BuiltProduct> {
        let PackedInstaller { layout, sizes } = packed;
        let name = product.files(&self.recipe.stem).remove(0);
        let length = if product == Product::Layout {
            staged.write_layout(&name, self.recipe.is_private(), layout)?
        } else {
            staged.write_with(&name, self.recipe.is_private(), |file| -> anyhow::Result<u64> {
                let mut out = BufWriter::new(&mut *file);
                layout.archive(&mut out)?;
                out.flush()?;
                drop(out);
                Ok(file.metadata()?.len())
            })?
        };
        let rest = length.saturating_sub(sizes.iter().map(|(_, size)| size).sum());
        let sizes = sizes.iter().cloned().chain([("base image and metadata".to_owned(), rest)]).collect();
        let layout = Some(layout.clone());
        Ok(BuiltProduct { product, files: vec![(name, length)], sizes, warnings: Vec::new(), layout })
    }

    /// Tag of the installer in its layout.
    fn tag(&self) -> String {
        let tag = self.recipe.installer.as_deref().and_then(|reference| reference.rsplit_once(':'));
        tag.map_or_else(|| self.recipe.profile.talos.to_string(), |(_, tag)| tag.to_owned())
    }
}
