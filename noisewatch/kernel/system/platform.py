"""The kind of machine, which is constant until a reboot: kernel, processor, mitigations, hypervisor, container.

/proc/cpuinfo               model name
/sys/class/dmi/id/*         sys_vendor Dell Inc., product_name PowerEdge R640
/proc/cmdline, /proc/config.gz, /sys/devices/system/cpu/vulnerabilities/*
/.dockerenv, /run/.containerenv, /run/systemd/container, /proc/self/cgroup

The kernel's mitigations for processor vulnerabilities, and the boot options that control them:

    /sys/devices/system/cpu/vulnerabilities/meltdown     Mitigation: PTI      (or `Vulnerable`, `Not affected`)
    /proc/cmdline                                        mitigations=off

https://docs.kernel.org/admin-guide/hw-vuln/index.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.cgroup.mounts import MEMBERSHIP, is_inside_namespace, parse_membership
from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.cpus.cpuinfo import designs_of, flags_of, is_another_architecture, model_of
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.build_options import KernelConfig, read_kernel_config
from noisewatch.kernel.system.hypervisor import DMI, NAMED_GUESTS, NONE, UNIDENTIFIED, read_firmware, read_hypervisor
from noisewatch.kernel.system.mounts import cover_of
from noisewatch.kernel.system.release import read_build, read_command_line, read_release, relevant_options
from noisewatch.machine.recording.privacy import HOST_NAME, MITIGATION_OPTIONS
from noisewatch.patterns import regex
from noisewatch.text import clean

FOLDER = "/sys/devices/system/cpu/vulnerabilities"
_STATES = ("Not affected", "Vulnerable", "Mitigation", "Unknown", "Processor vulnerable", "KVM: ")


class Vulnerabilities(Struct, frozen=True):
    """The state of each processor vulnerability, empty before Linux 4.15. None means unknown."""

    state_by_name: Mapping[str, str] | None = None
    chosen: tuple[str, ...] | None = None  # boot options that change the kernel's default mitigations
    unread: str | None = None  # the first unreadable file


def read_vulnerabilities(reader: Reader, options: Mapping[str, tuple[str, ...]] | None) -> Vulnerabilities:
    """Return the mitigations. They only change with a reboot or new microcode."""
    states = _read_states(reader)
    silent = [f"{FOLDER}/{name}" for name, state in (states or {}).items() if state is None]
    return Vulnerabilities(
        None if states is None else {name: state for name, state in states.items() if state is not None},
        None if options is None else mitigation_options(options),
        silent[0] if silent else None,
    )


def parse_state(text: str) -> str:
    """Return a vulnerability's state. Raise Malformed."""
    stripped = text.strip()
    if not stripped.startswith(_STATES):
        raise Malformed("a state such as Not affected", stripped)
    return clean(stripped)


def mitigation_options(options: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the boot options about mitigations as text, `mitigations=off`, without `auto`, the default."""
    given = {name: values[-1] for name, values in options.items() if name in MITIGATION_OPTIONS and values}
    return tuple(clean(f"{name}={value}" if value else name) for name, value in given.items() if value != "auto")


def _read_states(reader: Reader) -> Mapping[str, str | None] | None:
    """Return the states by vulnerability; empty without the folder, None if it is unreadable or empty."""
    try:
        names = reader.names(FOLDER, expected=False)
    except Absent:
        return {}
    except Unreadable:
        return None
    if not names:
        reader.note(FOLDER, "nothing in it")
        return None
    return {clean(name): reader.parse(f"{FOLDER}/{name}", parse_state) for name in names}


__all__ = ["DMI", "NONE", "UNIDENTIFIED", "Platform", "read_platform"]

_CONTAINER_IN_CGROUP = regex(r"/(?P<kind>docker[-/]|libpod[-/]|lxc[./]|kubepods|machine\.slice/machine-)")
_MARKS = (("/run/.containerenv", "podman"), ("/.dockerenv", "docker"))
_NAMED = "/run/systemd/container"
_KIND_IN_CGROUP = {"kubepods": "kubernetes", "libpod": "podman"}
_TSC_FLAGS = frozenset({"tsc", "constant_tsc", "nonstop_tsc", "tsc_known_freq", "tsc_reliable"})


class Platform(Struct, frozen=True):
    """The kind of machine. None means unknown; `none` means known to be absent."""

    host: str | None
    kernel: str | None
    cpu_model: str | None
    virtual: str | None
    container: str | None
    config: KernelConfig | None = None
    options: Mapping[str, tuple[str, ...]] | None = None  # boot options that matter to noise
    vulnerabilities: Vulnerabilities = field(default_factory=Vulnerabilities)
    tsc_flags: frozenset[str] | str | None = None  # the time stamp counter's flags; `none` unless x86
    vendor: str | None = None
    product: str | None = None
    virtual_because: str | None = None  # the evidence for `virtual`, or why it is unknown
    kernel_build: str | None = None  # #1 SMP PREEMPT_DYNAMIC …
    design_by_cpu: Mapping[int, str] = {}  # ARM parts, or models, in /proc/cpuinfo

    @property
    def tick_hz(self) -> int | None:
        """The scheduler ticks per second on a CPU that is not tickless; None means unknown."""
        return self.config.tick_hz if self.config is not None else None


def read_platform(reader: Reader) -> Platform:
    """Read the platform. Call it once: /proc/cpuinfo interrupts all CPUs on x86 before Linux 5.19."""
    kernel = read_release(reader)
    cpuinfo = reader.text_or_none(CPUINFO)
    firmware = read_firmware(reader)
    hypervisor = read_hypervisor(reader, cpuinfo, firmware)
    options = relevant_options(read_command_line(reader))
    build = read_build(reader)
    host = reader.text_or_none(HOST_NAME, expected=False)
    return Platform(
        host=clean(host.strip()) if host is not None else None,
        kernel=clean(kernel) if kernel is not None else None,
        kernel_build=clean(build) if build is not None else None,
        cpu_model=model_of(cpuinfo),
        virtual=hypervisor.name,
        container=_read_container(reader),
        config=read_kernel_config(reader, kernel),
        options=options,
        vulnerabilities=read_vulnerabilities(reader, options),
        tsc_flags=_tsc_flags(cpuinfo),
        vendor=firmware.vendor,
        product=firmware.product,
        virtual_because=hypervisor.because,
        design_by_cpu={} if cover_of(reader, CPUINFO) is not None else designs_of(cpuinfo),  # lxcfs renumbers the CPUs
    )


def _tsc_flags(cpuinfo: str | None) -> frozenset[str] | str | None:
    """Return the time stamp counter's flags that all processors have; `none` unless x86, None if unknown."""
    flags = flags_of(cpuinfo)
    if not flags:
        return NONE if is_another_architecture(cpuinfo) else None
    readable = [processor_flags for processor_flags in flags if processor_flags is not None]
    return frozenset.intersection(*readable) & _TSC_FLAGS if len(readable) == len(flags) else None


def _read_container(reader: Reader) -> str | None:
    """Return the container's manager; `none` if all signs are known to be absent, None if unknown."""
    for path, kind in _MARKS:
        if reader.text_or_none(path, expected=False) is not None:
            return kind
    named = reader.text_or_none(_NAMED, expected=False)
    if named is not None and named.strip():
        return clean(named.strip())
    membership = reader.text_or_none(MEMBERSHIP, expected=False)
    match = _CONTAINER_IN_CGROUP.search(membership or "")
    if match is not None:
        kind = re.split(r"[-/.]", match["kind"])[0]
        return _KIND_IN_CGROUP.get(kind, kind)
    if not all(map(reader.is_absent, (path for path, _ in _MARKS))):
        return None
    if named is None and not reader.is_absent(_NAMED):
        return None
    if reader.parse(MEMBERSHIP, parse_membership, expected=False) is None and not reader.is_absent(MEMBERSHIP):
        return None
    is_inside = is_inside_namespace(reader)
    return None if is_inside is None else UNIDENTIFIED if is_inside else NONE


def describe_machine(platform: Platform) -> list[str]:
    """Describe the kind of machine: kernel, processor, hypervisor, container."""
    words = [
        f"Linux {platform.kernel}" if platform.kernel else None,
        platform.cpu_model,
        _describe_virtual(platform.virtual),
        f"container ({platform.container})" if platform.container not in (None, "none") else None,
    ]
    return [word for word in words if word]


def _describe_virtual(virtual: str | None) -> str:
    if virtual is None:
        return "bare metal or virtual: unknown"
    return "bare metal" if virtual == NONE else NAMED_GUESTS.get(virtual, f"virtual machine ({virtual})")
