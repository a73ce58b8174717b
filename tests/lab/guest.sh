# Runs in the lab's machine, before serve.sh. The host's files are mounted a second time: with a cache, without which
# Python starts three times as slowly, and below an overlay, so that the host never sees what is written here. A host
# that is a container shall not make us one.
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
mount --bind /run $root/run  # without what is mounted there: the root itself is
modprobe acpi-cpufreq
exec sh "$(dirname "$0")/serve.sh" "$scratch" $root
