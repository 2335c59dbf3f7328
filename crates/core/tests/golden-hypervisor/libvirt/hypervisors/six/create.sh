#!/bin/sh
# Written by ichor: networks, disks and machines of one host. Nothing is started but the networks.
set -eu
cd "$(dirname "$0")"
virsh() { command virsh --quiet --connect qemu:///system "$@"; }

if ! virsh net-info pots-six >/dev/null 2>&1; then
    virsh net-define networks/pots-six.xml
    virsh net-autostart pots-six
    virsh net-start pots-six
fi

virsh vol-info --pool default sixth.img >/dev/null 2>&1 || virsh vol-create default volumes/sixth.xml
virsh define domains/sixth.xml
virsh autostart sixth
