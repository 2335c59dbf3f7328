//! `boot` and `image`: boot media and images.

pub use ichor_values::Arch;
use ichor_values::{Any, DnsName, Duration, FilePath, ImageReference, Text, Url, WordOrRecord};
use ichor_values::{choice, record};

record! {
    /// How a machine gets its first configuration.
    Boot "boot settings" {
        /// Source of the first configuration.
        from: BootFrom = "nocloud: cidata; else apply", "cidata";
        /// The boot server.
        server: Url = "not set", "https://boot.sol";
        /// Time that a machine may take from the build until it has joined.
        within: Duration = "1h", "1h";
    }
}

choice! {
    /// Source of a machine's first configuration.
    BootFrom "boot source" {
        /// A nocloud ISO with the label `cidata`.
        Cidata = "cidata",
        /// An ISO with the label `metal-iso`.
        MetalIso = "metal-iso",
        /// META key 10, for network settings only.
        Meta = "meta",
        /// The boot server, by PXE or HTTP.
        Netboot = "netboot",
        /// A nocloud URL in the SMBIOS serial.
        NocloudNet = "nocloud-net",
        /// Inside the image, from Talos 1.12.
        Embedded = "embedded",
        /// The kernel argument `talos.config.early`.
        Early = "early",
        /// The kernel argument `talos.config.inline`.
        Inline = "inline",
        /// The Talos API, in maintenance mode.
        Apply = "apply",
    }
}

record! {
    /// Images that the machines boot and install.
    Image "image settings" {
        /// Builder of the images, or prebuilt images.
        source: WordOrRecord<ImageSource, GivenImages> = "ichor where its extension is needed, else factory", "ichor";
        /// The Image Factory.
        factory: Url = "https://factory.talos.dev", "https://factory.talos.dev";
        /// Registry that installer and extension images are pushed to.
        registry: ImageReference = "not set", "ghcr.io/me";
        /// Whether machines use secure boot.
        secure_boot: bool = "false", "false";
        /// Additional keys of the schematic.
        schematic: Any = "not set", "{customization: {bootloader: sd-boot}}";
    }
}

choice! {
    /// Builder of the images.
    ImageSource "image source" {
        /// ichor, with its routing extension.
        Ichor = "ichor",
        /// The Image Factory, with official extensions only.
        Factory = "factory",
    }
}

record! {
    /// Prebuilt images.
    GivenImages "images" {
        /// Boot ISO, a URL or path.
        iso: Text = "not set", "cephfs:iso/talos-v1.13.9-nocloud.iso";
        /// Disk image, a URL or path.
        disk: Text = "not set", "talos.qcow2";
        /// Kernel, a URL or path.
        kernel: Text = "not set", "vmlinuz";
        /// Initramfs, a URL or path.
        initramfs: Text = "not set", "initramfs.xz";
        /// Installer image.
        installer: ImageReference = "not set", "ghcr.io/me/installer:v1.13.9";
        /// Architecture of the images.
        arch: Arch = "amd64", "amd64";
    }
}

record! {
    /// Remote power control of a machine, through its BMC.
    Power "remote control" {
        /// Redfish service of the BMC.
        redfish: Url = "not set", "https://bmc21";
        /// IPMI address of the BMC.
        ipmi: DnsName = "not set", "10.0.9.21";
        /// User name.
        user: Text = "not set", "x";
        /// Password.
        password: ichor_values::Secret = "not set", "{env: BMC}";
        /// SHA-256 fingerprint of the BMC's certificate.
        fingerprint: ichor_values::Fingerprint = "verified with `ca`", "";
        /// File with the CA certificates that verify the BMC's certificate.
        ca: FilePath = "the system's CA certificates", "bmc-ca.pem";
    }
}

/// A patch of the generated Talos configuration: a file, or inline.
pub(crate) type PatchRef = WordOrRecord<FilePath, PatchSource>;

record! {
    /// A patch: inline, or encrypted with SOPS.
    PatchSource "a patch" {
        /// Inline patch.
        inline: Any = "not set", "{machine: {sysctls: {vm.max_map_count: \"262144\"}}}";
        /// File encrypted with SOPS.
        sops: FilePath = "not set", "patches/secret.sops.yaml";
    }
}
