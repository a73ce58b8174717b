"""`show --format machine` describes a machine, and `preflight --machine` recognizes it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewatch.judgement.case import Case
from noisewatch.judgement.checks.system.machine_wanted import not_the_machine_wanted
from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.model.wanted import parse_description
from noisewatch.surfaces.reports.machine.description import description_of
from tests.surfaces.running import NOISEWATCH, SETTINGS, Run, record
from tests.written.quiet_machine import CPUS, quiet_files, quiet_machine

_OTHER_MACHINE = {
    "/proc/cpuinfo": quiet_files()["/proc/cpuinfo"].replace("A Processor", "B Processor"),
    "/proc/meminfo": re.sub(r"MemTotal: +\d+", "MemTotal: 8000000", quiet_files()["/proc/meminfo"]),
}
_COMMENT = re.compile(r"^# (?=(?:\"[^\"]*\"|[\w-]+) = )", re.MULTILINE)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a repository, from where the command is run."""
    (tmp_path / "work" / "inner" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work" / "inner")
    return tmp_path / "work" / "inner"


@pytest.fixture
def description(run: Run, place: Path) -> Path:
    """The description of the quiet machine."""
    path = place / "machine.toml"
    assert run("show", {}, "--format", "machine", "--output", path).status == 0
    return path


def _judge(run: Run, machine: Mapping[str, str | None], *options: str | Path) -> dict[str, Any]:
    result = run(*SETTINGS, machine, "--format", "json", *options)
    (finding,) = [finding for finding in result.json["findings"] if finding["id"] == "not-the-machine-wanted"]
    return {**finding, "exit": result.status}


def test_a_machine_matches_its_own_description(run: Run, description: Path) -> None:
    finding = _judge(run, {}, "--machine", description)
    assert (finding["status"], finding["severity"], finding["exit"]) == ("pass", "blocking", 0)
    assert "CPU model" in {fact["fact"] for fact in finding["evidence"]["facts"]}


def test_another_machine_is_unstable_and_each_fact_that_differs_is_named(run: Run, description: Path) -> None:
    finding = _judge(run, _OTHER_MACHINE, "--machine", description)
    assert (finding["status"], finding["exit"]) == ("fail", 1)
    assert 'CPU model: expected "A Processor @ 3.00GHz", found "B Processor @ 3.00GHz"' in finding["said"]
    differing = [fact for fact in finding["evidence"]["facts"] if fact["is_met"] is False]
    assert differing == [
        {
            "class": "identity",
            "fact": "CPU model",
            "wanted": {"any_of": ["A Processor @ 3.00GHz"]},
            "found": "B Processor @ 3.00GHz",
            "is_met": False,
            "reason": None,
        },
        {
            "class": "hardware",
            "fact": "memory",
            "wanted": {"at_least": "15.6 GiB"},
            "found": "8000000 kB",
            "is_met": False,
            "reason": None,
        },
    ]


def test_the_facts_that_differ_are_a_list_in_text(run: Run, description: Path) -> None:
    options = ("--sample", "0", "--no-calibration", "--machine", description.name, "--select", "not-the-machine-wanted")
    brief = run("preflight", _OTHER_MACHINE, *options).words
    assert "not the machine in machine.toml (2 of 1" in brief
    verbose = run("preflight", _OTHER_MACHINE, *options, "-v")
    lines = [line.strip() for line in verbose.out.splitlines()]
    at = next(number for number, line in enumerate(lines) if line.startswith("not the machine in machine.toml (2 of 1"))
    assert lines[at + 1 : at + 3] == [
        'CPU model: expected "A Processor @ 3.00GHz", found "B Processor @ 3.00GHz"',
        'memory: expected at least "15.6 GiB", found "7.63 GiB"',
    ]
    assert verbose.words.count('memory: expected at least "15.6 GiB", found "7.63 GiB"') == 2


def test_an_unreadable_fact_is_unknown_with_its_reason(run: Run, description: Path) -> None:
    finding = _judge(run, {"/proc/cpuinfo": None}, "--machine", description)
    assert (finding["status"], finding["exit"]) == ("unknown", 3)
    assert "CPU model, stepping, virtual machine (/proc/cpuinfo: no such file)" in finding["reason"]


def test_waiting_for_another_machine_gives_a_warning(place: Path) -> None:
    Path("machine.toml").write_text('[identity]\n"CPU model" = "none of those that are built"\n')
    options = ("--sample", "0", "--no-calibration", "--wait", "300", "--machine", "machine.toml")
    with subprocess.Popen([*NOISEWATCH, "preflight", *options], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        warning = next((line for line in process.stderr if "waiting does not change the machine" in line), "")
        process.terminate()
    assert "not-the-machine-wanted" in warning


def test_without_a_description_the_check_does_not_apply(run: Run, place: Path) -> None:
    finding = _judge(run, {})
    assert (finding["status"], finding["reason"]) == ("not-applicable", "no machine was requested (--machine)")


def test_the_options_file_names_a_description_relative_to_itself(run: Run, description: Path) -> None:
    above = description.parent.parent
    (description.parent / ".git").rmdir()
    (above / ".git").mkdir()
    (above / "noisewatch.toml").write_text('machine = "inner/machine.toml"\n')
    finding = _judge(run, {})
    assert (finding["status"], finding["evidence"]["description"]) == ("pass", f"{above}/inner/machine.toml")
    Path("other.toml").write_text('[identity]\n"CPU model" = "B"\n')
    assert _judge(run, {}, "--machine", "other.toml")["status"] == "fail"
    description.write_text("[hardware]\nnodes = 1.5\n")
    result = run("preflight", {}, "--sample", "0")
    assert (result.status, result.out) == (2, "")
    assert "inner/machine.toml:2: expected a text" in result.err
    assert f"(with options of {above}/noisewatch.toml)" in result.err


@pytest.mark.parametrize("value", ["3", "['a.toml']"])
def test_the_options_file_must_name_a_file(run: Run, place: Path, value: str) -> None:
    Path("noisewatch.toml").write_text(f"machine = {value}\n")
    result = run("preflight", {}, "--sample", "0")
    assert (result.status, "noisewatch.toml:1: machine: expected the name of a file, found" in result.err) == (2, True)


def test_a_recording_is_described_and_judged_by_its_known_facts(run: Run, place: Path) -> None:
    recording = record(place / "r.nw", quiet_files() | _OTHER_MACHINE, quiet_files(3.0) | _OTHER_MACHINE)
    show = run("show", "--replay", recording, "--format", "machine")
    assert (show.status, '"CPU model" = "B Processor @ 3.00GHz"' in show.out) == (0, True)
    assert "# unknown here: BIOS (/sys/class/dmi/id/bios_version: not exported here)" in show.out
    Path("m.toml").write_text(show.out)
    result = run("preflight", "--replay", recording, "--machine", "m.toml", "--format", "json")
    (finding,) = [finding for finding in result.json["findings"] if finding["id"] == "not-the-machine-wanted"]
    assert finding["status"] == "pass"


_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"), min_size=1, max_size=30)
_KHZ = st.integers(400_000, 6_000_000)


def _cpuinfo(key: str, text: str) -> str:
    return "".join(f"processor\t: {cpu}\n{key}\t: x{text}\nflags\t\t: fpu sse2\n\n" for cpu in range(4))


@st.composite
def _machines(draw: st.DrawFn) -> dict[str, str]:
    files = quiet_files() | {
        "/proc/cpuinfo": _cpuinfo("model name", draw(_TEXTS)),
        "/proc/meminfo": f"MemTotal: {draw(st.integers(1 << 10, 1 << 45))} kB\nMemFree: 1 kB\n",
        "/proc/sys/kernel/osrelease": draw(st.sampled_from(["6.14.0\n", "5.4.0-rc7-x\n", "6.8.0-36-generic\n"])),
        "/sys/class/dmi/id/product_name": draw(_TEXTS) + "\n",
        "/sys/class/dmi/id/bios_version": draw(_TEXTS) + "\n",
        f"{CPUS}/cpu0/cache/index3/size": f"{draw(st.integers(1, 1 << 20))}K\n",
    }
    for cpu in range(draw(st.integers(1, 4))):
        files[f"{CPUS}/cpu{cpu}/cpufreq/scaling_max_freq"] = f"{draw(_KHZ)}\n"
    missing = draw(st.sets(st.sampled_from(sorted(files)), max_size=5))
    return {path: text for path, text in files.items() if path not in missing}


@given(_machines(), st.booleans())
@settings(max_examples=40)
def test_any_machine_matches_its_own_description_also_with_all_facts(files: dict[str, str], is_copy: bool) -> None:
    snapshot = read_snapshot(quiet_machine(files, is_copy=is_copy), SnapshotOptions(asks_inventory=True))
    for text in (description_of(snapshot), _COMMENT.sub("", description_of(snapshot))):
        wanted = parse_description(text.encode(), "machine.toml")
        answer = not_the_machine_wanted.answer(Case(snapshot, rules=Rules(wanted=wanted)))
        assert (answer.status, answer.items, answer.reason) == ("pass", (), None)
