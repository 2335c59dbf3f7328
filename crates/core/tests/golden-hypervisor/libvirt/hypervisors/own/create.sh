#!/bin/sh
# Written by ichor: networks, disks and machines of one host. Nothing is started but the networks.
set -eu
cd "$(dirname "$0")"
virsh() { command virsh --quiet --connect qemu:///system "$@"; }

virsh vol-info --pool default secure.img >/dev/null 2>&1 || virsh vol-create default volumes/secure.xml
virsh define domains/secure.xml
virsh autostart secure

virsh vol-info --pool big arm.img >/dev/null 2>&1 || virsh vol-create big volumes/arm.xml
virsh define domains/arm.xml
virsh autostart arm
