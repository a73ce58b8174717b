"""The kernel's mitigations of the processor's vulnerabilities, and the boot options about them.

    /sys/devices/system/cpu/vulnerabilities/meltdown     Mitigation: PTI      (or `Vulnerable`, `Not affected`)
    /proc/cmdline                                        mitigations=off

https://docs.kernel.org/admin-guide/hw-vuln/index.html
"""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.machine.recording.privacy import MITIGATION_OPTIONS
from noisewatch.records import dataclass
from noisewatch.text import clean

FOLDER = "/sys/devices/system/cpu/vulnerabilities"
_STATES = ("Not affected", "Vulnerable", "Mitigation", "Unknown", "Processor vulnerable", "KVM: ")


@dataclass(frozen=True, slots=True)
class Vulnerabilities:
    """The content of each file. None is unknown; without the folder (before Linux 4.15) there is none."""

    state_by_name: Mapping[str, str] | None = None
    chosen: tuple[str, ...] | None = None  # the boot options that change what the kernel would do by itself
    unread: str | None = None  # the first file that says nothing


def read_vulnerabilities(reader: Reader, options: Mapping[str, tuple[str, ...]] | None) -> Vulnerabilities:
    """Return the mitigations, which change with a reboot, or with new microcode."""
    states = _read_states(reader)
    silent = [f"{FOLDER}/{name}" for name, state in (states or {}).items() if state is None]
    return Vulnerabilities(
        None if states is None else {name: state for name, state in states.items() if state is not None},
        None if options is None else choices_among(options),
        silent[0] if silent else None,
    )


def parse_state(text: str) -> str:
    """Return the state in one file. Raise Malformed."""
    stripped = text.strip()
    if not stripped.startswith(_STATES):
        raise Malformed("a state such as Not affected", stripped)
    return clean(stripped)


def choices_among(options: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the options about mitigations, as written; `auto`, the default, is left out."""
    given = {name: values[-1] for name, values in options.items() if name in MITIGATION_OPTIONS and values}
    return tuple(clean(f"{name}={value}" if value else name) for name, value in given.items() if value != "auto")


def _read_states(reader: Reader) -> Mapping[str, str | None] | None:
    """Return the states by name; a kernel with the folder has files in it."""
    try:
        names = reader.names(FOLDER, expected=False)
    except Absent:
        return {}
    except Unreadable:
        return None
    if not names:
        reader.note(FOLDER, "nothing in it")
        return None
    return {clean(name): reader.parsed(f"{FOLDER}/{name}", parse_state) for name in names}
