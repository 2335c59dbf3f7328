#!/bin/sh
# Written by ichor: defines networks, disks and machines of one host, and starts only the networks.
set -eu
cd "$(dirname "$0")"
virsh() { command virsh --quiet --connect qemu+ssh://root@nat1/system "$@"; }

# Required ISO images:
# /var/lib/libvirt/images/talos-v1.13.9-ce4c980550dd-nocloud-amd64.iso from https://factory.talos.dev/image/ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515/v1.13.9/nocloud-amd64.iso
# /var/lib/libvirt/images/pots_natcp-cidata.iso from nodes/natcp/cidata.iso
# /var/lib/libvirt/images/talos-v1.13.9-d0b273850841-metal-amd64.iso from https://factory.talos.dev/image/d0b273850841b13d0193fbfb0597bac2ca30387b8a0797a43238ecafc72ed329/v1.13.9/metal-amd64.iso
# /var/lib/libvirt/images/pots_natwk-metal-iso.iso from nodes/natwk/metal-iso.iso

if ! virsh net-info pots-nat >/dev/null 2>&1; then
    virsh net-define networks/pots-nat.xml
    virsh net-autostart pots-nat
    virsh net-start pots-nat
fi

virsh vol-info --pool default natcp.img >/dev/null 2>&1 || virsh vol-create default volumes/natcp.xml
virsh define domains/natcp.xml
virsh autostart natcp

virsh vol-info --pool default natwk.img >/dev/null 2>&1 || virsh vol-create default volumes/natwk.xml
virsh define domains/natwk.xml
virsh autostart --disable natwk
