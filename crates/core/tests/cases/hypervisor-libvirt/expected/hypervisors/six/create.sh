#!/bin/sh
# Written by ichor: defines networks, disks and machines of one host, and starts only the networks.
set -eu
cd "$(dirname "$0")"
virsh() { command virsh --quiet --connect qemu:///system "$@"; }

# Required ISO images:
# /var/lib/libvirt/images/talos-v1.13.9-376567988ad3-nocloud-amd64.iso from https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.13.9/nocloud-amd64.iso
# /var/lib/libvirt/images/pots_sixth-cidata.iso from nodes/sixth/cidata.iso

if ! virsh net-info pots-six >/dev/null 2>&1; then
    virsh net-define networks/pots-six.xml
    virsh net-autostart pots-six
    virsh net-start pots-six
fi

virsh vol-info --pool default sixth.img >/dev/null 2>&1 || virsh vol-create default volumes/sixth.xml
virsh define domains/sixth.xml
virsh autostart sixth
