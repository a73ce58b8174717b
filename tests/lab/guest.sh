# Runs in the lab's machine, before serve.sh. The host's files are mounted a second time: with a cache, without which
# Python takes three times as long to start, and below an overlay, so that nothing is written to the host. If that is
# a container, its /.dockerenv must not mark this machine as one.
scratch=$1
files=/run/lab/files
root=/run/lab/root
mkdir -p $files $root
mount -t tmpfs tmpfs /run/lab
mkdir -p $files $root /run/lab/upper /run/lab/work
mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,msize=512000 files $files
modprobe overlay
mount -t overlay -o lowerdir=$files,upperdir=/run/lab/upper,workdir=/run/lab/work overlay $root
rm -f $root/.dockerenv
for folder in /proc /sys /dev "$scratch"; do
    mount --rbind "$folder" "$root$folder"
done
mount --bind /run $root/run  # without the mounts below it, because $root is one of them
modprobe acpi-cpufreq
exec sh "$(dirname "$0")/serve.sh" "$scratch" $root
