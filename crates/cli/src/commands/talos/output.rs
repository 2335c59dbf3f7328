//! The output files of `talos gen`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::disk;

/// A type of output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum OutputType {
    /// Machine configuration of control planes
    Controlplane,
    /// Machine configuration of workers
    Worker,
    /// Configuration of talosctl with administrator rights
    Talosconfig,
}

impl OutputType {
    pub(super) fn file_name(self) -> &'static str {
        match self {
            Self::Controlplane => "controlplane.yaml",
            Self::Worker => "worker.yaml",
            Self::Talosconfig => "talosconfig",
        }
    }
}

/// Where to write.
#[derive(Debug, PartialEq)]
pub(super) enum OutputTarget {
    /// A single output goes to standard output.
    Stdout(OutputType),
    /// Each output goes to its own file.
    Files(Vec<(OutputType, PathBuf)>),
}

impl OutputTarget {
    /// A single output goes to the path, unless that is a folder; several go to the folder; `-` is standard output.
    pub(super) fn new(outputs: &[OutputType], path: Option<&Path>, is_folder: bool) -> anyhow::Result<Self> {
        let mut outputs = outputs.to_vec();
        outputs.sort();
        outputs.dedup();
        let path = path.unwrap_or(Path::new(""));
        match *outputs.as_slice() {
            [output] if path == Path::new("-") => Ok(Self::Stdout(output)),
            _ if path == Path::new("-") => {
                bail!(
                    "`-o -` prints a single file; select it with --output-types, such as --output-types controlplane"
                )
            }
            [output] if !is_folder && path != Path::new("") => {
                Ok(Self::Files(vec![(output, path.to_owned())]))
            }
            _ => Ok(Self::Files(
                outputs.iter().map(|&output| (output, path.join(output.file_name()))).collect(),
            )),
        }
    }

    /// The outputs to write.
    pub(super) fn outputs(&self) -> Vec<OutputType> {
        match self {
            Self::Stdout(output) => vec![*output],
            Self::Files(files) => files.iter().map(|(output, _)| *output).collect(),
        }
    }

    /// Refuses to overwrite existing files: a configuration may have the only copy of its keys.
    pub(super) fn refuse_existing(&self) -> anyhow::Result<()> {
        let Self::Files(files) = self else { return Ok(()) };
        let paths = files.iter().map(|(_, path)| path).filter(|path| path.symlink_metadata().is_ok());
        let paths: Vec<_> = paths.map(|path| path.display().to_string()).collect();
        match paths.as_slice() {
            [] => Ok(()),
            [path] => bail!("{path} already exists; overwrite it with --force"),
            paths => bail!("{} already exist; overwrite them with --force", paths.join(", ")),
        }
    }

    /// Writes the texts of [`outputs`](Self::outputs) in order, and prints the path of each file.
    pub(super) fn write(&self, texts: &[String], overwrite: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self::Files(files) = self else {
            return texts.iter().try_for_each(|text| Ok(out.write_all(text.as_bytes())?));
        };
        for ((_, path), text) in files.iter().zip(texts) {
            let folder = path.parent().expect("not the root, which is a folder");
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            let put = if overwrite { disk::replace_private } else { disk::create_private };
            put(path, text.as_bytes())?;
            writeln!(out, "{}", path.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [OutputType; 3] = [OutputType::Talosconfig, OutputType::Controlplane, OutputType::Worker];

    fn paths(target: &OutputTarget) -> Vec<String> {
        let OutputTarget::Files(files) = target else { panic!("{target:?}") };
        files.iter().map(|(_, path)| path.display().to_string()).collect()
    }

    #[test]
    fn several_files_go_to_a_folder() {
        let names = ["controlplane.yaml", "worker.yaml", "talosconfig"];

        assert_eq!(paths(&OutputTarget::new(&ALL, None, false).unwrap()), names);
        let folder = OutputTarget::new(&ALL, Some(Path::new("out")), false).unwrap();
        assert_eq!(paths(&folder), names.map(|name| format!("out/{name}")));
    }

    #[test]
    fn a_single_file_goes_to_a_path_a_folder_or_standard_output() {
        let one = |path: Option<&str>, is_folder| {
            OutputTarget::new(&[OutputType::Worker, OutputType::Worker], path.map(Path::new), is_folder)
                .unwrap()
        };

        assert_eq!(paths(&one(Some("w.yaml"), false)), ["w.yaml"]);
        assert_eq!(paths(&one(Some("out"), true)), ["out/worker.yaml"]);
        assert_eq!(paths(&one(None, false)), ["worker.yaml"]);
        assert_eq!(one(Some("-"), false), OutputTarget::Stdout(OutputType::Worker));
        assert!(OutputTarget::new(&ALL, Some(Path::new("-")), false).is_err());
    }
}
