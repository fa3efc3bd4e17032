#!/usr/bin/env bash
# Build a box for vagrant-libvirt from Debian's packages: box.sh FOLDER
#
# It stands in for the one that the Vagrantfile names, where that cannot be downloaded or where
# qemu must emulate the processor: a Debian with what such boxes have (ssh, sudo, rsync, the user
# vagrant) and a kernel that qemu starts by itself.  How this machine reaches package registries
# (apt's sources, pip's settings, certificates) is given to it, and recorded nowhere else.
set -euo pipefail
folder=$1 timings=$1/box.seconds
here=$(cd "$(dirname "$0")" && pwd)
. "$here/steps.sh"
root=$folder/root
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
read -r name version < <(sed -n 's/^DEBIAN = \["\(.*\)", "\(.*\)"\].*/\1 \2/p' "$here/../Vagrantfile") || true

packages=(
    systemd-sysv udev dbus libpam-systemd ifupdown isc-dhcp-client openssh-server sudo rsync
    ca-certificates iproute2 kmod initramfs-tools linux-image-cloud-amd64
)

bootstrap() {
    rm -rf "$root"
    mmdebstrap --variant=minbase --include="$(IFS=,; echo "${packages[*]}")" \
        --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Check-Date "false"' \
        --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        "$suite" "$root" $(apt_sources)
}

# What apt uses here: its files of sources.
apt_sources() {
    local file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
        [ -s "$file" ] && echo "$file"
    done
}

# The modules with which qemu's kernel finds its root; a small initial RAM disk unpacks faster.
initial_ram_disk() {
    printf '%s\n' MODULES=list COMPRESS=gzip >"$root/etc/initramfs-tools/conf.d/box"
    printf '%s\n' virtio_pci virtio_blk virtio_net ext4 >"$root/etc/initramfs-tools/modules"
    chroot "$root" update-initramfs -u
    cp "$root"/boot/vmlinuz-* "$folder/vmlinuz"
    cp "$root"/boot/initrd.img-* "$folder/initrd"
}

# What Vagrant expects of any box: its user, its public key, sudo, a network.
vagrant_user() {
    chroot "$root" useradd --create-home --shell /bin/bash vagrant
    echo 'vagrant ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/vagrant"
    install -d -m 700 "$root/home/vagrant/.ssh"
    install -m 600 "$(vagrant_key)" "$root/home/vagrant/.ssh/authorized_keys"
    chroot "$root" chown -R vagrant:vagrant /home/vagrant
    printf '%s\n' 'auto lo eth0' 'iface lo inet loopback' 'iface eth0 inet dhcp' >"$root/etc/network/interfaces"
    echo '/dev/vda / ext4 noatime 0 1' >"$root/etc/fstab"
    echo 'UseDNS no' >"$root/etc/ssh/sshd_config.d/box.conf"
}

vagrant_key() {
    ruby -e 'puts Gem::Specification.find_by_name("vagrant").gem_dir + "/keys/vagrant.pub"'
}

# apt's and pip's settings and extra certificates of this machine, none that name files of it;
# apt's sources are there already.
registries() {
    ! grep -lsE 'Check-(Date|Valid-Until)' /etc/apt/apt.conf.d/* | xargs -r cp -t "$root/etc/apt/apt.conf.d"
    cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
    chroot "$root" update-ca-certificates
    { echo '[global]'; echo 'cert = /etc/ssl/certs/ca-certificates.crt'
      pip config list | sed -nE "s/^(global|:env:)\.(index-url|extra-index-url|trusted-host|proxy)='([^']*)'$/\2 = \3/p" |
          grep -v 'file:'; } >"$root/etc/pip.conf" || true
}

image() {
    rm -f "$folder/box.raw"
    truncate -s 8G "$folder/box.raw"
    mkfs.ext4 -q -F -d "$root" "$folder/box.raw"
    qemu-img convert -q -O qcow2 "$folder/box.raw" "$folder/box.img"
    rm -rf "$folder/box.raw" "$root"
}

# Where the processor and /dev/kvm allow it the machine runs on it, else qemu emulates one.
processor() {
    if grep -qwE 'vmx|svm' /proc/cpuinfo && [ -w /dev/kvm ]; then
        echo 'vm.driver = "kvm"; vm.cpu_mode = "host-passthrough"'
    else
        echo 'vm.driver = "qemu"; vm.cpu_mode = "custom"; vm.cpu_model = "Nehalem"'
    fi
}

# The box's own Vagrantfile: what this machine needs, so that the project's stays as it is.
settings() {
    cat <<RUBY
Vagrant.configure("2") do |config|
  config.vm.boot_timeout = 1800
  config.ssh.connect_timeout = 60
  config.vm.provider "libvirt" do |vm|
    $(processor)
    vm.machine_type = "q35"
    vm.kernel, vm.initrd = "$folder/vmlinuz", "$folder/initrd"
    vm.cmd_line = "root=/dev/vda rw console=ttyS0 net.ifnames=0 quiet mitigations=off nokaslr " \\
                  "init_on_alloc=0 audit=0 apparmor=0"
    vm.storage_pool_name = "dcnlab"
    vm.disk_driver cache: "unsafe"
    vm.graphics_type, vm.video_type = "none", "none"
  end
end
RUBY
}

# A box file and a catalogue that registers it under the name and version that are asked for.
pack() {
    settings >"$folder/Vagrantfile"
    echo '{"provider": "libvirt", "format": "qcow2", "virtual_size": 8}' >"$folder/metadata.json"
    tar -C "$folder" -cf "$folder/local.box" metadata.json Vagrantfile box.img
    cat >"$folder/catalogue.json" <<JSON
{"name": "$name", "versions": [{"version": "$version",
  "providers": [{"name": "libvirt", "url": "file://$folder/local.box"}]}]}
JSON
}

[ -n "$version" ] || { echo "box.sh: the Vagrantfile names no DEBIAN box" >&2; exit 1; }
if [ ! -s "$folder/box.img" ]; then
    : >"$timings"
    step "bootstrap Debian" bootstrap
    step "its user" vagrant_user
    step "registries" registries
    step "initial RAM disk" initial_ram_disk
    step "disk image" image
fi
pack
