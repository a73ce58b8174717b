"""The processors as described by /proc/cpuinfo, whose format depends on the architecture.

    processor       : 0
    model name      : AMD EPYC 7451 24-Core Processor       (x86; `cpu` on POWER, `cpu model` on MIPS)
    flags           : fpu tsc constant_tsc hypervisor       (x86; one line for each processor)

    processor       : 1                                     (ARM)
    CPU implementer : 0x41
    CPU part        : 0xd05

https://docs.kernel.org/arch/x86/cpuinfo.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from noisewatch.patterns import regex
from noisewatch.text import clean

Flags = Sequence[frozenset[str] | None]  # one set for each x86 processor; None means unknown

PATH = "/proc/cpuinfo"
_MODEL_KEYS = ("model name", "cpu model", "cpu", "Processor")  # in this order: x86 and recent ARM, MIPS, POWER, old ARM
_MODEL_NUMBERS = ("vendor_id", "cpu family", "model", "cpu", "revision", "uarch", "CPU Family", "Model Name")
_ANOTHER_ARCHITECTURE = regex(r"^(?:CPU implementer|Features|features|isa|cpu)\s*:", re.MULTILINE)
_BLOCK_END = regex(r"\n\s*\n")
_PROCESSOR = regex(r"\s*processor\s*:\s*([0-9]{1,5})\b")
_FLAGS = regex(r"^flags\s*:\s*(\S.*)$", re.MULTILINE)
_PART = regex(r"^CPU part\s*:\s*(0x[0-9a-fA-F]{1,3})\s*$", re.MULTILINE)
_IMPLEMENTER = regex(r"^CPU implementer\s*:\s*(0x[0-9a-fA-F]{1,2})\s*$", re.MULTILINE)


def value_of(cpuinfo: str | None, key: str) -> str | None:
    """Return the cleaned value of the first line with this key, or None if there is none."""
    match = re.search(rf"^{key}[ \t]*:[ \t]*(\S.*)$", cpuinfo or "", re.MULTILINE)
    return clean(match[1].strip()) if match is not None else None


def values_by_cpu(cpuinfo: str | None, keys: Sequence[str], is_named: bool) -> Mapping[int, str | None]:
    """Return each processor's values as text, `model 85, stepping 7`, or `85, 7` unless `is_named`.

    Keys that no processor has are left out. The text is None if this processor lacks a key that another one has. Values
    listed once for all processors (old ARM) count as the first processor's.
    """
    blocks = _blocks(cpuinfo)
    used = [key for key in keys if value_of(cpuinfo, key) is not None]
    keys_in_blocks = [key for key in used if any(value_of(block, key) is not None for block in blocks)]
    texts = blocks if keys_in_blocks == used else [cpuinfo or ""]
    return {_number(text): _values(text, used, is_named) for text in texts} if used else {}


def model_of(cpuinfo: str | None) -> str | None:
    """Return the first processor's model name, or None if it is not listed."""
    return next((model for key in _MODEL_KEYS if (model := value_of(cpuinfo, key)) is not None), None)


def is_another_architecture(cpuinfo: str | None) -> bool:
    """Return whether the machine is known not to be x86."""
    return _ANOTHER_ARCHITECTURE.search(cpuinfo or "") is not None


def flags_of(cpuinfo: str | None) -> Flags:
    """Return the flags of each x86 processor, None if they are missing or truncated; empty on other architectures."""
    blocks = _blocks(cpuinfo)
    lines = [_FLAGS.search(block) for block in blocks]
    if not any(lines):
        return []
    is_whole = (cpuinfo or "").endswith("\n")
    flags_by_line = {line[1]: frozenset(line[1].split()) for line in lines if line is not None}  # usually a single line
    last = len(blocks) - 1
    return [
        flags_by_line[line[1]] if line is not None and (is_whole or number < last) else None
        for number, line in enumerate(lines)
    ]


def designs_of(cpuinfo: str | None) -> Mapping[int, str]:
    """Return each CPU's design: implementer and part on ARM (`0x41/0xd05`), the model elsewhere."""
    if "CPU part" not in (cpuinfo or ""):
        models = values_by_cpu(cpuinfo, _MODEL_NUMBERS, is_named=False)
        return {cpu: model for cpu, model in models.items() if model is not None}
    design_by_cpu: dict[int, str] = {}
    for block in _blocks(cpuinfo):
        processor, implementer, part = _PROCESSOR.match(block), _IMPLEMENTER.search(block), _PART.search(block)
        if processor is not None and implementer is not None and part is not None:
            design_by_cpu[int(processor[1])] = design(int(implementer[1], 16), int(part[1], 16))
    return design_by_cpu


def names_core(name: str) -> bool:
    """Return whether the design identifies a kind of core. An x86 model does not, as it may have several kinds."""
    return name.startswith("0x")


def design(implementer: int, part: int) -> str:
    """Return the name of an ARM design, with both numbers as in /proc/cpuinfo."""
    return f"0x{implementer:02x}/0x{part:03x}"


def _number(block: str) -> int:
    processor = _PROCESSOR.match(block)
    return int(processor[1]) if processor is not None else 0


def _values(text: str, keys: Sequence[str], is_named: bool) -> str | None:
    values = [(key, value_of(text, key)) for key in keys]
    if any(value is None for _, value in values):
        return None
    return ", ".join(f"{key} {value}" if is_named else str(value) for key, value in values)


def _blocks(cpuinfo: str | None) -> list[str]:
    return [block for block in _BLOCK_END.split(cpuinfo or "") if _PROCESSOR.match(block)]
