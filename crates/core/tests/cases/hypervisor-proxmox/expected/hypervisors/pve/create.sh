#!/bin/sh
# Written by ichor: creates the machines of one Proxmox cluster without starting them; run it on one of its hosts.
set -eu

# Required ISO images:
# local:iso/talos-v1.13.9-376567988ad3-nocloud-amd64.iso from https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.13.9/nocloud-amd64.iso
# local:iso/vault_cp1-cidata.iso from nodes/cp1/cidata.iso
# local:iso/talos-v1.13.9-376567988ad3-nocloud-amd64-secureboot.iso from https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.13.9/nocloud-amd64-secureboot.iso
# local:iso/vault_cp2-cidata.iso from nodes/cp2/cidata.iso
# local:iso/talos-v1.13.9-ce4c980550dd-nocloud-amd64.iso from https://factory.talos.dev/image/ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515/v1.13.9/nocloud-amd64.iso
# local:iso/vault_wk1-cidata.iso from nodes/wk1/cidata.iso
# local:iso/talos-v1.13.9-d0b273850841-metal-amd64.iso from https://factory.talos.dev/image/d0b273850841b13d0193fbfb0597bac2ca30387b8a0797a43238ecafc72ed329/v1.13.9/metal-amd64.iso
# local:iso/vault_wk2-metal-iso.iso from nodes/wk2/metal-iso.iso
# cephfs:iso/talos.iso
# local:iso/vault_wk3-cidata.iso from nodes/wk3/cidata.iso

pvesh create /nodes/pve1/qemu -vmid 311 \
    -agent 0 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 ceph:1,efitype=4m,pre-enrolled-keys=0 \
    -ide0 local:iso/vault_cp1-cidata.iso,media=cdrom \
    -ide2 local:iso/talos-v1.13.9-376567988ad3-nocloud-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name cp1 \
    -net0 virtio=02:00:08:00:0B:00,bridge=vmbr0 \
    -onboot 1 \
    -ostype l26 \
    -pool talos/vault \
    -scsi0 ceph:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=5db1d10b-28af-8f74-8e88-22e41f3fe369 \
    -tags 'k8s;vault' \
    -tpmstate0 ceph:1,version=v2.0

pvesh create /nodes/pve2/qemu -vmid 312 \
    -agent 0 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 ceph:1,efitype=4m,pre-enrolled-keys=0 \
    -ide0 local:iso/vault_cp2-cidata.iso,media=cdrom \
    -ide2 local:iso/talos-v1.13.9-376567988ad3-nocloud-amd64-secureboot.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name cp2 \
    -net0 virtio=02:00:08:00:0C:00,bridge=vmbr0 \
    -onboot 1 \
    -ostype l26 \
    -pool talos/vault \
    -scsi0 ceph:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=0d147242-cbf6-8839-bdd3-080d900f3aa3 \
    -tags 'k8s;vault' \
    -tpmstate0 ceph:1,version=v2.0

pvesh create /nodes/pve3/qemu -vmid 313 \
    -agent 0 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 ceph:1,efitype=4m,pre-enrolled-keys=0 \
    -ide2 local:iso/talos-v1.13.9-376567988ad3-nocloud-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name cp3 \
    -net0 virtio=02:00:08:00:0D:00,bridge=vmbr0 \
    -onboot 1 \
    -ostype l26 \
    -pool talos/vault \
    -scsi0 ceph:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 base64=1,serial=ZHM9bm9jbG91ZC1uZXQ7cz1odHRwczovL2Jvb3QudmF1bHQvbm9jbG91ZC9jcDMv,uuid=f0ab5bd3-5d75-8fad-8642-a51dc7d490bd \
    -tags 'k8s;vault' \
    -tpmstate0 ceph:1,version=v2.0

pvesh create /nodes/pve1/qemu -vmid 321 \
    -agent 1 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 fast:1,efitype=4m,pre-enrolled-keys=0 \
    -ide0 local:iso/vault_wk1-cidata.iso,media=cdrom \
    -ide2 local:iso/talos-v1.13.9-ce4c980550dd-nocloud-amd64.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name wk1 \
    -net0 virtio=02:00:08:00:15:00,bridge=vmbr1,tag=12 \
    -net1 virtio=02:00:08:00:15:01,bridge=vmbr1,tag=12 \
    -onboot 1 \
    -ostype l26 \
    -pool talos/vault \
    -scsi0 fast:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=8f4d2b22-9d6d-87a5-8955-27c8e0e19323 \
    -tags 'k8s;vault' \
    -tpmstate0 fast:1,version=v2.0

pvesh create /nodes/pve2/qemu -vmid 322 \
    -agent 0 \
    -args '-fw_cfg '\''name=opt/vault,string=${it}'\''\'\'''\''s'\''' \
    -bios seabios \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu x86-64-v2-AES \
    -ide0 local:iso/vault_wk2-metal-iso.iso,media=cdrom \
    -ide2 local:iso/talos-v1.13.9-d0b273850841-metal-amd64.iso,media=cdrom \
    -machine pc \
    -memory 8192 \
    -name wk2 \
    -net0 e1000e=02:00:08:00:16:00,bridge=vmbr0 \
    -onboot 0 \
    -ostype l26 \
    -pool talos/vault \
    -scsi0 ceph:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=8a5960bf-e230-8fe5-a1a2-dd79400cecaf \
    -tags 'k8s;vault' \
    -tpmstate0 ceph:1,version=v2.0

pvesh create /nodes/pve2/qemu -vmid 323 \
    -agent 0 \
    -bios ovmf \
    -boot 'order=scsi0;ide2' \
    -cores 4 \
    -cpu host \
    -efidisk0 ceph:1,efitype=4m,pre-enrolled-keys=0 \
    -ide0 local:iso/vault_wk3-cidata.iso,media=cdrom \
    -ide2 cephfs:iso/talos.iso,media=cdrom \
    -machine q35 \
    -memory 8192 \
    -name wk3 \
    -net0 virtio=02:00:08:00:17:00,bridge=vmbr0 \
    -onboot 1 \
    -ostype l26 \
    -pool talos/vault \
    -scsi0 ceph:64,discard=on,iothread=1,ssd=1 \
    -scsihw virtio-scsi-single \
    -serial0 socket \
    -smbios1 uuid=d5d4a016-a983-8cff-8ee7-bc957173b7d4 \
    -tags 'k8s;vault' \
    -tpmstate0 ceph:1,version=v2.0
