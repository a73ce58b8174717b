#!/bin/sh
# Draws all pictures from the recordings in tests/machines, byte for byte the same each time.
# PNGs need the font DejaVu Sans Mono (Debian: fonts-dejavu-core) and the package's extra `dev`.
set -eu
cd "$(dirname "$0")"
machines=../tests/machines
for size in 80x24 120x30; do
    for kind in svg png; do
        noisewatch screenshot --replay $machines/lab-disturbed.nw --size "$size" "monitor-$size.$kind"
    done
done
for kind in svg png; do
    noisewatch screenshot --replay $machines/lab-disturbed.nw --keys enter,f --size 100x30 "cpu-100x30.$kind"
    noisewatch screenshot --replay $machines/lab-hotplug.nw --keys 2 --size 80x24 "map-80x24.$kind"
    noisewatch screenshot --replay $machines/lab-disturbed.nw --keys 3 --size 100x30 "sources-100x30.$kind"
    noisewatch screenshot --replay $machines/lab-hotplug.nw --keys 5 --size 80x24 "events-80x24.$kind"
    noisewatch screenshot --replay $machines/host-calibration.nw --keys c,enter --size 100x40 "calibration-100x40.$kind"
done
