#!/bin/sh
# Written by ichor: creates the machines of one Proxmox cluster without starting them; run it on one of its hosts.
set -eu

# Required ISO images:
# cephfs:iso/talos-v1.11.5-1799777e80fe-nocloud-amd64.iso built by `ichor image build`
# cephfs:iso/sol_solcp01-cidata.iso from nodes/solcp01/cidata.iso
# cephfs:iso/sol_solcp02-cidata.iso from nodes/solcp02/cidata.iso
# cephfs:iso/sol_solcp03-cidata.iso from nodes/solcp03/cidata.iso
# cephfs:iso/sol_solwk01-cidata.iso from nodes/solwk01/cidata.iso
# cephfs:iso/sol_solwk02-cidata.iso from nodes/solwk02/cidata.iso
# cephfs:iso/sol_solwk03-cidata.iso from nodes/solwk03/cidata.iso

pvesh create /nodes/localhost/qemu -vmid 311 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -ide0 cephfs:iso/sol_solcp01-cidata.iso,media=cdrom \
    -ide2 cephfs:iso/talos-v1.11.5-1799777e80fe-nocloud-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name solcp01 \
    -net0 virtio=BC:24:11:00:00:11,bridge=vmbr0,tag=101 \
    -onboot 1 \
    -ostype l26 \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=d581756f-daf9-81d1-81c6-4d4854e2123f

pvesh create /nodes/localhost/qemu -vmid 312 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -ide0 cephfs:iso/sol_solcp02-cidata.iso,media=cdrom \
    -ide2 cephfs:iso/talos-v1.11.5-1799777e80fe-nocloud-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name solcp02 \
    -net0 virtio=BC:24:11:00:00:12,bridge=vmbr0,tag=101 \
    -onboot 1 \
    -ostype l26 \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=fb554459-b12c-8715-8586-32dda400a8d1

pvesh create /nodes/localhost/qemu -vmid 313 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -ide0 cephfs:iso/sol_solcp03-cidata.iso,media=cdrom \
    -ide2 cephfs:iso/talos-v1.11.5-1799777e80fe-nocloud-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name solcp03 \
    -net0 virtio=BC:24:11:00:00:13,bridge=vmbr0,tag=101 \
    -onboot 1 \
    -ostype l26 \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=1c13c7ec-9eb6-8c54-851c-d633cd1fb648

pvesh create /nodes/localhost/qemu -vmid 321 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -ide0 cephfs:iso/sol_solwk01-cidata.iso,media=cdrom \
    -ide2 cephfs:iso/talos-v1.11.5-1799777e80fe-nocloud-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name solwk01 \
    -net0 virtio=BC:24:11:00:00:21,bridge=vmbr0,tag=101 \
    -onboot 1 \
    -ostype l26 \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=3a6c1edd-eba2-8bc8-b14e-81dbf417dc91

pvesh create /nodes/localhost/qemu -vmid 322 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -ide0 cephfs:iso/sol_solwk02-cidata.iso,media=cdrom \
    -ide2 cephfs:iso/talos-v1.11.5-1799777e80fe-nocloud-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name solwk02 \
    -net0 virtio=BC:24:11:00:00:22,bridge=vmbr0,tag=101 \
    -onboot 1 \
    -ostype l26 \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=1884c019-2732-869f-98f5-93d0714b44d0

pvesh create /nodes/localhost/qemu -vmid 323 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 local-lvm:1,efitype=4m,pre-enrolled-keys=0 \
    -ide0 cephfs:iso/sol_solwk03-cidata.iso,media=cdrom \
    -ide2 cephfs:iso/talos-v1.11.5-1799777e80fe-nocloud-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name solwk03 \
    -net0 virtio=BC:24:11:00:00:23,bridge=vmbr0,tag=101 \
    -onboot 1 \
    -ostype l26 \
    -scsi0 local-lvm:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=865562df-c5df-8dff-bc32-6baa6ae3c436
