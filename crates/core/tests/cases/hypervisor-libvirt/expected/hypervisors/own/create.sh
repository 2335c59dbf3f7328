#!/bin/sh
# Written by ichor: defines networks, disks and machines of one host, and starts only the networks.
set -eu
cd "$(dirname "$0")"
virsh() { command virsh --quiet --connect qemu:///system "$@"; }

# Required ISO images:
# /var/lib/libvirt/images/talos-v1.13.9-376567988ad3-nocloud-amd64-secureboot.iso from https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.13.9/nocloud-amd64-secureboot.iso
# /var/lib/libvirt/images/pots_secure-cidata.iso from nodes/secure/cidata.iso
# /var/lib/libvirt/images/talos-v1.13.9-376567988ad3-nocloud-arm64.iso from https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.13.9/nocloud-arm64.iso
# /var/lib/libvirt/images/pots_arm-cidata.iso from nodes/arm/cidata.iso

virsh vol-info --pool default secure.img >/dev/null 2>&1 || virsh vol-create default volumes/secure.xml
virsh define domains/secure.xml
virsh autostart secure

virsh vol-info --pool big arm.img >/dev/null 2>&1 || virsh vol-create big volumes/arm.xml
virsh define domains/arm.xml
virsh autostart arm
