#!/bin/sh
# Written by ichor: defines networks, disks and machines of one host, and starts only the networks.
set -eu
cd "$(dirname "$0")"
virsh() { command virsh --quiet --connect qemu:///system "$@"; }

# Required ISO images:
# /srv/iso/talos & more.iso

if ! virsh net-info br0 >/dev/null 2>&1; then
    virsh net-define networks/br0.xml
    virsh net-autostart br0
    virsh net-start br0
fi

if ! virsh net-info br1 >/dev/null 2>&1; then
    virsh net-define networks/br1.xml
    virsh net-autostart br1
    virsh net-start br1
fi

# On the host: qemu-img create -f raw /srv/vm/netbooted.img 60G
virsh define domains/netbooted.xml
virsh autostart netbooted

# On the host: qemu-img create -f raw /srv/vm/given.img 60G
virsh define domains/given.xml
virsh autostart given
