"""Values of several CPUs, packages or zones, grouped into one fact; None if any value is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from noisewatch.cpus import format_cpu_list


def grouped(values: Iterable[tuple[int, str | None]], what: str = "CPU") -> str | None:
    """Return the value of all numbers, or the values with theirs: `performance (CPU 0-3), powersave (CPU 4-7)`.

    None if any value is unknown, or if there is none.
    """
    numbers_by_value: dict[str, set[int]] = {}
    for number, value in values:
        if value is None:
            return None
        numbers_by_value.setdefault(value, set()).add(number)
    if len(numbers_by_value) <= 1:
        return next(iter(numbers_by_value), None)
    groups = sorted(numbers_by_value.items(), key=lambda group: min(group[1]))
    return ", ".join(f"{value} ({what} {format_cpu_list(numbers)})" for value, numbers in groups)


def grouped_by_name(value_by_name: Mapping[str, str | None]) -> str | None:
    """Return the value of all names, or each name's: `125 W (intel-rapl:0), 100 W (intel-rapl:1)`.

    None if any value is unknown, or if there is none.
    """
    known = [value for value in value_by_name.values() if value is not None]
    if len(known) < len(value_by_name):
        return None
    if len(set(known)) == 1:
        return known[0]
    return ", ".join(f"{value} ({name})" for name, value in sorted(value_by_name.items())) or None
