#!/bin/sh
# The first process in run.sh's user-mode Linux: mount file systems, load modules, run the command, halt.
# The root file system is the host's; scratch space is in memory.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run/home LANG=C.UTF-8
command=$(cat "$COMMAND")
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
[ -z "$SHARED" ] || { mkdir /run/shared && mount --bind "$SHARED" /run/shared; }
case $PROJECT in
/tmp/*) ;; # a scratch file system would hide the project
*) mount -t tmpfs tmp /tmp ;;
esac
mkdir -p /run/home /run/modules/lib/modules /dev/shm
mount -t tmpfs shm /dev/shm
ln -s /usr/lib/uml/modules/* /run/modules/lib/modules/
for module in openvswitch sch_netem sch_htb sch_ingress cls_bpf veth tun vxlan; do
    modprobe -d /run/modules "$module" || echo "no module $module"
done
ip link set lo up
export XDG_RUNTIME_DIR=/run/home TMPDIR=/dev/shm # a lab has its own /run
ulimit -n 20000
cd "$PROJECT" || halt -f
sh -c "$command"
echo "vm-test: exit $?"
halt -f
