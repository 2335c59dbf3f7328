//! The list of kernel modules.

use std::collections::BTreeMap;

use ichor_image::build::extension::Extension;
use ichor_image::build::initramfs::{BaseInitramfs, MissingSquashfs};
use ichor_image::build::modules::{KernelModules, ModuleEntry, ModulesError};

use crate::initramfs::extensions::extension;
use crate::initramfs::segments::{assembled, base, published};

fn unpacked(extensions: &[Extension], base: &BaseInitramfs) -> Option<BTreeMap<String, Vec<u8>>> {
    let modules = KernelModules::collect(extensions, base).unwrap()?;
    assert_eq!(modules.kernel, "6.12.45-talos");
    let mut files = BTreeMap::new();
    modules
        .unpack(&mut |path, item| {
            if let ModuleEntry::File(write) = item {
                let mut bytes = Vec::new();
                write(&mut bytes)?;
                files.insert(path.to_owned(), bytes);
            }
            Ok(())
        })
        .unwrap();
    Some(files)
}

#[test]
fn modules_of_talos_and_all_extensions_are_merged() {
    let one = extension("one", &[("usr/lib/modules/6.12.45-talos/extras/one.ko", b"1")]);
    let image = assembled(&published(), &[one]);
    let other =
        extension("other", &[("usr/lib/modules/6.12.45-talos/extras/other.ko", b"2"), ("usr/local/x", b"x")]);

    let files = unpacked(&[other], &base(&image).unwrap()).unwrap();

    let folder = "usr/lib/modules/6.12.45-talos";
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            format!("{folder}/extras/one.ko"),
            format!("{folder}/extras/other.ko"),
            format!("{folder}/modules.dep")
        ]
    );
    assert_eq!(files[&format!("{folder}/extras/other.ko")], b"2");
}

#[test]
fn extensions_without_modules_need_no_module_list() {
    assert_eq!(unpacked(&[extension("frr", &[])], &base(&published()).unwrap()), None);
}

#[test]
fn a_missing_file_system_is_reported() {
    let base = BaseInitramfs::read(&published(), &mut |_, _| Ok(None)).unwrap();
    let modules = [extension("one", &[("usr/lib/modules/6.12.45-talos/one.ko", b"1")])];

    let error = KernelModules::collect(&modules, &base).err().unwrap();

    assert!(matches!(error, ModulesError::NotKept(MissingSquashfs(name)) if name == "rootfs.sqsh"));
}
