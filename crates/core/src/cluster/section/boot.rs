//! `boot` and `image`: how a machine starts, and what it starts.

pub use ichor_values::Arch;
use ichor_values::{Any, DnsName, Duration, Either, FilePath, ImageReference, Text, Url};
use ichor_values::{choice, record};

record! {
    /// Where a machine's first configuration comes from.
    Boot "boot settings" {
        /// What carries the first configuration.
        from: BootFrom = "nocloud: cidata; metal: apply; else the platform's own", "cidata";
        /// The boot server.
        server: Url = "none", "https://boot.sol";
        /// How long a machine may take from the build to having joined.
        within: Duration = "1h", "1h";
    }
}

choice! {
    /// What carries a machine's first configuration.
    BootFrom "boot source" {
        /// A nocloud ISO with the label `cidata`.
        Cidata = "cidata",
        /// An ISO with the label `metal-iso`.
        MetalIso = "metal-iso",
        /// META key 10: the network only.
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
    /// What the machines boot and install.
    Image "image settings" {
        /// Who makes the images.
        source: Either<ImageSource, GivenImages> = "ichor where its extension is needed, else factory", "ichor";
        /// The Image Factory.
        factory: Url = "https://factory.talos.dev", "https://factory.talos.dev";
        /// Where installer and extension images go.
        registry: ImageReference = "none", "ghcr.io/me";
        /// Whether machines boot with secure boot.
        secure_boot: bool = "false", "false";
        /// More for the schematic than is derived.
        schematic: Any = "none", "{customization: {bootloader: sd-boot}}";
    }
}

choice! {
    /// Who makes the images.
    ImageSource "image source" {
        /// ichor, with its routing extension.
        Ichor = "ichor",
        /// The Image Factory, with official extensions only.
        Factory = "factory",
    }
}

record! {
    /// Images somebody else made.
    GivenImages "images" {
        /// Boot ISO, a URL or path.
        iso: Text = "none", "cephfs:iso/talos-v1.13.9-nocloud.iso";
        /// Disk image, a URL or path.
        disk: Text = "none", "talos.qcow2";
        /// Kernel, a URL or path.
        kernel: Text = "none", "vmlinuz";
        /// Initramfs, a URL or path.
        initramfs: Text = "none", "initramfs.xz";
        /// Installer image.
        installer: ImageReference = "none", "ghcr.io/me/installer:v1.13.9";
        /// Architecture the images are for.
        arch: Arch = "amd64", "amd64";
    }
}

record! {
    /// Remote control of a machine.
    Power "remote control" {
        /// Redfish service of the machine's controller.
        redfish: Url = "none", "https://bmc21";
        /// IPMI address of the machine's controller.
        ipmi: DnsName = "none", "10.0.9.21";
        /// User name.
        user: Text = "none", "x";
        /// Password.
        password: ichor_values::Secret = "none", "{env: BMC}";
        /// SHA-256 fingerprint of the controller's certificate.
        fingerprint: ichor_values::Fingerprint = "checked by `ca`", "";
        /// Certificates, in a file, one of which signed that of the controller.
        ca: FilePath = "the system's roots", "bmc-ca.pem";
    }
}

/// A piece of Talos configuration that is laid over what ichor makes.
pub(crate) type Patch = Either<FilePath, PatchSource>;

record! {
    /// A patch that is not simply a file.
    PatchSource "a patch" {
        /// The patch itself.
        inline: Any = "none", "{machine: {sysctls: {vm.max_map_count: \"262144\"}}}";
        /// A patch in the SOPS format.
        sops: FilePath = "none", "patches/secret.sops.yaml";
    }
}
