"""Changes between entries of a machine's history are noticed and named."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import CHECKOUT
from tests.lab.expected import finding
from tests.lab.lab import Lab

_CPU = "/sys/devices/system/cpu"
_TARGET = "6-7"
_MEASURED = "--sample 0 --calibration 3"


def _remember(lab: Lab, path: Path, count: int = 1, latency_ns: float = 1e6) -> None:
    lab.do(f"cd {CHECKOUT} && python -m tests.lab.history.remember {path} {_TARGET} {count} {latency_ns}")


def _machine_changed(lab: Lab, path: Path) -> dict[str, Any]:
    report = lab.preflight(f"--cpus {_TARGET} --sample 0 --no-calibration --history {path}")
    return finding(report, "machine-changed")


@contextmanager
def _set_temporarily(lab: Lab, path: str, value: str) -> Iterator[None]:
    before = lab.read(path)
    lab.write(path, value)
    try:
        yield
    finally:
        lab.write(path, before)


def _governor(lab: Lab) -> tuple[str, str, str]:
    return f"{_CPU}/cpu7/cpufreq/scaling_governor", "powersave", "governor: "


def _fewer_cpus(lab: Lab) -> tuple[str, str, str]:
    return f"{_CPU}/cpu5/online", "0", "CPUs online: 0-7 → 0-4,6-7"


def _slower_clock(lab: Lab) -> tuple[str, str, str]:
    lowest = lab.read(f"{_CPU}/cpu7/cpufreq/cpuinfo_min_freq")
    return f"{_CPU}/cpu7/cpufreq/scaling_max_freq", lowest, f"highest clock: .*{lowest} kHz"


@pytest.mark.parametrize("change", [_governor, _fewer_cpus, _slower_clock])
def test_a_changed_setting_is_named_until_it_is_restored(
    isolated: Lab, tmp_path: Path, change: Callable[[Lab], tuple[str, str, str]]
) -> None:
    path = tmp_path / "history.jsonl"
    file, value, expected = change(isolated)
    _remember(isolated, path)
    assert _machine_changed(isolated, path)["status"] == "pass"
    with _set_temporarily(isolated, file, value):
        changed = _machine_changed(isolated, path)
        assert changed["status"] == "fail"
        assert expected.partition(".*")[0] in changed["said"], changed["said"]
        assert expected.rpartition(".*")[2] in changed["said"], changed["said"]
    assert _machine_changed(isolated, path)["status"] == "pass"


def test_a_machine_that_is_slower_since_its_clock_was_capped_is_reported(isolated: Lab, tmp_path: Path) -> None:
    """Capping an emulated clock has no effect, so the earlier entries are made up as those of a much faster machine."""
    path = tmp_path / "history.jsonl"
    _remember(isolated, path, 12, 1e3)
    file, value, expected = _slower_clock(isolated)
    with _set_temporarily(isolated, file, value):
        _remember(isolated, path, 3, 1e9)
        text = isolated.do(f"COLUMNS=400 noisewatch history --file {path}")
        report = isolated.preflight(f"--cpus {_TARGET} {_MEASURED} --history {path}")
    assert "latency work: 1,000,000 times as slow since" in text
    assert "    highest clock: " in text
    slower = finding(report, "slower-than-usual")
    if slower["status"] == "unknown":  # a busy host gives an emulated CPU too little time to be measured
        assert "measured for only" in slower["reason"]
    else:
        assert (slower["status"], expected.partition(":")[0] in slower["said"]) == ("fail", True), slower


def test_changed_kernel_options_and_memory_size_are_named_after_a_boot(isolated: Lab, rebuilt: Lab) -> None:
    store = isolated.scratch / "history.jsonl"
    _remember(isolated, store)
    assert _machine_changed(isolated, store)["status"] == "pass"
    changed = _machine_changed(rebuilt, Path(shutil.copy(store, rebuilt.scratch)))
    assert changed["status"] == "fail"
    assert set(changed["evidence"]) >= {"kernel options", "memory"}, changed["evidence"]
    assert "audit=0" in changed["evidence"]["kernel options"]["now"]
