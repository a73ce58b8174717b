"""Record the lab's machines for the default tests: `python -m tests.lab.record_machines` (five minutes)."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable

from tests import CHECKOUT
from tests.lab.lab import Lab
from tests.lab.machine import ISOLATED, ONE_CPU, PLAIN, Variant, kernel_image

_FOLDER = CHECKOUT / "tests" / "machines"
_CPU_7 = "/sys/devices/system/cpu/cpu7/online"
_GROUPS = "/sys/fs/cgroup"
_DISK = "while :; do dd if=/dev/sda of=/dev/null bs=4k count=500 iflag=direct 2>/dev/null; sleep 0.5; done"


def _record_disturbed(lab: Lab) -> None:
    """Record a process on an isolated CPU, and a disk that interrupts another one."""
    irq = lab.do("grep ahci /proc/interrupts").split()[0].rstrip(":")
    lab.write(f"/proc/irq/{irq}/smp_affinity_list", 6)
    lab.do(f"cp /bin/sh {lab.scratch}/updatedb")
    lab.start(f'taskset -c 2 {lab.scratch}/updatedb -c "while :; do :; done"')
    lab.start(f'taskset -c 4 sh -c "{_DISK}"')
    lab.do("noisewatch record --duration 15 machine.nw")


def _record_hotplug(lab: Lab) -> None:
    """Record while CPU 7 goes offline and comes back."""
    _record_while(lab, 15, f"sleep 4; echo 0 > {_CPU_7}; sleep 4; echo 1 > {_CPU_7}")


def _record_partition(lab: Lab) -> None:
    """Record while a partition of CPUs 2-3 is created, and later invalidated by another group."""
    bench, other = f"{_GROUPS}/bench", f"{_GROUPS}/other"
    lab.do(f"echo +cpuset > {_GROUPS}/cgroup.subtree_control; mkdir {bench} {other}")
    create = f"echo 2-3 > {bench}/cpuset.cpus; echo isolated > {bench}/cpuset.cpus.partition"
    _record_while(lab, 15, f"sleep 4; {create}; sleep 5; echo 3-4 > {other}/cpuset.cpus")


def _record_throttled(lab: Lab) -> None:
    """Record loops in a cgroup of version 1 with a quota of one and a half CPUs."""
    lab.do("mkdir /run/v1; mount -t cgroup -o cpu cpu /run/v1; mkdir /run/v1/small")
    lab.do("echo 150000 > /run/v1/small/cpu.cfs_quota_us")
    enter = "echo 0 > /run/v1/small/cgroup.procs"
    for _ in range(2):
        lab.start(f'sh -c "{enter}; while :; do :; done"')
    lab.do(f"{enter}; exec noisewatch record --duration 8 machine.nw")


def _record_alone(lab: Lab) -> None:
    """Record the machine while nothing but noisewatch runs on it."""
    lab.do("noisewatch record --duration 6 machine.nw")


def _record_while(lab: Lab, seconds: int, script: str) -> None:
    pid = lab.start(f"noisewatch record --duration {seconds} machine.nw")
    lab.do(f"until [ -e machine.nw ]; do sleep 0.2; done; {script}; while [ -d /proc/{pid} ]; do sleep 0.5; done")


_SCENES: dict[str, tuple[Variant, Callable[[Lab], None]]] = {
    "lab-disturbed": (ISOLATED, _record_disturbed),
    "lab-hotplug": (ISOLATED, _record_hotplug),
    "lab-partition": (PLAIN, _record_partition),
    "lab-throttled": (PLAIN, _record_throttled),
    "lab-one-cpu": (ONE_CPU, _record_alone),
}


def main() -> None:
    """Record all scenes, or the named ones, each on a freshly booted machine."""
    for name in sys.argv[1:] or _SCENES:
        variant, scene = _SCENES[name]
        image = kernel_image(variant)
        assert image is not None, "no kernel: tests/lab/set_up"
        with Lab(variant, image) as lab:
            scene(lab)
            shutil.copyfile(lab.scratch / "machine.nw", _FOLDER / f"{name}.nw")
        print(name)


if __name__ == "__main__":
    main()
