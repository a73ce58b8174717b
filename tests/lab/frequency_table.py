"""An ACPI table that gives each CPU of the lab four frequencies, so that Linux's acpi-cpufreq drives them.

`_PCT`, `_PSS`, `_PPC` and `_PSD` of the ACPI specification, 8.4.6 (https://uefi.org/specs/ACPI/6.5/). QEMU's device
pc-testdev makes I/O port 0xE0 readable and writable, so what the driver asks for is what it reads back.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

FREQUENCIES_MHZ = (3400, 2800, 2200, 1600)
_TABLE = """\
DefinitionBlock ("", "SSDT", 2, "NOISEW", "CPUFREQ", 1)
{{
{cpus}
}}
"""
_CPU = """\
External (\\_SB.CPUS.C{cpu:03X}, DeviceObj)
Scope (\\_SB.CPUS.C{cpu:03X})
{{
    Name (_PCT, Package () {{
        ResourceTemplate () {{ Register (SystemIO, 0x10, 0, 0xE0, 1) }},
        ResourceTemplate () {{ Register (SystemIO, 0x10, 0, 0xE0, 1) }}
    }})
    Name (_PSS, Package () {{ {states} }})
    Name (_PPC, 0)
    Name (_PSD, Package () {{ Package () {{ 5, 0, {cpu}, 0xFC, 1 }} }})
}}"""


def write_frequency_table(folder: Path, cpus: int) -> Path:
    """Compile the table for `cpus` CPUs with iasl. Raise CalledProcessError if iasl fails."""
    states = ", ".join(
        f"Package () {{ {mhz}, {mhz * 25}, 10, 10, {mhz // 100}, {mhz // 100} }}" for mhz in FREQUENCIES_MHZ
    )
    source = folder / "frequency.dsl"
    source.write_text(_TABLE.format(cpus="\n".join(_CPU.format(cpu=cpu, states=states) for cpu in range(cpus))))
    subprocess.run(["iasl", "-p", folder / "frequency", source], check=True, capture_output=True)
    return folder / "frequency.aml"
