//! What can be wrong with boot media. [`inspect`](crate::inspect) finds it; a cluster file has none of it.

use ichor_values::{Explanation, Severity};

/// All of them.
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

/// A volume that is not found.
pub(crate) const LABEL: Explanation = Explanation {
    id: "media-label",
    severity: Severity::Error,
    summary: "a volume has a label that Talos does not search for",
    failure: "The ISO was made with the volume name CIData. cloud-init takes it in any letters; Talos knows cidata and CIDATA \
            alone, saw no volume, and waited in maintenance mode with an address from DHCP that nobody knew.",
    fix: "make the volume with the label cidata or CIDATA for nocloud, metal-iso for talos.config=metal-iso",
};

/// A volume that is too short.
pub(crate) const SMALL: Explanation = Explanation {
    id: "media-small",
    severity: Severity::Error,
    summary: "a volume is too small for Talos to probe it",
    failure: "A FAT image was made just as large as its three files. Talos looks for many file systems at once and reads as far \
            as the farthest of their marks; what ends before that is not looked at, whatever is in it.",
    fix: "make the volume at least 128 KiB large",
};

/// Files that are called otherwise.
pub(crate) const NAMES: Explanation = Explanation {
    id: "media-names",
    severity: Severity::Error,
    summary: "an ISO has neither Rock Ridge nor Joliet, so its files have other names",
    failure: "genisoimage was run with the right label and without -r and -J. A plain CD has names of eight letters, so user-data became \
            USER_DAT. Talos found the volume, found no file on it, and waited in maintenance mode.",
    fix: "create the ISO with Rock Ridge and Joliet: genisoimage -r -J, xorriso -as mkisofs -r -J",
};

/// Partitions that are not looked for.
pub(crate) const MBR: Explanation = Explanation {
    id: "media-mbr",
    severity: Severity::Warning,
    summary: "the files are on a partition of an MBR",
    failure: "The stick was formatted on a laptop, which put an MBR and one partition on it. Every computer in the room read it. Talos \
            reads the table of a GPT and no other, so it saw a disk without partitions.",
    fix: "write the file system to the disk itself, or partition it with a GPT",
};

/// No platform.
pub(crate) const NO_PLATFORM: Explanation = Explanation {
    id: "media-no-platform",
    severity: Severity::Error,
    summary: "the command line has no talos.platform",
    failure: "A netboot script was written by hand, with the kernel, the initramfs and a console. Talos stops within a second when \
            nobody tells it what it runs on, and the machine starts again, and again.",
    fix: "add talos.platform=metal, talos.platform=nocloud or another platform that Talos knows",
};

/// A platform that is none.
pub(crate) const PLATFORM_UNKNOWN: Explanation = Explanation {
    id: "media-platform-unknown",
    severity: Severity::Error,
    summary: "talos.platform is not a platform of Talos",
    failure: "talos.platform=baremetal sounds right, and older guides have it so. Talos knows metal, stops at every other word, and \
            the machine starts again, and again.",
    fix: "write metal, nocloud or another platform that Talos knows",
};

/// A line that is cut.
pub(crate) const COMMAND_LINE_LONG: Explanation = Explanation {
    id: "media-command-line-long",
    severity: Severity::Error,
    summary: "the command line is longer than an x86 kernel accepts",
    failure: "The configuration travelled on the command line and grew by one registry mirror. The kernel cut the line at 2047 bytes \
            without a word, Talos could not unpack what was left, and a machine that had booted for months did not.",
    fix: "provide the configuration on a volume, in the image or by a URL",
};

/// An address that cannot be read.
pub(crate) const IP: Explanation = Explanation {
    id: "media-ip",
    severity: Severity::Warning,
    summary: "`ip=` on the command line cannot be read",
    failure: "An IPv6 address was written without brackets, so its colons parted the fields. Talos wrote a warning to a console \
            that nobody saw and went on with DHCP, in a network that had none.",
    fix: "write ip=ADDRESS::GATEWAY:NETMASK::LINK:none, with IPv6 addresses in brackets, or ip=LINK:dhcp",
};

/// A configuration that is refused.
pub(crate) const CONFIG_REFUSED: Explanation = Explanation {
    id: "media-config-refused",
    severity: Severity::Error,
    summary: "Talos rejects a configuration and never reaches maintenance mode",
    failure: "One key was misspelt in user-data. Talos tries again for ever when a source has something it cannot take, so there was \
            no interface to send a better one to, and every machine of the rack had to be started from another medium.",
    fix: "`ichor talos validate` tells everything that is wrong with a configuration; documents without `machine` and `cluster` are \
          taken as a part of one",
};

/// A configuration that is lost.
pub(crate) const CONFIG_REPLACED: Explanation = Explanation {
    id: "media-config-replaced",
    severity: Severity::Warning,
    summary: "a configuration source replaces the configuration of an earlier one",
    failure: "The image had the certificate of the company's proxy inside, and the cluster's configuration came from a URL. Talos does \
            not join the two: with the second one the certificate was gone, and no image could be pulled.",
    fix: "repeat everything that must remain in the last source",
};

/// A configuration nobody looks at.
pub(crate) const CONFIG_UNUSED: Explanation = Explanation {
    id: "media-config-unused",
    severity: Severity::Warning,
    summary: "the platform does not read a configuration of the media",
    failure: "talos.config was added to the arguments of a nocloud image. Only the platform metal looks at it; the machine took what was \
            in user-data, which was last year's.",
    fix: "put the configuration where the platform reads it: user-data for nocloud, talos.config for metal",
};

/// A configuration for another program.
pub(crate) const CLOUD_CONFIG: Explanation = Explanation {
    id: "media-cloud-config",
    severity: Severity::Warning,
    summary: "user-data is for cloud-init, and Talos ignores it",
    failure: "The hypervisor wrote its own user-data when none was given. Talos saw `#cloud-config`, took no configuration, and waited in \
            maintenance mode, while everybody looked for the fault in the network.",
    fix: "write a Talos configuration to user-data, without `#cloud-config` on its first line",
};

/// A configuration for a later release.
pub(crate) const EMBEDDED_UNREAD: Explanation = Explanation {
    id: "media-embedded-unread",
    severity: Severity::Error,
    summary: "the image has an embedded configuration, which the release does not support",
    failure: "A schematic with an embedded configuration was used for the machines that were still on 1.11. They came up without it, in \
            maintenance mode.",
    fix: "use Talos 1.12 or later, or other boot media for the configuration",
};

/// A variable that stays.
pub(crate) const URL_VARIABLE: Explanation = Explanation {
    id: "media-url-variable",
    severity: Severity::Warning,
    summary: "talos.config has a variable that Talos does not expand",
    failure: "The URL was https://boot/${uuid}.yaml. Talos fills in variables after the question mark and nowhere else; the server was \
            asked for a file of that very name, by every machine, for three hours.",
    fix: "write the variable into the query, such as ?uuid=${uuid}",
};

/// A network that is refused.
pub(crate) const NETWORK_CONFIG: Explanation = Explanation {
    id: "media-network-config",
    severity: Severity::Error,
    summary: "Talos cannot read network-config",
    failure: "`touch network-config` made a file that was there and empty. Talos cannot decode nothing: it tried for ever, and with the \
            network the hostname was gone too.",
    fix: "write at least `version: 2` and `ethernets: {}`, or correct the field in the message",
};

/// Names that are not taken.
pub(crate) const NO_NETWORK_CONFIG: Explanation = Explanation {
    id: "media-no-network-config",
    severity: Severity::Warning,
    summary: "meta-data without network-config is ignored by Talos",
    failure: "The volume had meta-data with the hostname and nothing else, since DHCP gave the address. Talos looks at meta-data only \
            while it makes a network of network-config, and all machines were called talos-something.",
    fix: "write at least `version: 2` and `ethernets: {}` to network-config",
};

/// What does nothing.
pub(crate) const PASSED_OVER: Explanation = Explanation {
    id: "media-passed-over",
    severity: Severity::Warning,
    summary: "network-config has a field that Talos ignores",
    failure: "`match: {name: en*}` chose the port on every Linux in the house. Talos knows `match.macaddress` alone, and gave the address \
            to a link of a name that the machine did not have.",
    fix: "remove the field, or set it in the machine configuration",
};

/// A link that is not there.
pub(crate) const LINK_MISSING: Explanation = Explanation {
    id: "media-link-missing",
    severity: Severity::Warning,
    summary: "no link of the machine has a MAC address of network-config",
    failure: "The address was written with dashes, as the label on the port had it. Talos compares texts, found no such link, gave the \
            address to a link of the written name, and looked again and again.",
    fix: "write the address as six pairs with colons, or correct --links",
};

/// A network in META that is refused.
pub(crate) const META_NETWORK: Explanation = Explanation {
    id: "media-meta-network",
    severity: Severity::Error,
    summary: "Talos cannot read the network in META key 10",
    failure: "`flags: ''` was left in an address. It means nothing to people and is an error to Talos, which had no network at all \
            then, on a machine that could only be reached by network.",
    fix: "correct the field in the message; `ichor meta encode` encodes the values for the command line",
};

/// META that nobody looks at.
pub(crate) const META_UNUSED: Explanation = Explanation {
    id: "media-meta-unused",
    severity: Severity::Warning,
    summary: "the platform does not read META key 10",
    failure: "The network was baked into META for a qcow2 image of nocloud. Only the platform metal looks at key 10: the machine \
            asked DHCP.",
    fix: "write the network to network-config for nocloud, or use an image for metal",
};

/// META that is broken.
pub(crate) const META_BROKEN: Explanation = Explanation {
    id: "media-meta-broken",
    severity: Severity::Warning,
    summary: "the META partition cannot be read",
    failure: "The value was written into the partition with dd. Talos keeps values with a sum around them, in two copies; it found neither \
            whole and started without any, and without a word.",
    fix: "write values with `talosctl meta write`, or set them in the schematic of the image",
};

/// A machine nobody reaches.
pub(crate) const NO_ADDRESS: Explanation = Explanation {
    id: "media-no-address",
    severity: Severity::Warning,
    summary: "the machine has no address and no DHCP",
    failure: "A document for a dummy link was added to the first configuration. Since 1.12 any document of links ends the DHCP that Talos \
            does by itself, so the machine came up with one address, on a link without a wire.",
    fix: "add a DHCPv4Config or addresses for a physical link",
};

/// A secret that everybody can read.
pub(crate) const SECRET_PUBLISHED: Explanation = Explanation {
    id: "media-secret-published",
    severity: Severity::Error,
    summary: "a schematic holds a secret",
    failure: "A configuration with the cluster's keys was embedded in a schematic. The factory gives every schematic to whoever asks for its \
            id, and the id stood in the installer's name on a public page.",
    fix: "keep secrets out of schematics: put them on a volume, or apply them in maintenance mode",
};
