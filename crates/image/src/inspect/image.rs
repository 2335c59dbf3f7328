//! Media out of an image: a CD, a stick, a disk, a disk inside of a qcow2 image, or a kernel image.

use super::config_volume::SHORTEST;
use super::{BootMedia, ConfigVolume, MediaItem, boot_entry};
use crate::build::initramfs;
use crate::inspect::rules;
use crate::media::{
    FileSystem, FileSystemType, Image, ImageError, ImageWindow, Partition, PartitionScheme, Partitions,
    Qcow2, uki,
};
use crate::oci::BlobStore;
use ichor_talos::meta_partition as adv;

/// The partitions of Talos, by their labels.
const META: &str = "META";
const STATE: &str = "STATE";

/// The signatures of compressed files, and the tools that decompress them.
const PACKED: [(&[u8], &str); 4] =
    [(b"\x28\xb5\x2f\xfd", "zstd -d"), (b"\x1f\x8b", "gunzip"), (b"\xfd7zXZ\0", "unxz"), (b"BZh", "bunzip2")];

impl BootMedia {
    /// The contents of an image, whatever its name.
    pub fn of_image(image: &dyn Image, spool: &mut dyn BlobStore) -> Result<Self, ImageError> {
        if let Some(disk) = Qcow2::find_in(image)? {
            let mut media = Self::of_disk(&disk, spool)?;
            media.found.insert(
                0,
                MediaItem { name: "qcow2".to_owned(), length: disk.size(), taken_for: "a disk".to_owned() },
            );
            return Ok(media);
        }
        if let Some(line) = uki::command_line(image)? {
            let mut media = Self::default();
            media.boots("the kernel image", line);
            media.add_kernel_image("the kernel image", image, spool)?;
            return Ok(media);
        }
        Self::of_disk(image, spool)
    }

    fn of_disk(image: &dyn Image, spool: &mut dyn BlobStore) -> Result<Self, ImageError> {
        let mut media = Self::default();
        let file_system = FileSystem::find_in(image)?;
        if let Some(found) = &file_system {
            media.add_volume("the volume", "", found, image, spool)?;
        }
        // A CD may have partitions as well, to be booted from a stick.
        let has_partitions = file_system.as_ref().is_none_or(|found| found.kind == FileSystemType::Iso9660);
        match Partitions::find_in(image)?.filter(|_| has_partitions) {
            Some(partitions) => media.add_partitions(&partitions, file_system.is_some(), image, spool)?,
            None if file_system.is_none() && initramfs::is_initramfs(image) => {
                media.add_initramfs("the initramfs", image, spool);
            }
            None if file_system.is_none() => return Err(unsupported_image(image)),
            None => {}
        }
        Ok(media)
    }

    fn add_partitions(
        &mut self,
        partitions: &Partitions,
        on_a_cd: bool,
        image: &dyn Image,
        spool: &mut dyn BlobStore,
    ) -> Result<(), ImageError> {
        if !on_a_cd {
            partitions.check()?;
        }
        for partition in &partitions.list {
            if on_a_cd {
                self.add_boot_partition(partition, image, spool);
            } else {
                self.add_partition(partition, partition.window(image)?, spool)?;
            }
        }
        if partitions.scheme == PartitionScheme::Mbr
            && self.carriers.iter().any(|carrier| !carrier.files.is_empty())
            && !on_a_cd
        {
            let message = "the disk has an MBR, but Talos reads only a GPT: it may not find the files";
            self.mistake(&rules::MBR, message);
        }
        Ok(())
    }

    /// Adds a partition of a CD: it is there to boot from, in any form, and may be the CD itself again.
    fn add_boot_partition(&mut self, partition: &Partition, image: &dyn Image, spool: &mut dyn BlobStore) {
        let Ok(window) = partition.window(image) else { return };
        if let Ok(Some(found)) = FileSystem::find_in(&window)
            && found.kind != FileSystemType::Iso9660
            && let Ok(lines) = boot_entry::find_in(&found, &window)
        {
            for (path, line) in lines {
                self.boots(&path, line);
            }
            let _ = self.add_booted(&found, &window, spool);
        }
    }

    fn add_partition(
        &mut self,
        partition: &Partition,
        window: ImageWindow<'_>,
        spool: &mut dyn BlobStore,
    ) -> Result<(), ImageError> {
        let label = partition.label.as_str();
        let place = match label {
            "" => format!("partition {}", partition.number),
            label => format!("partition {} ({label})", partition.number),
        };
        match (label, FileSystem::find_in(&window)?) {
            (META, _) => self.add_meta(place, &window),
            (STATE, _) => {
                self.add_state(place, &window);
                Ok(())
            }
            (_, Some(found)) => self.add_volume(&place, label, &found, &window, spool),
            (_, None) => {
                let taken_for = detect_format(&window).unwrap_or("ignored by Talos");
                self.found.push(MediaItem {
                    name: place,
                    length: window.size(),
                    taken_for: taken_for.to_owned(),
                });
                Ok(())
            }
        }
    }

    fn add_volume(
        &mut self,
        place: &str,
        partition: &str,
        found: &FileSystem,
        image: &dyn Image,
        spool: &mut dyn BlobStore,
    ) -> Result<(), ImageError> {
        let taken_for = format!("{}, label `{}`", found.kind.name(), found.label);
        self.found.push(MediaItem { name: place.to_owned(), length: image.size(), taken_for });
        for (path, line) in boot_entry::find_in(found, image)? {
            self.boots(&path, line);
        }
        self.add_booted(found, image, spool)?;
        let carrier = ConfigVolume::volume(place.to_owned(), partition, found, image)?;
        if carrier.is_short && !(carrier.files.is_empty() && carrier.renamed.is_empty()) {
            let message =
                format!("{place} has {} bytes; Talos ignores volumes smaller than {SHORTEST}", image.size());
            self.mistake(&rules::SMALL, message);
        }
        if !carrier.renamed.is_empty() {
            let names = carrier.renamed.iter().map(|(name, shown)| format!("{name} is called `{shown}`"));
            let names = names.collect::<Vec<_>>().join(", ");
            let message =
                format!("{place} has neither Rock Ridge nor Joliet: {names}, and Talos does not find it");
            self.mistake(&rules::NAMES, message);
        }
        self.carriers.push(carrier);
        Ok(())
    }

    /// Adds a command line to boot with. The first is used; others are only reported.
    pub(super) fn boots(&mut self, path: &str, line: String) {
        let taken_for = match &self.command_line {
            None => "the command line",
            Some(first) if *first == line => "the same command line",
            Some(_) => "another command line (ignored)",
        };
        self.found.push(MediaItem::new(path, line.len(), taken_for));
        self.command_line.get_or_insert(line);
    }

    fn add_meta(&mut self, place: String, window: &ImageWindow<'_>) -> Result<(), ImageError> {
        let length = usize::try_from(window.size()).unwrap_or(usize::MAX).min(adv::LENGTH);
        let mut bytes = vec![0; length];
        window.read_at(0, &mut bytes).map_err(ImageError::Read)?;
        let values = adv::read(&bytes).unwrap_or_else(|error| {
            let message = format!("{place}: {error}; Talos starts without META values");
            self.mistake(&rules::META_BROKEN, message);
            Vec::new()
        });
        let keys: Vec<String> = values.iter().map(|value| value.key.to_string()).collect();
        let taken_for = match keys.as_slice() {
            [] => "META, without values".to_owned(),
            [key] => format!("META, with key {key}"),
            keys => format!("META, with keys {}", keys.join(", ")),
        };
        self.found.push(MediaItem { name: place, length: window.size(), taken_for });
        self.meta = Some(Ok(values));
        Ok(())
    }

    fn add_state(&mut self, place: String, window: &ImageWindow<'_>) {
        let form = detect_format(window);
        let taken_for = form.unwrap_or("empty: Talos formats it");
        self.found.push(MediaItem { name: place, length: window.size(), taken_for: taken_for.to_owned() });
        self.state = form.map(|form| {
            format!("{form}, not readable by ichor: a configuration on it takes precedence over all others")
        });
    }
}

/// The format of a partition that is not supported.
fn detect_format(window: &dyn Image) -> Option<&'static str> {
    let mut head = [0; 8];
    let length = usize::try_from(window.size()).unwrap_or(head.len()).min(head.len());
    window.read_at(0, &mut head[..length]).ok()?;
    let mut ext = [0; 2];
    let is_ext = window.size() > 0x43a && window.read_at(0x438, &mut ext).is_ok() && ext == [0x53, 0xef];
    match &head {
        head if head.starts_with(b"XFSB") => Some("XFS"),
        head if head.starts_with(b"LUKS\xba\xbe") => Some("encrypted with LUKS"),
        _ if is_ext => Some("ext4"),
        _ => None,
    }
}

/// Why an image is nothing that is known.
fn unsupported_image(image: &dyn Image) -> ImageError {
    let mut head = [0; 8];
    let length = usize::try_from(image.size()).unwrap_or(head.len()).min(head.len());
    let read = image.read_at(0, &mut head[..length]);
    let packed = PACKED.iter().find(|(magic, _)| head.starts_with(magic));
    match (read, packed) {
        (Err(error), _) => ImageError::Read(error),
        (Ok(()), Some((_, with))) => ImageError::Packed(with),
        (Ok(()), None) => ImageError::Unknown,
    }
}
