//! Documents with a kind, each by itself.
//!
//! One file per area, one function per kind: it says what the kind's own check in Talos says. Types, unknown keys and
//! words that are not among those allowed have been refused before ([`load`](crate::load)).
//!
//! Not here: what two documents say of each other ([`together`](super::together)).

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
use super::{Flaws, Setting, runtime_spec};
use crate::cel;
use crate::cel::Environment;
use crate::go::duration;
use crate::kind::Kind;

/// One second, in nanoseconds.
const SECOND: i64 = 1_000_000_000;

/// Judges one. Kinds that are not named here are right as soon as they can be read.
pub fn validate(kind: Kind, value: &Value, setting: Setting<'_>, flaws: &mut Flaws) {
    let document = &Field::root(value);
    match kind.name {
        "LinkConfig" | "DummyLinkConfig" | "BridgeConfig" => link::named(document, flaws),
        "VLANConfig" => link::vlan(document, flaws),
        "VRFConfig" => link::vrf(document, flaws),
        "BondConfig" => bond::validate(document, flaws),
        "VethConfig" => veth::validate(document, flaws),
        "WireguardConfig" => wireguard::validate(document, flaws),
        "LinkAliasConfig" => alias::validate(document, setting, flaws),
        "EthernetConfig" | "KernelModuleConfig" => {
            required(&document.get("name"), flaws);
        }
        "DHCPv4Config" | "DHCPv6Config" => dhcp::validate(document, flaws),
        "Layer2VIPConfig" => vip::layer2(document, flaws),
        "HCloudVIPConfig" => vip::hcloud(document, flaws),
        "BGPInstanceConfig" => bgp::validate(document, flaws),
        "BlackholeRouteConfig" => route::blackhole(document, flaws),
        "RoutingRuleConfig" => route::rule(document, flaws),
        "NetworkRuleConfig" => rule::validate(document, flaws),
        "ResolverConfig" => resolver::validate(document, setting, flaws),
        "StaticHostConfig" => hostname::static_host(document, flaws),
        "HostnameConfig" => hostname::validate(document, setting, flaws),
        "TimeSyncConfig" => time::validate(document, flaws),
        "KubeSpanConfig" => kubespan::validate(document, flaws),
        "TCPProbeConfig" => probe::tcp(document, flaws),
        "HTTPProbeConfig" => probe::http(document, flaws),
        "VolumeConfig" => volume::system(document, setting, flaws),
        "UserVolumeConfig" => volume::user(document, setting, flaws),
        "RawVolumeConfig" | "SwapVolumeConfig" => volume::raw(document, setting, flaws),
        "ExistingVolumeConfig" => volume::existing(document, setting, flaws),
        "ExternalVolumeConfig" => volume::external(document, flaws),
        "FilesystemTrimConfig" => filesystem::trim(document, flaws),
        "FilesystemScrubConfig" => filesystem::scrub(document, flaws),
        "LVMVolumeGroupConfig" => storage::volume_group(document, setting, flaws),
        "LVMLogicalVolumeConfig" => storage::logical_volume(document, flaws),
        "RAIDArrayConfig" => storage::raid(document, setting, flaws),
        "ZswapConfig" => memory::zswap(document, flaws),
        "OOMConfig" => memory::oom(document, setting, flaws),
        "EnvironmentConfig" => environment::variables(document, flaws),
        "SysctlConfig" | "SysfsConfig" => environment::parameters(document, flaws),
        "EtcFileConfig" => etc_file::validate(document, flaws),
        "EventSinkConfig" => sink::events(document, flaws),
        "KmsgLogConfig" => sink::kernel_log(document, flaws),
        "SideroLinkConfig" => sink::siderolink(document, flaws),
        "ExtensionServiceConfig" => extension::validate(document, flaws),
        "WatchdogTimerConfig" => watchdog::validate(document, flaws),
        "UnattendedInstallConfig" => install::validate(document, setting, flaws),
        "ImageVerificationConfig" => image::verification(document, flaws),
        "RegistryMirrorConfig" => registry::mirror(document, flaws),
        "RegistryAuthConfig" => registry::auth(document, flaws),
        "RegistryTLSConfig" => registry::tls(document, setting, flaws),
        "CRICustomizationConfig" => cri::customization(document, flaws),
        "CRIBaseRuntimeSpecConfig" => runtime_spec::validate(&document.get("overrides"), setting, flaws),
        "DiscoveryIdentityConfig" => discovery::identity(document, flaws),
        "DiscoveryServiceConfig" => discovery::service(document, flaws),
        "ContainerConfig" => container::validate(document, flaws),
        name => kubernetes::validate(name, document, flaws),
    }
}

/// Says so when a field that has to be set is not; whether it is.
fn required(field: &Field<'_>, flaws: &mut Flaws) -> bool {
    let set = !field.is_empty();
    if !set {
        flaws.error(field, "this has to be set");
    }
    set
}

/// The nanoseconds of a field; zero where it is not set.
fn nanoseconds(field: &Field<'_>) -> i64 {
    duration::parse(field.text()).unwrap_or_else(|| field.number())
}

fn not_negative(field: &Field<'_>, flaws: &mut Flaws) {
    if nanoseconds(field) < 0 {
        flaws.error(field, format!("{} is negative", field.text()));
    }
}

/// Judges an expression, if there is one.
fn expression(field: &Field<'_>, environment: Environment, setting: Setting<'_>, flaws: &mut Flaws) {
    if field.is_empty() {
        return;
    }
    if let Err(error) = cel::check(field.text(), environment, setting.talos) {
        flaws.error(field, format!("Talos does not take this expression: {error}"));
    }
}

/// Judges an expression that has to be there.
fn selector(field: &Field<'_>, environment: Environment, setting: Setting<'_>, flaws: &mut Flaws) {
    if required(field, flaws) {
        expression(field, environment, setting, flaws);
    }
}
