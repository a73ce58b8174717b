#!/bin/sh
# Draws all pictures from recordings, byte for byte the same each time: of machines in tests/machines, and of made-up
# ones of any size (python -m tests.written.many_cpus). PNGs need the font DejaVu Sans Mono (Debian: fonts-dejavu-core) and the
# package's extra `png`. Takes a minute or two, most of it for the machine of 512 CPUs.
set -eu
cd "$(dirname "$0")/.."
recordings=$(mktemp -d)
trap 'rm -rf "$recordings"' EXIT

draw() { # NAME SIZE RECORDING [OPTION...]
    name=$1-$2 size=$2 recording=$3
    shift 3
    noisewatch screenshot --replay "$recording" --size "$size" "$@" "screenshots/$name.svg" "screenshots/$name.png"
}

lab=tests/machines/lab-disturbed.nw
draw monitor 120x30 $lab
draw cpu 100x30 $lab --keys enter,f
draw monitor-light 120x30 $lab --theme light
draw preflight 100x30 $lab --keys 7
draw clock 120x34 tests/machines/written-clock-drop.nw --at 31 --keys 4
draw calibration 100x40 tests/machines/host-kinds.nw --keys c
python3 -m tests.written.two_sides "$recordings/two.nw"
for form in svg png; do
    noisewatch calibrate --replay "$recordings/two.nw" --cpus 2-3 --against 0-1 --format $form \
        --output screenshots/against-120x40.$form
done
noisewatch screenshot --poster tests/machines/host-kinds.nw screenshots/poster-calibration.svg \
    screenshots/poster-calibration.png
draw verdict 100x40 tests/machines/host-kinds.nw --keys p
# What a run printed here, whose seventh repetition somebody disturbed on purpose: no recording has the command's times.
python3 -m tests.written.terminal_text screenshots/run.txt 100 screenshots/run-100x40.svg screenshots/run-100x40.png

# The poster of a written series: 20 pairs of two commands, of which two runs are disturbed.
python3 -m tests.written.receipt "$recordings/receipt.json"
noisewatch screenshot --poster "$recordings/receipt.json" screenshots/poster-run.svg screenshots/poster-run.png

for count in 4 16 64 512; do
    made=$recordings/$count.nw
    python3 -m tests.written.many_cpus $count "$made"
    draw overview-$count-cpus 80x24 "$made" --at 25
    draw overview-$count-cpus 140x40 "$made" --at 25
done
made=$recordings/16.nw
draw map 140x40 "$made" --keys 2
draw map 80x24 "$made" --keys 2
draw irqs 120x34 "$made" --at 25 --keys 3
draw irqs 80x24 "$made" --at 25 --keys 3
draw irqs-slide 100x24 "$made" --at 25 --panel irqs --title 'One queue of eth0 interrupts target CPU 5'
draw one-cpu 140x40 "$made" --at 25 --keys enter,f
draw events 140x40 "$made" --keys 6
draw events 80x24 "$made" --keys 6
draw preflight-16-cpus 140x40 "$made" --at 25 --keys 7
draw culprits 140x40 "$made" --at 25 --keys 8
draw map-512-cpus 140x40 "$recordings/512.nw" --keys 2
draw irqs-512-cpus 140x40 "$recordings/512.nw" --at 25 --keys 3
draw help 100x40 "$made" --keys question_mark

# A network card interrupts a target CPU, is named, and is gone: 24 s.
noisewatch screenshot --replay "$made" --size 120x34 --from 15 --to 38 screenshots/demo.svg screenshots/demo.gif
