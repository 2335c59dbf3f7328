//! Disk and boot images, written and read in memory: file trees, ISO 9660, FAT, GPT, qcow2, squashfs, cpio, unified kernel images and OCI.
//!
//! The same input always gives the same bytes. Reading a truncated, corrupt or hostile image ends with the readable part or an
//! error, and needs no more memory than the longest item read at once. This crate uses neither files nor the clock.
//!
//! # A CD with a machine's first configuration
//!
//! ```
//! use ichor_image::media::{FileSystem, Volume, iso9660};
//!
//! let volume = Volume::new("cidata", vec![("user-data", b"version: v1alpha1\n"), ("meta-data", b"")]).unwrap();
//! let image: Vec<u8> = iso9660::write(&volume);
//!
//! let cd = FileSystem::open(&image)?;
//! let file = cd.find("user-data").expect("it was written");
//! assert_eq!(cd.read(&image, file)?, b"version: v1alpha1\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A disk with a partition
//!
//! ```
//! use ichor_image::media::{Content, Disk, FileSystem, Guid, NewPartition, Partitions, Volume, fat};
//!
//! let volume = Volume::new("DATA", vec![("hello.txt", b"hello")]).unwrap();
//! let content = Content::from(fat::write(&volume));
//! let disk = Disk {
//!     size: 4 << 20,
//!     guid: Guid::from_label("disk"),
//!     boot_code: None,
//!     partitions: vec![NewPartition {
//!         label: "DATA",
//!         kind: Guid::from_label("kind"),
//!         guid: Guid::from_label("partition"),
//!         attribute: None,
//!         length: 1 << 20,
//!         content,
//!     }],
//! };
//! let image = disk.write()?;
//!
//! let partitions = Partitions::find_in(&image)?.expect("a partition table");
//! let inside = partitions.list[0].window(&image)?;
//! assert_eq!(FileSystem::open(&inside)?.label, "DATA");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A file tree as an initramfs
//!
//! ```
//! use ichor_image::media::cpio;
//! use ichor_image::oci::{FileTree, TreeEntry};
//!
//! let mut root = FileTree::default();
//! root.put("init", TreeEntry::file(0o755, b"#!/bin/sh\n".to_vec()));
//! let archive = cpio::write(&root)?.read()?;
//!
//! let mut entries = cpio::CpioReader::new(archive.as_slice());
//! let first = entries.entry()?.expect("a file");
//! assert_eq!(first.name, "init");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! * [`media`]: file systems, partition tables, disk images and archives. [`oci`]: container images.
//! * [`build`]: boot images and installers for Talos. [`extension`]: Talos system extensions. [`catalogue`]: the official ones.
//! * [`inspect`]: the inspection of boot media.

pub mod build;
pub mod catalogue;
pub mod extension;
pub mod inspect;
pub mod media;
pub mod oci;
