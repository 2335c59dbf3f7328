#!/bin/sh
# Written by ichor: creates the machines of one Proxmox cluster without starting them; run it on one of its hosts.
set -eu

pvesh create /nodes/localhost/qemu -vmid "$(pvesh get /cluster/nextid)" \
    -agent 0 \
    -bios ovmf \
    -boot 'order=scsi0;net0' \
    -cores 4 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -machine q35 \
    -memory 3815 \
    -name far \
    -net0 virtio=02:00:08:00:1F:00,bridge=vmbr0 \
    -onboot 1 \
    -ostype l26 \
    -pool talos/vault \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=a61b13d1-7787-84c2-af21-2fbd2a34cdd1 \
    -tags 'k8s;vault' \
    -tpmstate0 local-lvm:1,version=v2.0
