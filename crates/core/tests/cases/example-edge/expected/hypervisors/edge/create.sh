#!/bin/sh
# Written by ichor: defines networks, disks and machines of one host, and starts only the networks.
set -eu
cd "$(dirname "$0")"
virsh() { command virsh --quiet --connect qemu+ssh://edge1/system "$@"; }

if ! virsh net-info setup02-edge >/dev/null 2>&1; then
    virsh net-define networks/setup02-edge.xml
    virsh net-autostart setup02-edge
    virsh net-start setup02-edge
fi

virsh vol-info --pool default talos-edge-1.img >/dev/null 2>&1 || virsh vol-create default volumes/talos-edge-1.xml
virsh define domains/talos-edge-1.xml
virsh autostart talos-edge-1
