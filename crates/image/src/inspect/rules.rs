//! The rules for boot media. [`inspect`](crate::inspect) applies them; they are not about cluster files.

use ichor_values::{Explanation, Severity};

/// Every rule.
pub const ALL: &[Explanation] = &[
    LABEL,
    SMALL,
    NAMES,
    MBR,
    NO_PLATFORM,
    PLATFORM_UNKNOWN,
    COMMAND_LINE_LONG,
    IP,
    CONFIG_REFUSED,
    CONFIG_REPLACED,
    CONFIG_UNUSED,
    CLOUD_CONFIG,
    EMBEDDED_UNREAD,
    URL_VARIABLE,
    NETWORK_CONFIG,
    NO_NETWORK_CONFIG,
    PASSED_OVER,
    LINK_MISSING,
    META_NETWORK,
    META_UNUSED,
    META_BROKEN,
    NO_ADDRESS,
    SECRET_PUBLISHED,
];

/// A volume that Talos does not find.
pub(crate) const LABEL: Explanation = Explanation {
    id: "media-label",
    severity: Severity::Error,
    summary: "a volume has a label that Talos does not search for",
    failure: "cloud-init accepts the label cidata in any case, but Talos searches only for cidata and \
              CIDATA. With another spelling, such as CIData, Talos finds no volume and waits in maintenance \
              mode with an address from DHCP.",
    fix: "make the volume with the label cidata or CIDATA for nocloud, metal-iso for talos.config=metal-iso",
};

/// A volume that is too short.
pub(crate) const SMALL: Explanation = Explanation {
    id: "media-small",
    severity: Severity::Error,
    summary: "a volume is too small for Talos to probe it",
    failure: "Talos probes a volume for many file systems and reads up to the farthest of their signatures. \
              It ignores a volume that ends before that offset, such as a FAT image that is just large enough \
              for its files.",
    fix: "make the volume at least 128 KiB large",
};

/// Files under other names.
pub(crate) const NAMES: Explanation = Explanation {
    id: "media-names",
    severity: Severity::Error,
    summary: "an ISO has neither Rock Ridge nor Joliet, so its files have other names",
    failure: "Without Rock Ridge and Joliet, names on an ISO have eight characters: user-data becomes \
              USER_DAT. Talos finds the volume but none of its files, and waits in maintenance mode. \
              genisoimage needs -r and -J.",
    fix: "create the ISO with Rock Ridge and Joliet: genisoimage -r -J, xorriso -as mkisofs -r -J",
};

/// Unsupported partitions.
pub(crate) const MBR: Explanation = Explanation {
    id: "media-mbr",
    severity: Severity::Warning,
    summary: "the files are on a partition of an MBR",
    failure: "Many tools format a USB stick with an MBR and one partition, which other systems read. Talos \
              reads only a GPT and sees a disk without partitions.",
    fix: "write the file system to the disk itself, or partition it with a GPT",
};

/// No platform.
pub(crate) const NO_PLATFORM: Explanation = Explanation {
    id: "media-no-platform",
    severity: Severity::Error,
    summary: "the command line has no talos.platform",
    failure: "Without talos.platform, Talos stops within a second after its start, and the machine reboots \
              in a loop.",
    fix: "add talos.platform=metal, talos.platform=nocloud or another platform that Talos knows",
};

/// An unknown platform.
pub(crate) const PLATFORM_UNKNOWN: Explanation = Explanation {
    id: "media-platform-unknown",
    severity: Severity::Error,
    summary: "talos.platform is not a platform of Talos",
    failure: "Talos stops at an unknown platform, such as baremetal instead of metal, and the machine \
              reboots in a loop.",
    fix: "write metal, nocloud or another platform that Talos knows",
};

/// A truncated command line.
pub(crate) const COMMAND_LINE_LONG: Explanation = Explanation {
    id: "media-command-line-long",
    severity: Severity::Error,
    summary: "the command line is longer than an x86 kernel accepts",
    failure: "An x86 kernel silently truncates its command line to 2047 bytes. If the configuration is part \
              of it, Talos cannot decompress the rest and does not boot: a configuration that grows by a few \
              lines is enough.",
    fix: "provide the configuration on a volume, in the image or by a URL",
};

/// An address that cannot be read.
pub(crate) const IP: Explanation = Explanation {
    id: "media-ip",
    severity: Severity::Warning,
    summary: "`ip=` on the command line cannot be read",
    failure: "Without brackets, the colons of an IPv6 address separate the fields of `ip=`. Talos logs a \
              warning to the console and continues with DHCP, which the network may not have.",
    fix: "write ip=ADDRESS::GATEWAY:NETMASK::LINK:none, with IPv6 addresses in brackets, or ip=LINK:dhcp",
};

/// A rejected configuration.
pub(crate) const CONFIG_REFUSED: Explanation = Explanation {
    id: "media-config-refused",
    severity: Severity::Error,
    summary: "Talos rejects a configuration and never reaches maintenance mode",
    failure: "Talos retries endlessly when a source has an invalid configuration, for example one with a \
              misspelt key. It never opens the maintenance API, so the machine must boot from other media.",
    fix: "run `ichor talos validate`, which reports every error of a configuration; documents without `machine` \
          and `cluster` count as a partial configuration",
};

/// A replaced configuration.
pub(crate) const CONFIG_REPLACED: Explanation = Explanation {
    id: "media-config-replaced",
    severity: Severity::Warning,
    summary: "a configuration source replaces the configuration of an earlier one",
    failure: "Talos does not merge configuration sources. If the image embeds the certificate of a proxy and \
              a URL provides the configuration of the cluster, the certificate is lost and no image can be \
              pulled.",
    fix: "repeat everything that must remain in the last source",
};

/// An ignored configuration.
pub(crate) const CONFIG_UNUSED: Explanation = Explanation {
    id: "media-config-unused",
    severity: Severity::Warning,
    summary: "the platform does not read a configuration of the media",
    failure: "Only the platform metal reads talos.config. On nocloud the machine uses user-data, which may \
              be outdated or missing.",
    fix: "put the configuration where the platform reads it: user-data for nocloud, talos.config for metal",
};

/// A configuration for another program.
pub(crate) const CLOUD_CONFIG: Explanation = Explanation {
    id: "media-cloud-config",
    severity: Severity::Warning,
    summary: "user-data is for cloud-init, and Talos ignores it",
    failure: "Some hypervisors write their own user-data when none is set. Talos ignores text that starts \
              with `#cloud-config` and waits in maintenance mode, which looks like a network problem.",
    fix: "write a Talos configuration to user-data, without `#cloud-config` on its first line",
};

/// A configuration for a later release.
pub(crate) const EMBEDDED_UNREAD: Explanation = Explanation {
    id: "media-embedded-unread",
    severity: Severity::Error,
    summary: "the image has an embedded configuration, which the release does not support",
    failure: "Talos before 1.12 ignores a configuration that a schematic embeds in the image, and the \
              machine waits in maintenance mode.",
    fix: "use Talos 1.12 or later, or other boot media for the configuration",
};

/// An unexpanded variable.
pub(crate) const URL_VARIABLE: Explanation = Explanation {
    id: "media-url-variable",
    severity: Severity::Warning,
    summary: "talos.config has a variable that Talos does not expand",
    failure: "Talos expands variables only in the query of the URL. With https://boot/${uuid}.yaml, every \
              machine requests a file of exactly that name.",
    fix: "write the variable into the query, such as ?uuid=${uuid}",
};

/// A rejected network.
pub(crate) const NETWORK_CONFIG: Explanation = Explanation {
    id: "media-network-config",
    severity: Severity::Error,
    summary: "Talos cannot read network-config",
    failure: "Talos cannot decode an empty or invalid network-config. It retries endlessly, and the machine \
              has neither network nor hostname.",
    fix: "write at least `version: 2` and `ethernets: {}`, or correct the field in the message",
};

/// Ignored names.
pub(crate) const NO_NETWORK_CONFIG: Explanation = Explanation {
    id: "media-no-network-config",
    severity: Severity::Warning,
    summary: "meta-data without network-config is ignored by Talos",
    failure: "Talos reads meta-data only while it processes network-config. Without that file the hostname \
              of meta-data is lost, and the machine gets a generated name, talos-….",
    fix: "write at least `version: 2` and `ethernets: {}` to network-config",
};

/// Ignored fields.
pub(crate) const PASSED_OVER: Explanation = Explanation {
    id: "media-passed-over",
    severity: Severity::Warning,
    summary: "network-config has a field that Talos ignores",
    failure: "Talos supports only part of the network-config format. Of `match`, for example, it reads only \
              `macaddress`: with `match: {name: en*}` the address goes to a link that the machine does not \
              have.",
    fix: "remove the field, or set it in the machine configuration",
};

/// A missing link.
pub(crate) const LINK_MISSING: Explanation = Explanation {
    id: "media-link-missing",
    severity: Severity::Warning,
    summary: "no link of the machine has a MAC address of network-config",
    failure: "Talos compares MAC addresses as text: written with dashes, an address matches no link. Talos \
              then configures a link with the interface name of the file and keeps searching.",
    fix: "write the address as six pairs with colons, or correct --links",
};

/// A rejected network in META.
pub(crate) const META_NETWORK: Explanation = Explanation {
    id: "media-meta-network",
    severity: Severity::Error,
    summary: "Talos cannot read the network in META key 10",
    failure: "Talos rejects the network of META key 10 as a whole if one field is invalid, such as an empty \
              `flags` of an address. The machine then has no network and cannot be reached.",
    fix: "correct the field in the message; `ichor meta encode` encodes the values for the command line",
};

/// An ignored META value.
pub(crate) const META_UNUSED: Explanation = Explanation {
    id: "media-meta-unused",
    severity: Severity::Warning,
    summary: "the platform does not read META key 10",
    failure: "Only the platform metal reads the network in META key 10. On nocloud the machine uses DHCP \
              instead.",
    fix: "write the network to network-config for nocloud, or use an image for metal",
};

/// A corrupt META partition.
pub(crate) const META_BROKEN: Explanation = Explanation {
    id: "media-meta-broken",
    severity: Severity::Warning,
    summary: "the META partition cannot be read",
    failure: "Talos stores META values in two copies with checksums. If both are corrupt, for example after \
              a write with dd, Talos silently starts without any value.",
    fix: "write values with `talosctl meta write`, or set them in the schematic of the image",
};

/// An unreachable machine.
pub(crate) const NO_ADDRESS: Explanation = Explanation {
    id: "media-no-address",
    severity: Severity::Warning,
    summary: "the machine has no address and no DHCP",
    failure: "Since Talos 1.12, any link document in the configuration disables the default DHCP. With only \
              a document for a dummy link, the machine has one address on a link without a carrier.",
    fix: "add a DHCPv4Config or addresses for a physical link",
};

/// A published secret.
pub(crate) const SECRET_PUBLISHED: Explanation = Explanation {
    id: "media-secret-published",
    severity: Severity::Error,
    summary: "a schematic holds a secret",
    failure: "The Image Factory returns a schematic to every client that knows its id, and the id is part of \
              the installer's name. A configuration that is embedded in the schematic publishes the keys of \
              the cluster.",
    fix: "keep secrets out of schematics: put them on a volume, or apply them in maintenance mode",
};
