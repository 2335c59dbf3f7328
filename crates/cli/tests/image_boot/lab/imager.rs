//! Images as built by Talos' imager: with the same programs and arguments.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::done;
use super::release::ReleaseFiles;

/// Appends an extension's layer and its list entry to an initramfs.
pub fn initramfs(files: &ReleaseFiles, archive: &Path, out: &Path) {
    let folder = tempfile::tempdir().unwrap();
    unpack(archive, folder.path());
    let manifest = fs::read_to_string(folder.path().join("bundle/rootfs/manifest.yaml")).unwrap();
    let metadata = manifest.split_once("metadata:\n").unwrap().1.replace("    ", "        ");
    fs::create_dir(folder.path().join("tail")).unwrap();
    let list = format!("layers:\n    - image: 0.sqsh\n      metadata:\n{metadata}");
    fs::write(folder.path().join("tail/extensions.yaml"), list).unwrap();
    let line = "mksquashfs bundle/rootfs/rootfs tail/0.sqsh -all-root -noappend -no-progress -quiet -no-xattrs \
        -comp zstd -Xcompression-level 18 && \
        cd tail && printf '0.sqsh\\nextensions.yaml\\n' | cpio --quiet -H newc --create --reproducible -R +0:+0 | \
        zstd -q -c -T0 -18 >../tail.zst";
    done(folder.path(), "sh", &["-ec", line]);
    let base = fs::read(files.path("initramfs-amd64.xz")).unwrap();
    let tail = fs::read(folder.path().join("tail.zst")).unwrap();
    fs::write(out, [base, tail].concat()).unwrap();
}

/// Unpacks an extension into `bundle/rootfs`.
pub fn unpack(archive: &Path, folder: &Path) {
    fs::create_dir(folder.join("layout")).unwrap();
    done(folder, "tar", &["-C", "layout", "-xf", archive.to_str().unwrap()]);
    let index = fs::read_to_string(folder.join("layout/index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_str(&index).unwrap();
    let tag = index.pointer("/manifests/0/annotations/org.opencontainers.image.ref.name").unwrap().as_str();
    let image = format!("layout:{}", tag.unwrap());
    done(folder, "umoci", &["unpack", "--rootless", "--image", &image, "bundle"]);
}

/// A unified kernel image. Talos writes the sections itself; here objcopy adds them, as in systemd's manual.
pub fn uki(files: &ReleaseFiles, version: &str, initramfs: &Path, line: &str, out: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let release =
        format!("NAME=\"Talos\"\nID=talos\nVERSION_ID={version}\nPRETTY_NAME=\"Talos ({version})\"\n");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        name.to_owned()
    };
    let path = |path: &Path| path.display().to_string();
    let sections = [
        (".osrel", write("osrel", &release)),
        (".cmdline", write("cmdline", line)),
        (".linux", path(&files.path("vmlinuz-amd64"))),
        (".initrd", path(initramfs)),
        (".profile", write("profile", "ID=main\n")),
    ];
    let stub = path(&files.path("systemd-stub.efi"));
    let mut at = done(folder.path(), "sh", &["-ec", END, "end", &stub]).trim().parse::<u64>().unwrap();
    let mut words = Vec::new();
    for (name, file) in sections {
        words.extend([format!("--add-section={name}={file}"), format!("--change-section-vma={name}={at}")]);
        at += fs::metadata(folder.path().join(&file)).unwrap().len().next_multiple_of(4096);
    }
    words.extend([stub, path(out)]);
    done(folder.path(), "objcopy", &words.iter().map(String::as_str).collect::<Vec<_>>());
}

/// End of a stub's sections in memory.
const END: &str = r#"objdump -h "$1" | while read -r nth _ size vma _ _ _; do
    case $nth in [0-9]*) echo $(((0x$size + 0x$vma + 4095) / 4096 * 4096)) ;; esac
done | sort -n | tail -n 1"#;

/// An ISO that boots under BIOS and UEFI.
pub fn iso(files: &ReleaseFiles, version: &str, initramfs: &Path, line: &str, out: &Path) {
    let line = line.replacen(" slab_nomerge", " talos.halt_if_installed=1 slab_nomerge", 1);
    let folder = tempfile::tempdir().unwrap();
    let tree = tree(files, version, initramfs, &line, &folder);
    let (tree, out) = (tree.to_str().unwrap(), format!("--output={}", out.display()));
    let image = format!("{tree}/efiboot.img");
    let volume = format!("TALOS_{}", version.to_uppercase().replace('.', "_"));
    let before = ["--compress=xz", &out, "--directory=/usr/lib/grub/i386-pc", "-m", "efiboot.img"];
    let after =
        ["-iso-level", "3", tree, "-eltorito-alt-boot", "-e", "--interval:appended_partition_2:all::"];
    let partition = ["-append_partition", "2", "0xef", &image, "-appended_part_as_gpt"];
    let form = ["-partition_cyl_align", "all", "-partition_offset", "16", "-iso_mbr_part_type", "0x83"];
    let end = ["-no-emul-boot", "--", "-volid", &volume, "-volset-id", &format!("Talos-{version}")];
    let words = [&before[..], &after, &partition, &form, &end].concat();
    done(folder.path(), "grub-mkrescue", &words);
}

/// The files of an ISO, with a FAT image that repeats those for UEFI.
fn tree(
    files: &ReleaseFiles,
    version: &str,
    initramfs: &Path,
    line: &str,
    folder: &TempDir,
) -> std::path::PathBuf {
    let tree = folder.path().join("tree");
    for folder in ["boot/grub", "EFI/BOOT", "EFI/Linux", "loader"] {
        fs::create_dir_all(tree.join(folder)).unwrap();
    }
    fs::copy(files.path("vmlinuz-amd64"), tree.join("boot/vmlinuz")).unwrap();
    fs::copy(initramfs, tree.join("boot/initramfs.xz")).unwrap();
    let menu =
        "set default=0\nset timeout=3\ninsmod all_video\nterminal_input console\nterminal_output console\n";
    let entry = format!("linux /boot/vmlinuz {line}\n\tinitrd /boot/initramfs.xz");
    fs::write(tree.join("boot/grub/grub.cfg"), format!("{menu}menuentry \"Talos ISO\" {{\n\t{entry}\n}}\n"))
        .unwrap();
    fs::copy(files.path("systemd-boot.efi"), tree.join("EFI/BOOT/BOOTX64.EFI")).unwrap();
    let kernel = tree.join(format!("EFI/Linux/Talos-{version}.efi"));
    uki(files, version, initramfs, line, &kernel);
    fs::write(tree.join("loader/loader.conf"), "timeout 10\nsecure-boot-enroll off\n").unwrap();
    let megabytes = 11 + fs::metadata(&kernel).unwrap().len() / (1 << 20) + 2;
    let line = format!(
        "truncate -s {megabytes}M efiboot.img && mkfs.fat -F 32 -n EFI efiboot.img >/dev/null && \
        mcopy -s -p -Q -m -i efiboot.img EFI loader ::"
    );
    done(&tree, "sh", &["-ec", &line]);
    tree
}
