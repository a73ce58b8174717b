"""A description of this machine to edit (`show --format machine`), for `preflight --machine`.

It requires the facts that benchmark results depend on and that machines of a pool share. Other facts are comments, to
be uncommented if required.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping

from noisewatch.judgement.case import Case
from noisewatch.judgement.checks.system.machine_wanted import unread_fact_reason
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.release import release_number
from noisewatch.model.history.fact_table import facts_of
from noisewatch.model.history.facts import FactClass, knob_name
from noisewatch.model.wanted import AT_LEAST, KEPT_BACK, WantedFact, describe_fact
from noisewatch.patterns import regex
from noisewatch.text import printable
from noisewatch.units import parse_frequency

_HEAD = """\
# Requirements for the machine of these benchmarks: on a machine that does not meet them, the verdict of
# `noisewatch preflight --machine THIS-FILE` is unstable.
# Written by `noisewatch show --format machine`. Edit it: facts that you delete, or set to "any", are not checked.
#
#   "CPU model" = "AMD EPYC 7451 24-Core Processor"      exactly this; * stands for any text
#   "CPU model" = ["AMD EPYC 7451 *", "AMD EPYC 7551 *"]     any of these
#   memory = { at_least = "64 GiB" }                     at least this: sizes, clocks, counts, versions
"""
_WHY: Mapping[FactClass, str] = {
    FactClass.IDENTITY: "Results depend mostly on the processor. On a cloud machine, the board is the instance type.",
    FactClass.HARDWARE: "Runners of one pool often have different hardware, even under the same name.",
    FactClass.KERNEL: "Newer kernels are accepted; older ones are not, because they schedule and mitigate differently.",
    FactClass.SETTINGS: "Settings that change results by a few per cent. Preflight checks many more without this file.",
    FactClass.SURROUNDINGS: "A hypervisor takes CPU time, and hides other load on its host.",
}
_WHY_NOT: Mapping[FactClass, str] = {
    FactClass.FIRMWARE: (
        "Not checked, because the machine would no longer match after an update. `noisewatch history` shows updates."
    ),
    FactClass.KERNEL: "Not checked, because an update may change them.",
    FactClass.SETTINGS: "Not checked. Some of these result from tuning, or depend on the target CPUs.",
}
_REMOVE = "Remove the # to check a fact:"
_REMARKS = {"memory": f"{KEPT_BACK:.0%} less is accepted, because firmware and kernel keep some of it"}
_BARE = regex(r"[A-Za-z0-9_-]+")
_KNOBS = {knob_name(knob) for knob in Knob}


def description_of(snapshot: Snapshot) -> str:
    """Return TOML with a table for each class of facts."""
    case = Case(snapshot)
    tables = ("\n".join(_table(of_class, facts, case)) for of_class, facts in facts_of(snapshot).items())
    return "\n\n".join([_HEAD.rstrip(), *tables]) + "\n"


def _table(of_class: FactClass, facts: Mapping[str, str | None], case: Case) -> Iterator[str]:
    """Yield the required facts, the optional ones as comments, and the unknown ones with the reason."""
    asked = {name: _ASKED[name](name, value) for name, value in facts.items() if name in _ASKED and value is not None}
    lines = {name: line for name, line in asked.items() if line is not None}
    others = {name: value for name, value in facts.items() if name not in lines and value is not None}
    yield f"[{of_class}]"
    if lines:
        yield f"# {_WHY[of_class]}"
        yield from lines.values()
    others = {name: value for name, value in others.items() if value != NONE or name not in _KNOBS}
    if others:
        yield f"# {_WHY_NOT.get(of_class, 'Not checked.')} {_REMOVE}"
        yield from (f"# {_exact_line(name, value)}" for name, value in others.items())
    unknown = [name for name, value in facts.items() if value is None and name not in _KNOBS]
    yield from (printable(f"# unknown here: {name} ({unread_fact_reason(case, of_class, name)})") for name in unknown)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml_string(name)


def _toml_string(text: str) -> str:
    """Return a basic string of TOML, which allows all escapes of JSON: https://toml.io/en/v1.0.0#string"""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in quoted)


def _exact_line(name: str, value: str) -> str:
    """Return a line that requires this value; decimal numbers are not quoted."""
    is_number = value.isascii() and value.isdecimal() and str(int(value)) == value
    return f"{_key(name)} = {value if is_number else _toml_string(value)}"


def _line_unless_none(name: str, value: str) -> str | None:
    """Return a line that requires the value, or None if the value is "none".

    "none" may only mean that this machine does not report the fact: memory modules need a driver.
    """
    return None if value == NONE else _exact_line(name, value)


def _at_least_line(name: str, value: str) -> str:
    remark = f"  # {_REMARKS[name]}" if name in _REMARKS else ""
    return f"{_key(name)} = {{ {AT_LEAST} = {_toml_string(describe_fact(name, value))} }}{remark}"


def _series_line(name: str, value: str) -> str | None:
    """Return a line that requires this kernel series or a later one, or None for an unknown release.

    For a release candidate of the series' first release, the line requires that candidate or a later release.
    """
    number = release_number(value)
    if number is None:
        return None
    series = f"{number[0]}.{number[1]}"
    is_of_series = WantedFact(FactClass.KERNEL, name, at_least=series).is_met_by(value)
    return _at_least_line(name, series if is_of_series else value)


def _clock_line(name: str, value: str) -> str | None:
    """Return a line that requires this clock or a faster one; None if CPUs differ.

    The clock is rounded down, because machines of one kind differ by some kHz.
    """
    khz = parse_frequency(value)
    return None if khz is None or khz < 1e4 else _at_least_line(name, f"{math.floor(khz / 1e4) / 100:g} GHz")


_ASKED: Mapping[str, Callable[[str, str], str | None]] = {
    **dict.fromkeys(("CPU model", "board", "stepping", "CPUs present", "packages", "nodes"), _exact_line),
    **dict.fromkeys(("caches", "memory modules"), _line_unless_none),
    "memory": _at_least_line,
    "kernel": _series_line,
    "highest clock": _clock_line,
    **dict.fromkeys(("SMT", "turbo", "governor", "frequency driver", "clock source", "virtual machine"), _exact_line),
}
