"""Variants of the lab's machine: CPUs, kernel options and devices."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tests import CHECKOUT

_KERNELS = CHECKOUT / ".lab"
_BIN = Path(sys.prefix) / "bin"


@dataclass(frozen=True, slots=True)
class Variant:
    """A virtual machine. Eight CPUs are two sockets of two cores of two threads, with a NUMA node per socket."""

    name: str
    kernel_options: tuple[str, ...] = ()
    cpus: int = 8
    kernel: str = "stock"  # its folder below .lab
    memory_gb: int = 2  # with eight CPUs: one gigabyte in the first node, the rest in the second


_ANY_MACHINE = (
    "tsc=reliable",  # otherwise the kernel switches to the HPET when this host is busy
    "mitigations=off",  # otherwise each system call flushes the emulated TLB, which takes a third of the time
    "sysctl.vm.compaction_proactiveness=0",  # otherwise kcompactd takes a percent of a slow emulated CPU
    # Not needed, and udev takes 15 s to load them.
    "modprobe.blacklist=kvm_amd,kvm_intel,kvm,aesni_intel,ghash_clmulni_intel,crct10dif_pclmul,crc32_pclmul,"
    "intel_rapl_msr,iTCO_wdt,i6300esb,pcspkr,psmouse,lpc_ich,i2c_i801",
)
ISOLATED = Variant(
    "isolated",
    ("isolcpus=managed_irq,domain,2,3,6,7", "nohz_full=2,3,6,7", "rcu_nocbs=2,3,6,7"),
)
PLAIN = Variant("plain")
ONE_CPU = Variant("one-cpu", cpus=1)
NOHZ_FULL = Variant("nohz-full", ("nohz_full=2,3,6,7",))
REALTIME = Variant("realtime", kernel="realtime")  # its kernel has the osnoise tracer
REBUILT = Variant("rebuilt", (*ISOLATED.kernel_options, "audit=0"), memory_gb=3)  # `isolated` after changes
VARIANTS = {variant.name: variant for variant in (ISOLATED, PLAIN, ONE_CPU, NOHZ_FULL, REALTIME, REBUILT)}


def _eight_cpus(memory_gb: int) -> tuple[str, ...]:
    return (
        *("-smp", "8,sockets=2,cores=2,threads=2"),
        *("-object", "memory-backend-ram,id=m0,size=1G"),
        *("-object", f"memory-backend-ram,id=m1,size={memory_gb - 1}G"),
        *("-numa", "node,cpus=0-3,memdev=m0", "-numa", "node,cpus=4-7,memdev=m1"),
    )


_DEVICES = (
    # acpi-cpufreq rejects QEMU's default CPU; erms and fsrm emulate the clearing of memory byte by byte.
    *("-cpu", "max,vendor=GenuineIntel,family=6,model=85,erms=off,fsrm=off"),
    *("-global", "virtio-serial-pci.max_ports=2"),  # otherwise QEMU polls 400 files instead of 60
    *("-device", "pc-testdev"),  # the port of the frequency table
    *("-virtfs", "local,path=/,mount_tag=files,security_model=none,multidevs=remap"),
    *("-blockdev", "driver=null-co,node-name=void,size=1073741824", "-device", "ide-hd,drive=void,bus=ide.0"),  # sda
)


def kernel_image(variant: Variant) -> Path | None:
    """Return the kernel image that set_up unpacked for the variant, or None."""
    return next(iter(sorted((_KERNELS / variant.kernel / "boot").glob("vmlinuz-*"))), None)


def boot_command(variant: Variant, image: Path, frequency_table: Path, script: str | None) -> list[str]:
    """Return the command that boots a machine with this host's files, and runs `script`, or without one a shell."""
    return [
        *(str(_BIN / "virtme-run"), "--kimg", str(image), "--mods=auto", "--rw", "--pwd", "--force-9p"),
        *("--disable-kvm", "--disable-microvm", "--cpus", str(variant.cpus), "--memory", f"{variant.memory_gb}G"),
        *(word for option in (*_ANY_MACHINE, *variant.kernel_options) for word in ("-a", option)),
        *(("--script-sh", script) if script is not None else ()),
        "--qemu-opts",
        *(_eight_cpus(variant.memory_gb) if variant.cpus == 8 else ()),
        *_DEVICES,
        *("-acpitable", f"file={frequency_table}"),
    ]
