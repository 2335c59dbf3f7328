//! `vm`: a node's virtual machine.

use ichor_values::key::List;
use ichor_values::{LinkName, Size, Text, VlanId, Word};
use ichor_values::{choice, record};

record! {
    /// A node's virtual machine.
    Vm "a virtual machine" {
        /// Hypervisor.
        hypervisor: Word = "the only one in the file", "pve";
        /// Host of the hypervisor cluster.
        host: Word = "round-robin over the hypervisor's `hosts`, per role", "pve1";
        /// VM ID.
        id: u32 = "first_id + index", "311";
        /// Base of the VM IDs.
        first_id: u32 = "not set", "300";
        /// CPU cores.
        cores: u16 = "2", "4";
        /// CPU type.
        cpu: Text = "host", "host";
        /// Memory.
        memory: Size = "4GiB", "8GiB";
        /// Size of the disk.
        disk: Size = "32GiB", "64GiB";
        /// Storage of the disk; with libvirt a pool, a folder, or a volume group below `/dev`.
        storage: Text = "the hypervisor's", "local-lvm";
        /// Bridge of the ports.
        bridge: LinkName = "vmbr0; libvirt: the hypervisor's", "vmbr0";
        /// VLAN of the ports.
        vlan: VlanId = "not set", "101";
        /// Machine type.
        machine: Machine = "q35, virt on arm64", "q35";
        /// Firmware.
        firmware: Firmware = "ovmf", "ovmf";
        /// Network card model of the ports.
        nic: Text = "virtio", "virtio";
        /// Whether the VM starts with the host.
        on_boot: bool = "true", "true";
        /// Whether the guest agent is used.
        guest_agent: bool = "false", "true";
        /// Resource pool.
        pool: Text = "not set", "talos";
        /// Tags.
        tags: List<Word> = "none", "[sol]";
        /// Whether machines of one role run on different hosts.
        anti_affinity: bool = "false", "true";
        /// Boot order.
        boot: List<BootDevice> = "[disk, cdrom]; netboot: [disk, net]", "[disk, cdrom]";
        /// Additional arguments of QEMU.
        args: List<Text> = "none", "[\"-smbios\", \"type=1\"]";
    }
}

choice! {
    /// Type of a virtual machine.
    Machine "machine type" {
        /// With PCI Express.
        Q35 = "q35",
        /// Without PCI Express.
        I440fx = "i440fx",
        /// For ARM.
        Virt = "virt",
    }
}

choice! {
    /// Firmware of a virtual machine.
    Firmware "firmware" {
        /// UEFI.
        Ovmf = "ovmf",
        /// BIOS.
        Seabios = "seabios",
    }
}

choice! {
    /// Boot device of a virtual machine.
    BootDevice "boot device" {
        /// The disk.
        Disk = "disk",
        /// The CD-ROM.
        Cdrom = "cdrom",
        /// The network.
        Net = "net",
    }
}
