#!/bin/sh
# Draws all pictures from the recordings beside this file, byte for byte the same each time.
# PNGs need the font DejaVu Sans Mono (Debian: fonts-dejavu-core) and the package's extra `dev`.
set -eu
cd "$(dirname "$0")"
for size in 80x24 120x30; do
    for kind in svg png; do
        noisewatch screenshot --replay disturbed-core.nw --size "$size" "monitor-$size.$kind"
    done
done
for kind in svg png; do
    noisewatch screenshot --replay calibration.nw --keys c,enter --size 100x40 "calibration-100x40.$kind"
done
