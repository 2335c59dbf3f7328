#!/bin/sh
# Written by ichor: networks, disks and machines of one host. Nothing is started but the networks.
set -eu
cd "$(dirname "$0")"
virsh() { command virsh --quiet --connect qemu:///system "$@"; }

if ! virsh net-info ovsbr0 >/dev/null 2>&1; then
    virsh net-define networks/ovsbr0.xml
    virsh net-autostart ovsbr0
    virsh net-start ovsbr0
fi

# On the host: lvcreate --size 60G --name switched vg-talos
virsh define domains/switched.xml
virsh autostart switched
