"""A frame as a line of JSON: records as arrays of their fields, without values that the line before contains."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from itertools import zip_longest
from operator import attrgetter
from typing import Any

from noisewatch.judgement.terms import Counts
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import (
    SPARSE,
    CauseLine,
    ClockCpu,
    ClockFigures,
    ClockGroup,
    ClockLimits,
    ClockPackage,
    Conditions,
    CoolingLine,
    CpuLine,
    CulpritLine,
    FindingLine,
    Frame,
    IrqLine,
    IrqSetting,
    PlaceLine,
    RepetitionLine,
    RunLine,
    Temperature,
    Throttled,
)

Standing = Mapping[str, object]  # fields of a frame that seldom change, by name
_STANDING = (
    *("machine", "target", "target_chosen_by", "housekeeping", "online_count", "turbo", "origin", "remark"),
    *("causes", "gravities", "answers", "has_idle_probe", "no_idle_probe_reason", "no_irqs_reason", "irq_balancer"),
)
NOTHING_TOLD: Standing = {}


def standing_of(frame: Frame) -> Standing:
    """Return the fields that the next line does not have to repeat."""
    return {name: getattr(frame, name) for name in _STANDING}


def encode_frame(frame: Frame, told: Standing = NOTHING_TOLD) -> bytes:
    """Encode the frame as one line, without the fields that are as in `told`."""
    fields = {name: getattr(frame, name) for name in Frame.__slots__}
    for name, value in told.items():
        if fields[name] == value:
            del fields[name]
    return _JSON.encode(fields).encode() + b"\n"


def _values(of: Any) -> object:
    """Return the fields as a tuple; faster than dataclasses.astuple, whose copies would dominate the cost."""
    return _values_of(type(of))(of)  # type: ignore[arg-type]  # which can be hashed


@cache
def _values_of(kind: Any) -> Callable[[object], object]:
    return _named_values if kind in SPARSE else attrgetter(*kind.__slots__)


_JSON = json.JSONEncoder(separators=(",", ":"), default=_values)


def _named_values(of: Any) -> dict[str, object]:
    fields = {name: getattr(of, name) for name in of.__slots__}
    return {name: value for name, value in fields.items() if value is not None} if isinstance(of, SPARSE) else fields


def described_frame(frame: Frame) -> dict[str, Any]:
    """Return all fields by name, as in documents."""
    described: dict[str, Any] = json.loads(json.dumps(frame, default=_named_values))
    return described


def decode_frame(line: bytes, told: Standing = NOTHING_TOLD) -> Frame:
    """Decode a line that encode_frame made with the same `told`. Raise ValueError for any other line."""
    fields = json.loads(line)
    try:
        for name in fields.keys() & _DECODED_BY_NAME.keys():
            fields[name] = _DECODED_BY_NAME[name](fields[name])
        return Frame(**{**told, **fields})
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"no frame: {error}") from error


def _named(kind: type[Any], values: Any) -> dict[str, Any]:
    return dict(zip(kind.__slots__, values, strict=True))


_ROLES: Mapping[str, Role] = {str(each): each for each in Role}
_KINDS: Mapping[str, Kind] = {str(each): each for each in Kind}
_ROLE, _TAKEN = (CpuLine.__slots__.index(name) for name in ("role", "taken_ns_per_s"))
_ROLE_OF_CULPRIT, _KIND = (CulpritLine.__slots__.index(name) for name in ("role", "kind"))


def _cpu(values: list[Any]) -> CpuLine:
    """Decode a CpuLine by position, because a frame may have thousands of them."""
    _expect(CpuLine, values)
    taken = values[_TAKEN]
    values[_ROLE], values[_TAKEN] = _ROLES[values[_ROLE]], None if taken is None else tuple(taken)
    return CpuLine(*values)


def _culprit(values: list[Any]) -> CulpritLine:
    _expect(CulpritLine, values)
    values[_ROLE_OF_CULPRIT], values[_KIND] = _ROLES[values[_ROLE_OF_CULPRIT]], _KINDS[values[_KIND]]
    return CulpritLine(*values)


def _expect(kind: type[Any], values: list[Any]) -> None:
    if len(values) != len(kind.__slots__):
        raise ValueError(f"{len(values)} fields of a {kind.__name__}")


def _cause(values: Any) -> CauseLine:
    fields = _named(CauseLine, values)
    fields["steps"] = tuple((purpose, line) for purpose, line in fields["steps"])
    fields["settles"] = tuple(fields["settles"])
    fields["names"] = tuple((pid, name) for pid, name in fields["names"])
    return CauseLine(**fields)


def _conditions(values: Any) -> Conditions:
    fields = _named(Conditions, values)
    for name, kind in _CONDITIONS.items():
        fields[name] = None if fields[name] is None else tuple(kind(*each) for each in fields[name])
    return Conditions(**fields)


_CONDITIONS = {"clock_limits": ClockLimits, "throttled": Throttled, "cooling": CoolingLine, "temperatures": Temperature}


def _place(values: Any) -> PlaceLine:
    fields = _named(PlaceLine, values)
    siblings = fields["siblings"]
    fields["siblings"] = None if siblings is None else tuple(siblings)
    return PlaceLine(**fields)


def _irq(values: Any) -> IrqLine:
    label, cpus, rates = values
    return IrqLine(label, tuple(cpus), tuple(rates))


def _irq_setting(values: Any) -> IrqSetting:
    fields = _named(IrqSetting, values)
    fields["kind"] = Kind(fields["kind"])
    return IrqSetting(**fields)


def _clock(values: Any) -> ClockFigures:
    fields = _named(ClockFigures, values)
    fields["groups"] = tuple(ClockGroup(*each) for each in fields["groups"])
    fields["cpus"] = tuple(_clock_cpu(each) for each in fields["cpus"])
    fields["packages"] = tuple(ClockPackage(**each) for each in fields["packages"])
    fields["sensors"] = tuple(Temperature(*each) for each in fields["sensors"])
    fields["idle_names"], fields["reasons"] = tuple(fields["idle_names"]), dict(fields["reasons"])
    return ClockFigures(**fields)


def _clock_cpu(found: Mapping[str, Any]) -> ClockCpu:
    shares = found.get("idle_shares")
    return ClockCpu(**{**found, "idle_shares": None if shares is None else tuple(shares)})


def _run(values: Any) -> RunLine:
    fields = _named(RunLine, values)
    for name in ("programs", "cpus", "counts"):
        fields[name] = tuple(fields[name])
    fields["share_by_cpu"] = tuple((cpu, share) for cpu, share in fields["share_by_cpu"])
    fields["repetitions"] = tuple(RepetitionLine(*each) for each in fields["repetitions"])
    return RunLine(**fields)


def _each(decoded: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda found: tuple(map(decoded, found))


def _each_again(decoded: Callable[[Any], object]) -> Callable[[Any], object]:
    """Return a decoder like `_each` that reuses records which are unchanged since the line before."""
    made: list[tuple[Any, object]] = []

    def each(found: list[Any]) -> object:
        nonlocal made
        made = [
            known if known is not None and known[0] == values else (values, decoded(values))
            for values, known in zip_longest(found, made[: len(found)])
        ]
        return tuple([one for _, one in made])

    return each


def _unless_none(decoded: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda found: None if found is None else decoded(found)


_DECODED_BY_NAME: Mapping[str, Callable[[Any], Any]] = {
    "target": tuple,
    "housekeeping": tuple,
    "cpus": _each(_cpu),
    "culprits": _each(_culprit),
    "findings": _each_again(lambda values: FindingLine(*values)),
    "causes": _each_again(_cause),
    "counts": _unless_none(lambda values: Counts(*values)),
    "conditions": _conditions,
    "places": _unless_none(_each(_place)),
    "irqs": _unless_none(_each(_irq)),
    "irq_settings": _unless_none(_each(_irq_setting)),
    "clock": _unless_none(_clock),
    "runs": _each(_run),
}
