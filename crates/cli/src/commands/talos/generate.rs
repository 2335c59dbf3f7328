//! `talos gen`: write machine configurations and a talosconfig, like `talosctl gen config`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ArgAction;
use clap::builder::{BoolishValueParser, NonEmptyStringValueParser};
use ichor_talos::generate;
use ichor_talos::generate::{Contract, Endpoint, Input};
use ichor_talos::patch;
use ichor_talos::patch::Patch;
use ichor_talos::release;
use ichor_talos::secrets::{Bundle, admin_certificate};
use ichor_talos::talosconfig::talosconfig;
use ichor_talos::validate::{Mode, Report, ReportEntry};
use ichor_values::go_yaml::emit::emit_all;
use ichor_values::{KubernetesVersion, Severity, TalosVersion};
use rand_core::OsRng;
use serde_json::Value;

use super::output::{OutputTarget, OutputType};
use crate::argument::ArgumentError;
use crate::progress::Progress;
use crate::{encrypted_file, style};

/// The lifetime of the certificate in the talosconfig, as of talosctl.
const ADMIN_LIFE: Duration = Duration::from_hours(8760);

/// Write machine configurations and a talosconfig, like talosctl gen config
///
/// ENDPOINT is the URL of the Kubernetes API: of a load balancer, of a shared address of all control planes, or of the only control
/// plane. Without --secrets, new secrets are generated and stored only in the written files.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ichor talos gen home https://10.0.0.20:6443 --talos-version v1.13.9 --secrets secrets.yaml\n  \
    ichor talos gen home https://[fd00::20]:6443 --talos-version v1.13.9 --secrets secrets.yaml \\\n      \
    --install-disk /dev/vda --additional-sans api.home.example,10.0.0.20 -o configs\n  \
    ichor talos gen home https://10.0.0.20:6443 --talos-version v1.13.9 --secrets secrets.yaml \\\n      \
    --output-types worker -o -")]
pub(crate) struct Args {
    /// Name of the cluster
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// URL of the Kubernetes API, such as https://10.0.0.20:6443
    #[arg(value_name = "ENDPOINT")]
    endpoint: String,
    /// Secrets bundle, encrypted or not [default: generate new secrets]
    #[arg(long, visible_alias = "with-secrets", value_name = "FILE")]
    secrets: Option<PathBuf>,
    /// File with the age identities that decrypt the bundle
    ///
    /// [default: the identities of SOPS: $SOPS_AGE_KEY, $SOPS_AGE_KEY_FILE or ~/.config/sops/age/keys.txt]
    #[arg(long, value_name = "FILE", requires = "secrets")]
    identity: Option<PathBuf>,
    /// Talos release of the machines, such as v1.13.9
    #[arg(long, value_name = "VERSION", value_parser = TalosVersion::parse)]
    talos_version: TalosVersion,
    /// Kubernetes version [default: that of the Talos release]
    #[arg(long, value_name = "VERSION", value_parser = KubernetesVersion::parse)]
    kubernetes_version: Option<KubernetesVersion>,
    /// Disk to install Talos to
    #[arg(long, value_name = "DISK", default_value = "/dev/sda")]
    install_disk: String,
    /// Installer image [default: the official one of the Talos release]
    #[arg(long, value_name = "IMAGE")]
    install_image: Option<String>,
    /// Comma-separated names and addresses to add to the certificates
    #[arg(long, value_name = "SAN", value_delimiter = ',')]
    additional_sans: Vec<String>,
    /// DNS domain of Kubernetes services
    #[arg(long, value_name = "DOMAIN", default_value = "cluster.local")]
    dns_domain: String,
    /// Registry mirror, such as `docker.io=https://mirror.example` (repeatable)
    #[arg(long, value_name = "HOST=URL", value_delimiter = ',', value_parser = mirror)]
    registry_mirror: Vec<(String, String)>,
    #[command(flatten)]
    flags: FeatureFlags,
    /// Patch for all machines: a file, @FILE, or the patch itself (repeatable)
    #[arg(long, value_name = "PATCH")]
    config_patch: Vec<String>,
    /// Patch for control planes, applied after --config-patch (repeatable)
    #[arg(long, value_name = "PATCH")]
    config_patch_control_plane: Vec<String>,
    /// Patch for workers, applied after --config-patch (repeatable)
    #[arg(long, value_name = "PATCH")]
    config_patch_worker: Vec<String>,
    /// Comma-separated files to write
    #[arg(short = 't', long, value_name = "TYPE", value_delimiter = ',', value_enum,
        default_values_t = [OutputType::Controlplane, OutputType::Worker, OutputType::Talosconfig])]
    output_types: Vec<OutputType>,
    /// Folder to write to [default: .]
    ///
    /// With a single output type, a file, or - for standard output.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[arg(long, hide = true, conflicts_with = "output")]
    output_dir: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(short, long)]
    force: bool,
}

/// Boolean options in the form of `talosctl`: `--with-kubespan` or `--with-kubespan=true`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
struct FeatureFlags {
    /// Enable KubeSpan
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, value_parser = BoolishValueParser::new(), num_args = 0..=1,
        require_equals = true, default_value = "false", default_missing_value = "true", hide_possible_values = true)]
    with_kubespan: bool,
    /// Enable the discovery service
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, value_parser = BoolishValueParser::new(), num_args = 0..=1,
        require_equals = true, default_value = "true", default_missing_value = "true", hide_possible_values = true)]
    with_cluster_discovery: bool,
    /// Keep the configuration across reboots; Talos requires true
    #[arg(short, long, value_name = "BOOL", action = ArgAction::Set, value_parser = BoolishValueParser::new(), num_args = 0..=1,
        require_equals = true, default_value = "true", default_missing_value = "true", hide_possible_values = true)]
    persist: bool,
    /// Accepted for compatibility with talosctl; ichor writes no comments
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, value_parser = BoolishValueParser::new(), num_args = 0..=1,
        require_equals = true, default_value = "false", default_missing_value = "true", hide_possible_values = true)]
    with_docs: bool,
    /// Accepted for compatibility with talosctl; ichor writes no examples
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, value_parser = BoolishValueParser::new(), num_args = 0..=1,
        require_equals = true, default_value = "false", default_missing_value = "true", hide_possible_values = true)]
    with_examples: bool,
    #[arg(long, hide = true)]
    skip_k8s_etcd: bool,
}

fn mirror(text: &str) -> Result<(String, String), ArgumentError> {
    let (host, url) = text.split_once('=').unwrap_or((text, ""));
    if host.is_empty() || url.is_empty() {
        return Err(ArgumentError::want("HOST=URL, such as docker.io=https://mirror.example"));
    }
    Ok((host.to_owned(), url.to_owned()))
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let target = target(args)?;
    let input = input(args)?;
    if !args.force {
        target.refuse_existing()?;
    }
    let bundle = bundle(args)?;
    warn(args, &input, &bundle);
    // All files are rendered before the first is written.
    let texts = target.outputs().into_iter().map(|output| render(args, output, &input, &bundle));
    let texts = texts.collect::<anyhow::Result<Vec<_>>>()?;
    for (output, text) in target.outputs().into_iter().zip(&texts) {
        validate(&args.talos_version, output, text);
    }
    target.write(&texts, args.force, out)?;
    Ok(ExitCode::SUCCESS)
}

fn target(args: &Args) -> anyhow::Result<OutputTarget> {
    let path = args.output_dir.as_deref().or(args.output.as_deref());
    let is_slashed = |path: &Path| path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let is_folder = args.output_dir.is_some() || path.is_some_and(|path| path.is_dir() || is_slashed(path));
    OutputTarget::new(&args.output_types, path, is_folder)
}

fn input(args: &Args) -> anyhow::Result<Input> {
    let talos = &args.talos_version;
    let endpoint = Endpoint::parse(&args.endpoint)?;
    let mut input = Input::new(&args.name, endpoint, Contract::for_release(talos));
    // A talosconfig has no images.
    if args.output_types.iter().any(|output| *output != OutputType::Talosconfig) {
        input.kubernetes = Some(kubernetes(args)?);
        input.install_image = Some(install_image(args)?).filter(|image| !image.is_empty());
    }
    input.install_disk = Some(args.install_disk.clone()).filter(|disk| !disk.is_empty());
    input.sans = args.additional_sans.iter().filter(|san| !san.is_empty()).cloned().collect();
    input.dns_domain.clone_from(&args.dns_domain);
    for (host, url) in &args.registry_mirror {
        input.registries.entry(host.clone()).or_default().mirrors.push(url.clone());
    }
    let flags = &args.flags;
    input.kubespan = flags.with_kubespan.then_some(true);
    input.discovery = flags.with_cluster_discovery;
    input.persist = flags.persist;
    input.skip_kubernetes = flags.skip_k8s_etcd;
    Ok(input)
}

fn kubernetes(args: &Args) -> anyhow::Result<KubernetesVersion> {
    let talos = &args.talos_version;
    let version = args.kubernetes_version.clone().or_else(|| release::default_kubernetes(talos));
    version.with_context(|| {
        format!("the default Kubernetes version of {talos} is unknown; pass --kubernetes-version")
    })
}

fn install_image(args: &Args) -> anyhow::Result<String> {
    let talos = &args.talos_version;
    match &args.install_image {
        Some(image) => Ok(image.clone()),
        None if talos.patch().is_some() => Ok(generate::installer_image(talos)),
        None => bail!("{talos} has no patch number; pass a complete --talos-version, or --install-image"),
    }
}

fn warning(text: &str) {
    style::say(&format!("{}warning:{} {text}", style::WARNING, style::WARNING.render_reset()));
}

/// Prints warnings about the input.
fn warn(args: &Args, input: &Input, bundle: &Bundle) {
    let talos = &args.talos_version;
    if input.contract > Contract::NEWEST {
        warning(&format!(
            "{talos} is newer than ichor supports; configurations are written for {}",
            Contract::NEWEST
        ));
    }
    if let Some(kubernetes) = &input.kubernetes
        && release::accepts_kubernetes(talos, kubernetes) == Some(false)
    {
        warning(&format!("{talos} does not support Kubernetes {kubernetes}"));
    }
    if let (None, Some(guess)) = (&args.kubernetes_version, &input.kubernetes)
        && !generate::is_default_kubernetes_sure(talos)
    {
        warning(&format!(
            "the default Kubernetes version of {talos} is unknown, and {guess} is a guess; pass --kubernetes-version"
        ));
    }
    if args.flags.with_docs || args.flags.with_examples {
        warning("ichor writes configurations without comments");
    }
    if !input.persist && !release::is_known(talos) {
        warning("Talos refuses a configuration with `persist: false`");
    }
    for loss in generate::losses(input, bundle) {
        warning(&loss);
    }
    for found in bundle.warnings(ichor_system::now()) {
        warning(&format!("{} {}", found.subject, found.message));
    }
}

/// Prints what Talos will reject, if the rules of the release are known.
fn validate(talos: &TalosVersion, output: OutputType, text: &str) {
    if output == OutputType::Talosconfig || !release::is_known(talos) {
        return;
    }
    let name = output.file_name();
    for ReportEntry { issue, .. } in Report::validate(text, talos, Mode::Metal, false).entries {
        let verdict = match issue.severity {
            Severity::Error => format!("{talos} rejects {name}"),
            Severity::Note => name.to_owned(),
            // Talos accepts it, and the user asked for it.
            Severity::Warning => continue,
        };
        warning(&format!("{verdict}: {}", issue.headline()));
    }
}

fn bundle(args: &Args) -> anyhow::Result<Bundle> {
    let Some(path) = &args.secrets else {
        style::say("generating new secrets, which are stored only in the written files");
        let _progress = Progress::start("generating keys");
        return Ok(Bundle::new(&args.talos_version, &mut OsRng, ichor_system::now())?);
    };
    let opened = encrypted_file::open(path, args.identity.as_deref())?;
    Bundle::read(&opened.text).with_context(|| format!("{} is not a complete secrets bundle", path.display()))
}

fn render(args: &Args, output: OutputType, input: &Input, bundle: &Bundle) -> anyhow::Result<String> {
    match output {
        OutputType::Controlplane => {
            apply_patches(args, &args.config_patch_control_plane, &generate::control_plane(input, bundle))
        }
        OutputType::Worker => {
            apply_patches(args, &args.config_patch_worker, &generate::worker(input, bundle))
        }
        OutputType::Talosconfig => {
            let admin = admin_certificate(&bundle.os, &mut OsRng, ichor_system::now(), ADMIN_LIFE)
                .context("cannot issue the certificate of talosconfig")?;
            Ok(talosconfig(&input.cluster_name, &[], &[], &bundle.os.crt, &admin))
        }
    }
}

/// Applies the patches for all machines, then those for the machine type.
fn apply_patches(args: &Args, own: &[String], documents: &[Value]) -> anyhow::Result<String> {
    let given = args.config_patch.iter().chain(own);
    let patches =
        given.map(|given| read_patch(given, &args.talos_version)).collect::<anyhow::Result<Vec<_>>>()?;
    if patches.is_empty() {
        return Ok(emit_all(documents));
    }
    Ok(emit_all(&patch::apply_to_documents(documents, &patches, &args.talos_version)?))
}

/// Reads a patch like talosctl: `@FILE`, an inline patch, or else a file.
fn read_patch(given: &str, talos: &TalosVersion) -> anyhow::Result<Patch> {
    let is_patch = given.contains(['\n', ' ']) || given.starts_with(['[', '{']);
    let (name, text) = match given.strip_prefix('@') {
        None if is_patch => ("the patch of the command line", given.to_owned()),
        file => {
            let file = file.unwrap_or(given);
            (file, encrypted_file::open(Path::new(file), None)?.text)
        }
    };
    Ok(Patch::read(name, &text, talos)?)
}
