//! The kernel command lines that a volume boots with.
//!
//! Talos boots from unified kernel images in `EFI/Linux`, or by GRUB. Entries of systemd-boot are for custom images.

use crate::media::{DirectoryEntry, FileSystem, Image, ImageError, uki};

/// The folders of kernel images and entries.
const KERNELS: &str = "EFI/Linux";
const ENTRIES: &str = "loader/entries";

/// The paths of GRUB's menu: on CDs, and on its own partition.
const GRUB: [&str; 3] = ["boot/grub/grub.cfg", "grub/grub.cfg", "EFI/BOOT/grub.cfg"];

/// The most files of a folder that are read, and the longest text.
const MOST: usize = 64;
const LONGEST: u64 = 64 << 10;

/// The command lines of a volume with the files they are in, the one that is booted first.
pub(super) fn find_in(found: &FileSystem, image: &dyn Image) -> Result<Vec<(String, String)>, ImageError> {
    let mut lines = Vec::new();
    for (path, entry) in kernels(found, image)? {
        if let Some(line) = uki::command_line(&found.file(image, &entry)?)? {
            lines.push((path, line));
        }
    }
    for (path, entry) in folder(found, image, ENTRIES, ".conf")? {
        if let Some(line) = text(found, image, &entry)?.as_deref().and_then(loader_entry_options) {
            lines.push((path, line));
        }
    }
    for path in GRUB {
        if let Some(entry) = found.find_path(image, path)?
            && let Some(line) = text(found, image, &entry)?.as_deref().and_then(grub_command_line)
        {
            lines.push((path.to_owned(), line));
        }
    }
    Ok(lines)
}

/// The kernel images of a volume, the one that is booted first.
pub(super) fn kernels(
    found: &FileSystem,
    image: &dyn Image,
) -> Result<Vec<(String, DirectoryEntry)>, ImageError> {
    folder(found, image, KERNELS, ".efi")
}

/// The text of a file; none if it is too long for a menu.
fn text(found: &FileSystem, image: &dyn Image, entry: &DirectoryEntry) -> Result<Option<String>, ImageError> {
    if entry.folder || entry.length > LONGEST {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&found.read(image, entry)?).into_owned()))
}

/// The files of a folder whose names end so, the newest release first, as systemd-boot shows them.
fn folder(
    found: &FileSystem,
    image: &dyn Image,
    path: &str,
    end: &str,
) -> Result<Vec<(String, DirectoryEntry)>, ImageError> {
    let Some(folder) = found.find_path(image, path)? else { return Ok(Vec::new()) };
    let mut files = found.list(image, &folder)?;
    files.retain(|entry| !entry.folder && entry.name.to_lowercase().ends_with(end));
    files.sort_by_key(|entry| std::cmp::Reverse(numbers(&entry.name)));
    files.truncate(MOST);
    Ok(files.into_iter().map(|entry| (format!("{path}/{}", entry.name), entry)).collect())
}

/// The numbers of a name in their order, so that 1.13 comes after 1.9.
fn numbers(name: &str) -> Vec<u64> {
    let parts = name.split(|letter: char| !letter.is_ascii_digit()).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().unwrap_or(u64::MAX)).collect()
}

/// The command line of an entry of systemd-boot: its `loader_entry_options`, joined.
fn loader_entry_options(text: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("options"));
    let options: Vec<&str> = lines.filter(|rest| rest.starts_with([' ', '\t'])).map(str::trim).collect();
    (!options.is_empty()).then(|| options.join(" "))
}

/// The command line of the first `linux` line of GRUB: all after the kernel, without the backslashes that Talos writes.
fn grub_command_line(text: &str) -> Option<String> {
    let mut lines = text.lines().filter_map(|line| {
        let (command, rest) = line.trim().split_once(char::is_whitespace)?;
        ["linux", "linuxefi"].contains(&command).then(|| rest.trim_start())
    });
    let (_, line) = lines.next()?.split_once(char::is_whitespace)?;
    let mut plain = String::new();
    let mut letters = line.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => plain.extend(letters.next()),
            '"' | '\'' => {}
            other => plain.push(other),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_read_from_grub_and_systemd_boot_entries() {
        let menu = "set default=0\nmenuentry \"Talos ISO\" {\n\tlinux /boot/vmlinuz talos.platform=metal talos.config=http://a/?m=\\$\\{mac\\}\n\
                    \tinitrd /boot/initramfs.xz\n}\nmenuentry \"Reset\" { linux /boot/vmlinuz other }\n";
        let entry = "title Talos\nlinux /vmlinuz\noptions talos.platform=metal\noptions   quiet\noptionsx\n";

        assert_eq!(grub_command_line(menu).unwrap(), "talos.platform=metal talos.config=http://a/?m=${mac}");
        assert_eq!(loader_entry_options(entry).unwrap(), "talos.platform=metal quiet");
        assert_eq!((grub_command_line("linux"), loader_entry_options("title a")), (None, None));
    }

    #[test]
    fn a_newer_release_comes_before_an_older_one() {
        let mut names =
            ["Talos-v1.9.0.efi", "Talos-v1.13.9.efi", "Talos-v1.13.9~1.efi", "Talos-v1.13.10.efi"];

        names.sort_by_key(|name| std::cmp::Reverse(numbers(name)));

        assert_eq!(
            names,
            ["Talos-v1.13.10.efi", "Talos-v1.13.9~1.efi", "Talos-v1.13.9.efi", "Talos-v1.9.0.efi"]
        );
    }
}
