"""What is to be added to the kernel's command line, for several reasons at once."""

from __future__ import annotations

from collections.abc import Iterable


def merged_arguments(wanted: Iterable[str | None]) -> str:
    """All arguments in one line; one that several ask for stands there once, with the parts of all its values."""
    parts_by_name: dict[str, dict[str, None]] = {}
    for argument in (word for line in wanted if line for word in line.split()):
        name, sign, value = argument.partition("=")
        parts = parts_by_name.setdefault(name, {})
        parts.update(dict.fromkeys(value.split(",") if sign else []))
    return " ".join(_argument(name, list(parts)) for name, parts in parts_by_name.items())


def _argument(name: str, parts: list[str]) -> str:
    """Flags stand before the list of CPUs."""
    flags = [part for part in parts if not part[:1].isdigit()]
    lists = [part for part in parts if part[:1].isdigit()]
    return "=".join([name, ",".join(flags + lists)] if parts else [name])
