#!/bin/sh
# Written by ichor: creates the machines of one Proxmox cluster without starting them; run it on one of its hosts.
set -eu

# Required ISO images:
# local:iso/talos-v1.14.1-bc202d16b682-metal-amd64.iso from https://factory.talos.dev/image/bc202d16b682f9fdabe998e448e9e90db83226a66f878707ac5b6778b1ec302b/v1.14.1/metal-amd64.iso
# local:iso/talos-v1.14.1-616e4dfabf43-metal-amd64.iso from https://factory.talos.dev/image/616e4dfabf43df977f5ffeee4e1505cd91eadb4ff778236908440dcdd91e1bfb/v1.14.1/metal-amd64.iso
# local:iso/talos-v1.14.1-ab73025c0d86-metal-amd64.iso from https://factory.talos.dev/image/ab73025c0d8675ed5385495a40de92a45b13150ca33a6326b803241afd137e42/v1.14.1/metal-amd64.iso
# local:iso/talos-v1.14.1-51764550d2df-metal-amd64.iso from https://factory.talos.dev/image/51764550d2df765c0d94c7f9a8968126da7b14d29834b8e5aba6bd028bc5c024/v1.14.1/metal-amd64.iso
# local:iso/talos-v1.14.1-d727c901c9e3-metal-amd64.iso from https://factory.talos.dev/image/d727c901c9e31f3da5f7158d06c290a63ba841a7dbf7e37c71b80c8b0d3e1986/v1.14.1/metal-amd64.iso

pvesh create /nodes/localhost/qemu -vmid 300 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -ide2 local:iso/talos-v1.14.1-bc202d16b682-metal-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name talos-cp-01 \
    -net0 virtio=BC:24:11:00:03:01,bridge=vmbr0 \
    -onboot 1 \
    -ostype l26 \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=0b9a493c-6f60-8f01-9bec-cb6265fa5530

pvesh create /nodes/localhost/qemu -vmid 301 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -ide2 local:iso/talos-v1.14.1-616e4dfabf43-metal-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name talos-cp-02 \
    -net0 virtio=BC:24:11:00:03:02,bridge=vmbr0 \
    -onboot 1 \
    -ostype l26 \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=60c76548-10c2-8525-b852-a60f3ea18295

pvesh create /nodes/localhost/qemu -vmid 302 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -ide2 local:iso/talos-v1.14.1-ab73025c0d86-metal-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name talos-cp-03 \
    -net0 virtio=BC:24:11:00:03:03,bridge=vmbr0 \
    -onboot 1 \
    -ostype l26 \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=1f66debf-28dc-8ebe-8916-2ab683a4460c

pvesh create /nodes/localhost/qemu -vmid 303 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 8 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -ide2 local:iso/talos-v1.14.1-51764550d2df-metal-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name talos-worker-01 \
    -net0 virtio=BC:24:11:00:03:04,bridge=vmbr0 \
    -onboot 1 \
    -ostype l26 \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=864250e3-6172-86bc-b224-17e29157fabb

pvesh create /nodes/localhost/qemu -vmid 304 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 8 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -ide2 local:iso/talos-v1.14.1-d727c901c9e3-metal-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name talos-worker-02 \
    -net0 virtio=BC:24:11:00:03:05,bridge=vmbr0 \
    -onboot 1 \
    -ostype l26 \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=14274e54-60df-89f8-8ae4-b06951ddf12f
