//! Documents with a kind, each alone.
//!
//! One file per area, one function per kind: it applies the kind's own check in Talos. Types, unknown keys and
//! invalid words have been rejected before ([`load`](crate::load)).
//!
//! Not here: conflicts between documents ([`together`](super::together)).

mod alias;
mod bgp;
mod bond;
mod certificate;
mod container;
mod cri;
mod dhcp;
mod discovery;
mod encryption;
mod environment;
mod etc_file;
mod extension;
mod filesystem;
mod hostname;
mod image;
mod install;
mod kubernetes;
mod kubespan;
mod link;
mod memory;
mod mount;
mod probe;
mod provisioning;
mod registry;
mod resolver;
mod route;
mod rule;
mod sink;
mod storage;
mod time;
mod veth;
mod vip;
mod volume;
mod watchdog;
mod wireguard;

#[cfg(test)]
mod testing;

use serde_json::Value;

use super::field::Field;
use super::{DocumentIssues, Setting, runtime_spec};
use crate::cel;
use crate::cel::Environment;
use crate::go::duration;
use crate::kind::DocumentKind;

/// One second, in nanoseconds.
const SECOND: i64 = 1_000_000_000;

/// Judges one. Kinds that are not named here are right as soon as they can be read.
pub(crate) fn validate(kind: DocumentKind, value: &Value, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let document = &Field::root(value);
    match kind.name {
        "LinkConfig" | "DummyLinkConfig" | "BridgeConfig" => link::named(document, issues),
        "VLANConfig" => link::vlan(document, issues),
        "VRFConfig" => link::vrf(document, issues),
        "BondConfig" => bond::validate(document, issues),
        "VethConfig" => veth::validate(document, issues),
        "WireguardConfig" => wireguard::validate(document, issues),
        "LinkAliasConfig" => alias::validate(document, setting, issues),
        "EthernetConfig" | "KernelModuleConfig" => {
            required(&document.get("name"), issues);
        }
        "DHCPv4Config" | "DHCPv6Config" => dhcp::validate(document, issues),
        "Layer2VIPConfig" => vip::layer2(document, issues),
        "HCloudVIPConfig" => vip::hcloud(document, issues),
        "BGPInstanceConfig" => bgp::validate(document, issues),
        "BlackholeRouteConfig" => route::blackhole(document, issues),
        "RoutingRuleConfig" => route::rule(document, issues),
        "NetworkRuleConfig" => rule::validate(document, issues),
        "ResolverConfig" => resolver::validate(document, setting, issues),
        "StaticHostConfig" => hostname::static_host(document, issues),
        "HostnameConfig" => hostname::validate(document, setting, issues),
        "TimeSyncConfig" => time::validate(document, issues),
        "KubeSpanConfig" => kubespan::validate(document, issues),
        "TCPProbeConfig" => probe::tcp(document, issues),
        "HTTPProbeConfig" => probe::http(document, issues),
        "VolumeConfig" => volume::system(document, setting, issues),
        "UserVolumeConfig" => volume::user(document, setting, issues),
        "RawVolumeConfig" | "SwapVolumeConfig" => volume::raw(document, setting, issues),
        "ExistingVolumeConfig" => volume::existing(document, setting, issues),
        "ExternalVolumeConfig" => volume::external(document, issues),
        "FilesystemTrimConfig" => filesystem::trim(document, issues),
        "FilesystemScrubConfig" => filesystem::scrub(document, issues),
        "LVMVolumeGroupConfig" => storage::volume_group(document, setting, issues),
        "LVMLogicalVolumeConfig" => storage::logical_volume(document, issues),
        "RAIDArrayConfig" => storage::raid(document, setting, issues),
        "ZswapConfig" => memory::zswap(document, issues),
        "OOMConfig" => memory::oom(document, setting, issues),
        "EnvironmentConfig" => environment::variables(document, issues),
        "SysctlConfig" | "SysfsConfig" => environment::parameters(document, issues),
        "EtcFileConfig" => etc_file::validate(document, issues),
        "EventSinkConfig" => sink::events(document, issues),
        "KmsgLogConfig" => sink::kernel_log(document, issues),
        "SideroLinkConfig" => sink::siderolink(document, issues),
        "ExtensionServiceConfig" => extension::validate(document, issues),
        "WatchdogTimerConfig" => watchdog::validate(document, issues),
        "UnattendedInstallConfig" => install::validate(document, setting, issues),
        "ImageVerificationConfig" => image::verification(document, issues),
        "RegistryMirrorConfig" => registry::mirror(document, issues),
        "RegistryAuthConfig" => registry::auth(document, issues),
        "RegistryTLSConfig" => registry::tls(document, setting, issues),
        "CRICustomizationConfig" => cri::customization(document, issues),
        "CRIBaseRuntimeSpecConfig" => runtime_spec::validate(&document.get("overrides"), setting, issues),
        "DiscoveryIdentityConfig" => discovery::identity(document, issues),
        "DiscoveryServiceConfig" => discovery::service(document, issues),
        "ContainerConfig" => container::validate(document, issues),
        name => kubernetes::validate(name, document, issues),
    }
}

/// Reports a required field that is not set; returns whether it is.
fn required(field: &Field<'_>, issues: &mut DocumentIssues) -> bool {
    let set = !field.is_empty();
    if !set {
        issues.error(field, "this has to be set");
    }
    set
}

/// The nanoseconds of a field; zero where it is not set.
fn nanoseconds(field: &Field<'_>) -> i64 {
    duration::parse(field.text()).unwrap_or_else(|| field.number())
}

fn not_negative(field: &Field<'_>, issues: &mut DocumentIssues) {
    if nanoseconds(field) < 0 {
        issues.error(field, format!("{} is negative", field.text()));
    }
}

/// Judges an expression, if there is one.
fn expression(
    field: &Field<'_>,
    environment: Environment,
    setting: Setting<'_>,
    issues: &mut DocumentIssues,
) {
    if field.is_empty() {
        return;
    }
    if let Err(error) = cel::check(field.text(), environment, setting.talos) {
        issues.error(field, format!("Talos does not take this expression: {error}"));
    }
}

/// Judges an expression that has to be there.
fn selector(field: &Field<'_>, environment: Environment, setting: Setting<'_>, issues: &mut DocumentIssues) {
    if required(field, issues) {
        expression(field, environment, setting, issues);
    }
}
