#!/bin/sh
# Written by ichor: defines networks, disks and machines of one host, and starts only the networks.
set -eu
cd "$(dirname "$0")"
virsh() { command virsh --quiet --connect qemu:///system "$@"; }

# Required ISO images:
# talos-v1.13.9-376567988ad3-nocloud-amd64.iso in the pool isos from https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.13.9/nocloud-amd64.iso

if ! virsh net-info ovsbr0 >/dev/null 2>&1; then
    virsh net-define networks/ovsbr0.xml
    virsh net-autostart ovsbr0
    virsh net-start ovsbr0
fi

# On the host: lvcreate --size 60G --name switched vg-talos
virsh define domains/switched.xml
virsh autostart switched
