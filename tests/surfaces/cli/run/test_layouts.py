"""The memory layout of the command: `noisewatch run --vary layout` and `--fixed layout`."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from noisewatch.model.run.layout import layout_effect
from tests.plumbing.seccomp import IS_SUPPORTED, forbid_personality
from tests.surfaces.reports.run.running import lines_of, ran

_SLEEP = "sleep 0.$(printf %04d ${#NOISEWATCH_LAYOUT})"  # 0.1 ms for each byte


def test_command_that_depends_on_the_size_of_its_environment_varies_between_layouts(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    result = ran("--vary", "layout", "--runs", "8", "--output", receipt, "--", "sh", "-c", _SLEEP)
    assert result.returncode == 0
    assert "adds a variable NOISEWATCH_LAYOUT" in result.stdout
    _, *repetitions, _ = lines_of(receipt)
    times: dict[int, list[int]] = defaultdict(list)
    for repetition in repetitions:
        layout = repetition["layout"]
        assert repetition["wall_ns"] > layout["environment_bytes"] * 100_000
        times[layout["number"]].append(repetition["wall_ns"])
    effect = layout_effect([(first, second) for first, second in times.values()])
    assert (effect.layouts, effect.is_shown) == (8, True)


def test_default_is_25_layouts(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    assert ran("--vary", "layout", "--tracer", "none", "--output", receipt, "--", "true").returncode == 0
    header, *repetitions, footer = lines_of(receipt)
    assert (header["options"]["runs"], header["options"]["layout"], len(repetitions)) == (25, "varied", 50)
    assert footer["commands"][0]["layout_effect"] is not None


def test_fixed_layout_of_a_single_run_is_a_remark(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    result = ran("--fixed", "layout", "--output", receipt, "--", "cat", "/proc/self/personality")
    assert result.stdout == "00040000\n"
    assert result.stderr.count("all runs share one memory layout") == 1
    assert lines_of(receipt)[0]["options"]["layout"] == "fixed"
    assert "memory layout" not in ran("--", "true").stderr


def test_hash_seed_is_kept() -> None:
    show = "print(__import__('os').environ.get('PYTHONHASHSEED'))"
    for seed in ({}, {"PYTHONHASHSEED": "7"}):
        environment = {"PATH": os.environ["PATH"]} | seed
        result = ran("--fixed", "layout", "--", sys.executable, "-S", "-c", show, env=environment)
        assert result.stdout.strip() == seed.get("PYTHONHASHSEED", "None")


@pytest.mark.skipif(not IS_SUPPORTED, reason="the number of the system call is unknown")
def test_seccomp_filter_is_named_before_anything_runs(tmp_path: Path) -> None:
    options = ("--fixed", "layout", "--runs", "2", "--calibration", "60", "--", "touch", tmp_path / "made")
    result = ran(*options, preexec_fn=forbid_personality)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (125, "", 1)
    assert result.stderr.startswith("noisewatch run: --fixed layout: cannot switch address randomization off")
    assert "operation not permitted (seccomp" in result.stderr
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "options", [("--vary", "layout", "--fixed", "layout"), ("--vary", "hash"), ("--fixed", ""), ("--vary",)]
)
def test_invalid_layout_is_a_usage_error(tmp_path: Path, options: tuple[str, ...]) -> None:
    result = ran(*options, "--", "touch", tmp_path / "made")
    assert (result.returncode, result.stderr.count("\n")) == (125, 1)
    assert not (tmp_path / "made").exists()
