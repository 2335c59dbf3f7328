//! The commands, one file each.

mod build;
pub(crate) mod check;
mod completions;
mod explain;
mod extension;
mod image;
mod lab;
mod man;
mod media;
mod meta;
mod migrate;
mod new;
pub(crate) mod prove;
mod schema;
mod schematic;
mod secrets;
mod show;
mod talos;

use std::io::Write;
use std::process::ExitCode;

/// What `ichor` can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    New(new::Args),
    Check(check::Args),
    Show(show::Args),
    Build(build::Args),
    Prove(prove::Args),
    Lab(lab::Args),
    Migrate(migrate::Args),
    Secrets(secrets::Args),
    Talos(talos::Args),
    Schematic(schematic::Args),
    Meta(meta::Args),
    Media(media::Args),
    Extension(extension::Args),
    Image(image::Args),
    Explain(explain::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    pub(crate) fn run(&self, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
        match self {
            Self::New(args) => new::run(args, out),
            Self::Check(args) => check::run(args, out),
            Self::Show(args) => show::run(args, out),
            Self::Build(args) => build::run(args, out),
            Self::Prove(args) => prove::run(args, out),
            Self::Lab(args) => lab::run(args, out),
            Self::Migrate(args) => migrate::run(args, out),
            Self::Secrets(args) => secrets::run(args, out),
            Self::Talos(args) => talos::run(args, out),
            Self::Schematic(args) => schematic::run(args, out),
            Self::Meta(args) => meta::run(args, out),
            Self::Media(args) => media::run(args, out),
            Self::Extension(args) => extension::run(args, out),
            Self::Image(args) => image::run(args, out),
            Self::Explain(args) => explain::run(args, out),
            Self::Schema(args) => schema::run(args, out),
            Self::Completions(args) => completions::run(args, out),
            Self::Man(args) => man::run(args, out),
        }
    }
}
