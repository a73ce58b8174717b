"""Records the lab's machines for the default tests anew: `python -m tests.lab.record_machines` (five minutes)."""

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


def _disturbed(lab: Lab) -> None:
    """A process on an isolated CPU, and a disk that interrupts another."""
    irq = lab.do("grep ahci /proc/interrupts").split()[0].rstrip(":")
    lab.write(f"/proc/irq/{irq}/smp_affinity_list", 6)
    lab.do(f"cp /bin/sh {lab.scratch}/updatedb")
    lab.start(f'taskset -c 2 {lab.scratch}/updatedb -c "while :; do :; done"')
    lab.start(f'taskset -c 4 sh -c "{_DISK}"')
    lab.do("noisewatch record --duration 15 machine.nw")


def _hotplug(lab: Lab) -> None:
    """CPU 7 goes offline and comes back."""
    _recording_while(lab, 15, f"sleep 4; echo 0 > {_CPU_7}; sleep 4; echo 1 > {_CPU_7}")


def _partition(lab: Lab) -> None:
    """A partition of CPUs 2-3 is made in the middle, and broken by another group towards the end."""
    bench, other = f"{_GROUPS}/bench", f"{_GROUPS}/other"
    lab.do(f"echo +cpuset > {_GROUPS}/cgroup.subtree_control; mkdir {bench} {other}")
    made = f"echo 2-3 > {bench}/cpuset.cpus; echo isolated > {bench}/cpuset.cpus.partition"
    _recording_while(lab, 15, f"sleep 4; {made}; sleep 5; echo 3-4 > {other}/cpuset.cpus")


def _throttled(lab: Lab) -> None:
    """Loops in a group of version 1 that may use one CPU and a half."""
    lab.do("mkdir /run/v1; mount -t cgroup -o cpu cpu /run/v1; mkdir /run/v1/small")
    lab.do("echo 150000 > /run/v1/small/cpu.cfs_quota_us")
    enter = "echo 0 > /run/v1/small/cgroup.procs"
    for _ in range(2):
        lab.start(f'sh -c "{enter}; while :; do :; done"')
    lab.do(f"{enter}; exec noisewatch record --duration 8 machine.nw")


def _alone(lab: Lab) -> None:
    """Record the machine while nothing but noisewatch runs on it."""
    lab.do("noisewatch record --duration 6 machine.nw")


def _recording_while(lab: Lab, seconds: int, script: str) -> None:
    pid = lab.start(f"noisewatch record --duration {seconds} machine.nw")
    lab.do(f"until [ -e machine.nw ]; do sleep 0.2; done; {script}; while [ -d /proc/{pid} ]; do sleep 0.5; done")


_SCENES: dict[str, tuple[Variant, Callable[[Lab], None]]] = {
    "lab-disturbed": (ISOLATED, _disturbed),
    "lab-hotplug": (ISOLATED, _hotplug),
    "lab-partition": (PLAIN, _partition),
    "lab-throttled": (PLAIN, _throttled),
    "lab-one-cpu": (ONE_CPU, _alone),
}


def main() -> None:
    """Each scene, or those that are named, has a machine of its own, so that nothing is left over from another."""
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
