# Runs in the aarch64 machine, before serve.sh. Copies the package from this host's files into memory, without what is
# compiled for this host's processor: reading from the host takes real time, and would make runs vary.
scratch=$1
checkout=$2
mkdir -p "$scratch" "$checkout"
mount --bind "/host$scratch" "$scratch"
cp -rp "/host$checkout/noisewatch" "$checkout"
find "$checkout" -name '*.so' -exec rm {} +
printf '#!/bin/sh\nexec python3 -m noisewatch "$@"\n' >/bin/noisewatch
chmod +x /bin/noisewatch
exec sh "/host$checkout/tests/lab/serve.sh" "$scratch" /
