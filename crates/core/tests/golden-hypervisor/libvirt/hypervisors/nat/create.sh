#!/bin/sh
# Written by ichor: networks, disks and machines of one host. Nothing is started but the networks.
set -eu
cd "$(dirname "$0")"
virsh() { command virsh --quiet --connect qemu+ssh://root@nat1/system "$@"; }

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
