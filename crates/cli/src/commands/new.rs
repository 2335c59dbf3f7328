//! `new`: create a cluster folder from an example.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};

use crate::{disk, style};

/// Create a cluster folder from an example
///
/// The folder gets a commented ichor.yaml that passes `ichor check`. Existing files are never overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ichor new sol --like metallb && cd sol && ichor check && ichor show")]
pub(crate) struct Args {
    /// Folder to create
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Example to start from
    #[arg(long, value_enum, value_name = "EXAMPLE", default_value = "metallb")]
    like: ExampleName,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ExampleName {
    /// Leaf-spine fabric, MetalLB isolated in a VRF on every node
    Metallb,
    /// Leaf-spine fabric, BGP built into Talos instead of an extension
    Native,
    /// Numbered gateways, Cilium over a veth pair, CIDATA ISO on Proxmox
    Cilium,
    /// Leaf-spine fabric, MetalLB isolated in a network namespace
    Namespace,
    /// BIRD, two numbered gateways, Cilium over a veth pair
    Bird,
    /// GoBGP, MetalLB over an IPv4 link
    Gobgp,
    /// One Proxmox host, a VIP, no routing
    Homelab,
    /// Cloud and edge nodes connected by Tailscale
    Edge,
}

impl ExampleName {
    /// The files of the example, by their path in the folder.
    fn files(self) -> &'static [(&'static str, &'static str)] {
        macro_rules! example {
            ($name:literal $(, $more:literal)*) => {
                &[
                    ("ichor.yaml", include_str!(concat!("../../../../examples/", $name, "/ichor.yaml"))),
                    $( ($more, include_str!(concat!("../../../../examples/", $name, "/", $more))), )*
                ]
            };
        }
        match self {
            Self::Metallb => example!("metallb"),
            Self::Native => example!("native"),
            Self::Cilium => example!("cilium"),
            Self::Namespace => example!("namespace"),
            Self::Bird => example!("bird"),
            Self::Gobgp => example!("gobgp"),
            Self::Homelab => example!("homelab"),
            Self::Edge => example!("edge"),
        }
    }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let files = args.like.files();
    // All files are checked before the first is written: the folder is created completely or not at all.
    if let Some((name, _)) = files.iter().find(|(name, _)| args.folder.join(name).exists()) {
        bail!("{} already exists; choose another folder", args.folder.join(name).display());
    }
    for (name, contents) in files {
        let path = args.folder.join(name);
        let folder = path.parent().expect("joined to a folder");
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        disk::replace(&path, contents.as_bytes())?;
        writeln!(out, "{}", path.display())?;
    }
    style::say(&format!("next: cd {} && ichor check && ichor show", args.folder.display()));
    Ok(ExitCode::SUCCESS)
}
