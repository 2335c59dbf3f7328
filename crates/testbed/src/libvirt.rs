//! A host with libvirt: the daemon of this machine, in a machine of its own.

use super::lab::{LabMachine, RootFileSystem, wait_for};

/// A machine with libvirtd, and pools of the names that the cases use.
pub struct LibvirtHost(pub LabMachine);

impl LibvirtHost {
    /// Starts it. Needs `scripts/tools libvirt`.
    pub fn start() -> Self {
        let machine = LabMachine::new(RootFileSystem::Own);
        machine.ask(
            "for folder in /etc/libvirt /var/lib/libvirt /var/cache/libvirt; do
                 [ -d $folder ] || { echo \"$folder is missing: run scripts/tools libvirt\" >&2; exit 1; }
                 mount -t tmpfs none $folder
             done
             # LVM keeps a record of its changes, and udev, which would make its devices, does not run here.
             if [ -d /etc/lvm ]; then
                 mount -t tmpfs none /etc/lvm
                 echo 'activation { udev_sync = 0 udev_rules = 0 }' >/etc/lvm/lvm.conf
             fi
             # Emulated everywhere: KVM may not support every feature that the processor reports. libvirtd takes any writable
             # file for KVM, and checks it again with every call.
             if [ -e /dev/kvm ]; then
                 touch /run/none
                 mount --bind /run/none /dev/kvm
                 mount -o remount,bind,ro /dev/kvm
             fi
             mkdir -p /var/log/libvirt /run/libvirt /tmp/default /tmp/big /tmp/isos
             # The user whom Debian's package of the daemon's service would have made.
             for file in passwd group; do cp /etc/$file /run/$file; mount --bind /run/$file /etc/$file; done
             grep -q ^libvirt-qemu: /etc/group || echo libvirt-qemu:x:64055: >>/etc/group
             grep -q ^libvirt-qemu: /etc/passwd || echo libvirt-qemu:x:64055:64055::/:/bin/false >>/etc/passwd
             cat >/etc/libvirt/qemu.conf <<END
user = \"root\"
group = \"root\"
security_driver = \"none\"
stdio_handler = \"file\"
remember_owner = 0
cgroup_controllers = []
namespaces = []
END",
        );
        // libvirtd waits until its QEMU is reaped, and the first process of a machine reaps no orphans.
        let reaped = "unshare --pid --fork --kill-child --mount-proc sh -c 'libvirtd; exit'";
        machine.start(reaped, "/run/libvirt/libvirt-sock");
        let host = Self(machine);
        let is_up = || host.0.run("virsh -q -c qemu:///system version").status.success();
        wait_for("libvirtd", is_up, || host.0.ask("cat /tmp/log-of-start"));
        for pool in ["default", "big", "isos"] {
            host.virsh(&format!("pool-define-as {pool} dir --target /tmp/{pool}"));
            host.virsh(&format!("pool-start {pool}"));
        }
        host
    }

    /// Runs virsh and returns its output.
    pub fn virsh(&self, words: &str) -> String {
        self.0.ask(&format!("virsh -q -c qemu:///system {words}"))
    }
}
