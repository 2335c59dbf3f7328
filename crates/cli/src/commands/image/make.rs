//! Products, put together and written.

use std::io::{BufWriter, Write as _};

use anyhow::Context as _;
use ichor_image::build::installer::{Boot, installer};
use ichor_image::build::uki::{Offer, uki};
use ichor_image::build::{Parts, Product, disk, iso};
use ichor_image::media::{Content, qcow2};
use ichor_image::oci::{Image, Layout, Source};
use ichor_values::Arch;
use ichor_values::Moment;

use super::recipe::Recipe;
use crate::image::{Drafts, Larder, Signer, bios, grub_cd, installer_base};
use crate::oci::{Disk, Place};
use crate::progress::Progress;

/// What is not the same each time.
const XFS: &str =
    "the partition that GRUB boots from is made by mkfs.xfs, which may write other bytes each time";

/// What everything is made with.
pub(super) struct Bench<'b> {
    pub larder: &'b Larder,
    /// The image that installers are made of, where it is not the official one.
    pub installer_base: Option<&'b str>,
    pub signer: Option<&'b Signer>,
    pub created: Moment,
}

/// A product that was written.
pub(super) struct Made {
    pub product: Product,
    pub files: Vec<(String, u64)>,
    /// What takes how much of it.
    pub sizes: Vec<(String, u64)>,
    /// What is not as one might think.
    pub warnings: Vec<String>,
    /// The installer, to be sent.
    pub layout: Option<Layout>,
}

impl Bench<'_> {
    /// Makes and writes every product of a recipe. The initramfs of the parts is that with the extensions.
    pub(super) fn make(
        &self,
        recipe: &Recipe,
        parts: &Parts,
        drafts: &mut Drafts,
    ) -> anyhow::Result<Vec<Made>> {
        let mut parts = parts.clone();
        if recipe.secure_boot {
            // GRUB starts what nobody signed.
            parts.grub = None;
        }
        if let (Some(signer), Some(loader)) = (self.signer, &parts.loader) {
            parts.loader = Some(signer.sign(loader).context("cannot sign systemd-boot")?);
        }
        let (mut disk, mut installer) = (None, None);
        let mut all = Vec::new();
        for product in &recipe.products {
            let work = Work { bench: self, recipe, parts: &parts };
            let failed = || format!("cannot make {} of {}", product.word(), recipe.stem);
            let made = match product {
                Product::Netboot => work.netboot(drafts),
                Product::Uki => work.uki(drafts),
                Product::Iso => work.iso(drafts),
                Product::Disk | Product::Qcow2 | Product::Gcp => {
                    let raw = match &disk {
                        Some(raw) => raw,
                        None => disk.insert(work.raw().with_context(failed)?),
                    };
                    work.disk(*product, raw, drafts)
                }
                Product::Installer | Product::Layout => {
                    let packed = match &installer {
                        Some(packed) => packed,
                        None => installer.insert(work.packed_installer().with_context(failed)?),
                    };
                    work.installer(*product, packed, drafts)
                }
            };
            all.push(made.with_context(failed)?);
        }
        Ok(all)
    }

    /// Makes sure that the images of registries that installers are made of can be had, before much work is done.
    pub(super) fn check(&self, recipes: &[Recipe]) -> anyhow::Result<()> {
        let with_installer = |recipe: &&Recipe| recipe.products.iter().any(|product| product.is_installer());
        let mut known = Vec::new();
        for recipe in recipes.iter().filter(with_installer) {
            let base = self.installer_base(recipe);
            let arch = recipe.profile.arch;
            if matches!(Place::parse(&base)?, Place::Registry(_)) && !known.contains(&(base.clone(), arch)) {
                self.open_installer(recipe)?;
                known.push((base, arch));
            }
        }
        Ok(())
    }

    /// What the installer of a recipe is made of.
    fn installer_base(&self, recipe: &Recipe) -> String {
        self.installer_base.map_or_else(|| installer_base(&recipe.profile.talos), str::to_owned)
    }

    fn open_installer(&self, recipe: &Recipe) -> anyhow::Result<(Box<dyn Source>, Image)> {
        let base = self.installer_base(recipe);
        let failed =
            || format!("cannot read {base}, which installers are made of; --installer-base names another");
        let mut source = self.larder.open(&Place::parse(&base)?).with_context(failed)?;
        let image = Image::find(&mut *source, recipe.profile.arch).with_context(failed)?;
        Ok((source, image))
    }

    fn seconds(&self) -> u32 {
        u32::try_from(self.created.unix()).unwrap_or(u32::MAX)
    }
}

/// A disk, in no form yet.
struct Raw {
    content: Content,
    sizes: Vec<(String, u64)>,
    warnings: Vec<String>,
}

/// An installer, neither an archive nor a folder yet.
struct PackedInstaller {
    layout: Layout,
    sizes: Vec<(String, u64)>,
}

struct Work<'w> {
    bench: &'w Bench<'w>,
    recipe: &'w Recipe,
    parts: &'w Parts,
}

impl Work<'_> {
    /// What the kernel is told where META has no partition.
    fn line_with_meta(&self) -> String {
        let mut line = self.recipe.profile.line.clone();
        line.carry_meta(&self.recipe.profile.meta);
        line.to_string()
    }

    fn kernel_image(&self, line: &str, offer: Offer) -> anyhow::Result<Content> {
        let image = uki(&self.recipe.profile, self.parts, line, offer, self.bench.seconds())?;
        match self.bench.signer {
            Some(signer) => signer.sign(&image).context("cannot sign the kernel image"),
            None => Ok(image),
        }
    }

    /// Writes files, and says how long they are.
    fn write(
        &self,
        drafts: &mut Drafts,
        product: Product,
        contents: &[Content],
    ) -> anyhow::Result<Vec<(String, u64)>> {
        let names = product.files(&self.recipe.stem);
        let mut files = Vec::new();
        for (name, content) in names.into_iter().zip(contents) {
            drafts.write(&name, self.recipe.is_private(), content)?;
            files.push((name, content.len()));
        }
        Ok(files)
    }

    fn netboot(&self, drafts: &mut Drafts) -> anyhow::Result<Made> {
        let line = format!("{}\n", self.line_with_meta()).into_bytes();
        let contents = [self.parts.kernel.clone(), self.parts.initramfs.clone(), line.into()];
        let files = self.write(drafts, Product::Netboot, &contents)?;
        let names = ["kernel", "initramfs", "command line"].map(str::to_owned);
        let sizes = names.into_iter().zip(contents.iter().map(Content::len)).collect();
        Ok(Made { product: Product::Netboot, files, sizes, warnings: Vec::new(), layout: None })
    }

    fn uki(&self, drafts: &mut Drafts) -> anyhow::Result<Made> {
        let image = self.kernel_image(&self.line_with_meta(), Offer::Start)?;
        let sizes = self.kernel_image_sizes(&image);
        let files = self.write(drafts, Product::Uki, &[image])?;
        Ok(Made { product: Product::Uki, files, sizes, warnings: Vec::new(), layout: None })
    }

    fn kernel_image_sizes(&self, image: &Content) -> Vec<(String, u64)> {
        let known = [("kernel", self.parts.kernel.len()), ("initramfs", self.parts.initramfs.len())];
        let rest = image.len().saturating_sub(known.iter().map(|(_, size)| size).sum());
        known
            .into_iter()
            .chain([("stub and texts", rest)])
            .map(|(name, size)| (name.to_owned(), size))
            .collect()
    }

    fn iso(&self, drafts: &mut Drafts) -> anyhow::Result<Made> {
        let profile = &self.recipe.profile;
        let image = self.kernel_image(&iso::line(profile).to_string(), Offer::Reset)?;
        let mut parts = self.parts.clone();
        let mut warnings = Vec::new();
        // There is no other machine with a BIOS, and those with secure boot do not use it.
        if parts.grub.is_none() && profile.arch == Arch::Amd64 && !self.recipe.secure_boot {
            match grub_cd::Maker::find() {
                Ok(maker) => parts.grub = Some(maker.make().context("cannot make GRUB for a BIOS")?),
                Err(absent) => warnings.push(format!("the ISO boots under UEFI alone: {absent}")),
            }
        }
        let made = iso::iso(profile, &parts, &image)?;
        let files = self.write(drafts, Product::Iso, &[made.content])?;
        let sizes = made.sizes.into_iter().map(|(name, size)| (name.to_owned(), size)).collect();
        Ok(Made { product: Product::Iso, files, sizes, warnings, layout: None })
    }

    /// The disk, for UEFI, and for a BIOS where what that needs is installed.
    fn raw(&self) -> anyhow::Result<Raw> {
        let profile = &self.recipe.profile;
        let image = self.kernel_image(&profile.line.to_string(), Offer::Maintenance)?;
        let mut warnings = Vec::new();
        // There is no other machine with a BIOS, and those with secure boot do not use it.
        let has_bios = profile.arch == Arch::Amd64 && !self.recipe.secure_boot;
        let bios = match has_bios.then(bios::Tools::find) {
            None => None,
            Some(Ok(tools)) => {
                let _progress = Progress::start("making what a BIOS boots");
                warnings.push(XFS.to_owned());
                Some(tools.make(profile, self.parts)?)
            }
            Some(Err(absent)) => {
                warnings.push(format!("the disk boots under UEFI alone: {absent}"));
                None
            }
        };
        let content = disk::disk(profile, self.parts, &image, bios.as_ref())?;
        let there = content.stretches().iter().filter(|it| !it.is_hole).map(|it| it.length).sum::<u64>();
        let mut sizes = vec![("unified kernel image".to_owned(), image.len())];
        if bios.is_some() {
            sizes.push(("kernel for GRUB".to_owned(), self.parts.kernel.len()));
            sizes.push(("initramfs for GRUB".to_owned(), self.parts.initramfs.len()));
        }
        let rest = there.saturating_sub(sizes.iter().map(|(_, size)| size).sum());
        sizes.push(("loaders and tables".to_owned(), rest));
        sizes.push(("room".to_owned(), content.len() - there));
        Ok(Raw { content, sizes, warnings })
    }

    fn disk(&self, product: Product, raw: &Raw, drafts: &mut Drafts) -> anyhow::Result<Made> {
        let files = match product {
            Product::Disk => self.write(drafts, product, std::slice::from_ref(&raw.content))?,
            _ => {
                let name = product.files(&self.recipe.stem).remove(0);
                let _progress = Progress::start("packing the disk");
                let length = drafts.fill(&name, self.recipe.is_private(), |file| -> anyhow::Result<u64> {
                    let mut out = BufWriter::new(&mut *file);
                    match product {
                        Product::Gcp => disk::google(&raw.content, self.bench.seconds(), &mut out)?,
                        _ => qcow2::write(&raw.content, &mut out)?,
                    }
                    out.flush()?;
                    drop(out);
                    Ok(file.metadata()?.len())
                })?;
                vec![(name, length)]
            }
        };
        Ok(Made { product, files, sizes: raw.sizes.clone(), warnings: raw.warnings.clone(), layout: None })
    }

    fn packed_installer(&self) -> anyhow::Result<PackedInstaller> {
        let profile = &self.recipe.profile;
        let kernel = self.kernel_image(&profile.line.to_string(), Offer::Maintenance)?;
        let loader = self.parts.loader.clone().context("there is no systemd-boot")?;
        let sizes = vec![
            ("unified kernel image".to_owned(), kernel.len()),
            ("systemd-boot".to_owned(), loader.len()),
        ];
        let (mut source, image) = self.bench.open_installer(self.recipe)?;
        let _progress = Progress::start("packing the installer");
        let packed =
            installer(&image, &mut *source, &Boot { loader, kernel }, self.bench.created, &mut Disk::new()?)?;
        Ok(PackedInstaller { layout: Layout::pack(&[packed], &self.tag()), sizes })
    }

    fn installer(
        &self,
        product: Product,
        packed: &PackedInstaller,
        drafts: &mut Drafts,
    ) -> anyhow::Result<Made> {
        let PackedInstaller { layout, sizes } = packed;
        let name = product.files(&self.recipe.stem).remove(0);
        let length = if product == Product::Layout {
            drafts.layout(&name, self.recipe.is_private(), layout)?
        } else {
            drafts.fill(&name, self.recipe.is_private(), |file| -> anyhow::Result<u64> {
                let mut out = BufWriter::new(&mut *file);
                layout.archive(&mut out)?;
                out.flush()?;
                drop(out);
                Ok(file.metadata()?.len())
            })?
        };
        let rest = length.saturating_sub(sizes.iter().map(|(_, size)| size).sum());
        let sizes = sizes.iter().cloned().chain([("base and lists, packed".to_owned(), rest)]).collect();
        let layout = Some(layout.clone());
        Ok(Made { product, files: vec![(name, length)], sizes, warnings: Vec::new(), layout })
    }

    /// What the installer is called in its layout.
    fn tag(&self) -> String {
        let tag = self.recipe.installer.as_deref().and_then(|reference| reference.rsplit_once(':'));
        tag.map_or_else(|| self.recipe.profile.talos.to_string(), |(_, tag)| tag.to_owned())
    }
}
