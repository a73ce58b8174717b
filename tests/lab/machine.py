"""Variants of the lab's machine: CPUs, kernel options and devices."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tests import CHECKOUT
from tests.lab.frequency_table import write_frequency_table

_KERNELS = CHECKOUT / ".lab"
_BIN = Path(sys.prefix) / "bin"
_GUEST_SCRIPT = Path(__file__).with_name("guest.sh")
_ARM_GUEST_SCRIPT = Path(__file__).with_name("arm") / "guest.sh"


@dataclass(frozen=True, slots=True)
class Variant:
    """A virtual machine. Eight CPUs are two sockets of two cores of two threads, with a NUMA node per socket."""

    name: str
    kernel_options: tuple[str, ...] = ()
    cpus: int = 8
    kernel: str = "stock"  # its folder below .lab
    memory_gb: int = 2  # with eight CPUs: one gigabyte in the first node, the rest in the second
    set_up_option: str = ""  # the option of set_up that installs what the variant needs
    emulator: str = "qemu-system-x86_64"


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
REALTIME = Variant("realtime", kernel="realtime", set_up_option="--realtime")  # its kernel has the osnoise tracer
REBUILT = Variant("rebuilt", (*ISOLATED.kernel_options, "audit=0"), memory_gb=3)  # `isolated` after changes
ARM = Variant(  # its CPUs count instructions and cycles
    "arm", cpus=1, kernel="arm", memory_gb=1, set_up_option="--arm", emulator="qemu-system-aarch64"
)
VARIANTS = {variant.name: variant for variant in (ISOLATED, PLAIN, ONE_CPU, NOHZ_FULL, REALTIME, REBUILT)}


def _eight_cpus(memory_gb: int) -> tuple[str, ...]:
    return (
        *("-smp", "8,sockets=2,cores=2,threads=2"),
        *("-object", "memory-backend-ram,id=m0,size=1G"),
        *("-object", f"memory-backend-ram,id=m1,size={memory_gb - 1}G"),
        *("-numa", "node,cpus=0-3,memdev=m0", "-numa", "node,cpus=4-7,memdev=m1"),
    )


_HOST_FILES = ("-virtfs", "local,path=/,mount_tag=files,security_model=none,multidevs=remap")
_DEVICES = (
    # acpi-cpufreq rejects QEMU's default CPU; erms and fsrm emulate the clearing of memory byte by byte.
    *("-cpu", "max,vendor=GenuineIntel,family=6,model=85,erms=off,fsrm=off"),
    *("-global", "virtio-serial-pci.max_ports=2"),  # otherwise QEMU polls 400 files instead of 60
    *("-device", "pc-testdev"),  # the port of the frequency table
    *_HOST_FILES,
    *("-blockdev", "driver=null-co,node-name=void,size=1073741824", "-device", "ide-hd,drive=void,bus=ide.0"),  # sda
)


def kernel_image(variant: Variant) -> Path | None:
    """Return the kernel image that set_up unpacked for the variant, or None."""
    return next(iter(sorted((_KERNELS / variant.kernel / "boot").glob("vmlinuz-*"))), None)


def lab_command(variant: Variant, image: Path, scratch: Path) -> list[str]:
    """Return the command that boots a machine with this host's files, and runs the scripts in the scratch folder."""
    if variant is ARM:
        return _arm_command(image, scratch)
    return boot_command(variant, image, scratch, "--script-sh", f"sh {_GUEST_SCRIPT} {scratch}")


def boot_command(variant: Variant, image: Path, scratch: Path, *options: str) -> list[str]:
    """Return the command that boots an x86 machine with this host's files, by default into a shell."""
    table = write_frequency_table(scratch, variant.cpus)
    return [
        *(str(_BIN / "virtme-run"), "--kimg", str(image), "--mods=auto", "--rw", "--pwd", "--force-9p"),
        *("--disable-kvm", "--disable-microvm", "--cpus", str(variant.cpus), "--memory", f"{variant.memory_gb}G"),
        *(word for option in (*_ANY_MACHINE, *variant.kernel_options) for word in ("-a", option)),
        *options,
        "--qemu-opts",
        *(_eight_cpus(variant.memory_gb) if variant.cpus == 8 else ()),
        *_DEVICES,
        *("-acpitable", f"file={table}"),
    ]


def _arm_command(image: Path, scratch: Path) -> list[str]:
    """Return the command that boots the aarch64 machine.

    QEMU counts instructions only with icount, and would add those of a second CPU. With a shift of 1, an instruction
    takes two nanoseconds, and therefore two cycles.
    """
    script = f"sh /host{_ARM_GUEST_SCRIPT} {scratch} {CHECKOUT}"
    return [
        *(ARM.emulator, "-M", "virt", "-cpu", "max,pmu=on,pauth-impdef=on", "-icount", "shift=1"),
        *("-smp", str(ARM.cpus), "-m", f"{ARM.memory_gb}G", "-nodefaults", "-display", "none", "-no-reboot"),
        *("-kernel", str(image), "-initrd", str(_KERNELS / ARM.kernel / "initramfs")),
        *("-append", f'panic=-1 lab_script="{script}"'),
        *("-serial", "file:/dev/stderr"),
        *("-chardev", "stdio,id=script,signal=off", "-device", "virtio-serial-pci"),
        *("-device", "virtserialport,chardev=script"),
        *_HOST_FILES,
    ]
