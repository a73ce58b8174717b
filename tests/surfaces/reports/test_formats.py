"""Each format is accepted by its consumer, on any machine and with any names of processes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.judgement.verdict import Verdict
from noisewatch.surfaces.reports.verdict.formats import FORMATS, RenderOptions, format_named_in
from noisewatch.text import clean
from tests import MACHINES
from tests.judgement.judging import judged
from tests.judgement.sweeps.test_fail_every_read import FaultyMachine, denied
from tests.surfaces.reports.consumers import CONSUMERS
from tests.surfaces.reports.verdicts import (
    AT_S,
    HOSTILE_NAMES,
    failed_verdict,
    quiet_verdict,
    recording_with_hogs,
    rendered,
    short_hostile_verdict,
    strict_verdict,
    unknown_verdict,
    verdict_of_recording,
    verdict_on_nothing,
    warned_verdict,
)
from tests.surfaces.running import NOISEWATCH, Run, loaded_by, on_a_terminal, quiet_tree
from tests.written.quiet_machine import CPUS, quiet_files, quiet_machine

_NAMES = sorted(FORMATS)
_RECORDINGS = sorted(MACHINES.glob("*.nw"))
_GOVERNOR = f"{CPUS}/cpu2/cpufreq/scaling_governor"
_SETTINGS = ("--sample", "0", "--no-calibration")
_VERDICTS: Mapping[str, Callable[[], Verdict]] = {
    "stable": quiet_verdict,
    "stable with warnings": warned_verdict,
    "unstable": failed_verdict,
    "unknown": unknown_verdict,
    "nothing asked": verdict_on_nothing,
    "strict for a warning": lambda: strict_verdict("warn"),
    "strict for an unknown": lambda: strict_verdict("unknown"),
}
_STATUS_BY_VERDICT = {
    "stable": 0,
    "stable with warnings": 0,
    "unstable": 1,
    "unknown": 3,
    "nothing asked": 3,
    "strict for a warning": 1,
    "strict for an unknown": 1,
}
_NAGIOS_STATUS_BY_VERDICT = {
    "stable": 0,
    "stable with warnings": 1,
    "unstable": 2,
    "unknown": 3,
    "nothing asked": 3,
    "strict for a warning": 2,
    "strict for an unknown": 2,
}
_SHORT = ("problem-detector",)  # has room for one finding
_WITHOUT_NAMES = ("prometheus",)  # a series for each process would be too many


def test_each_format_has_a_consumer() -> None:
    assert sorted(CONSUMERS) == _NAMES


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("verdict", _VERDICTS)
def test_every_verdict_is_accepted(name: str, verdict: str) -> None:
    assert CONSUMERS[name](rendered(name, _VERDICTS[verdict]())) != []


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("recording", _RECORDINGS, ids=lambda path: path.stem)
def test_recorded_machines_are_accepted(name: str, recording: Path) -> None:
    assert _is_accepted(name, verdict_of_recording(recording))


@pytest.mark.parametrize("recording", _RECORDINGS, ids=lambda path: path.stem)
def test_report_on_a_recorded_machine_prints_no_error(run: Run, recording: Path) -> None:
    assert run("preflight", "--replay", recording).err == ""


@pytest.mark.parametrize("name", _NAMES)
def test_nearly_empty_tree_is_accepted(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "stat").write_text("cpu0 1 2 3 4 5 6 7 8 9 10\n")
    ran = run("preflight", "--format", name, "--sysroot", tmp_path, *_SETTINGS)
    assert CONSUMERS[name](ran.out) != []
    assert ran.status == 3


@pytest.mark.parametrize("name", sorted({*FORMATS} - {*_SHORT, *_WITHOUT_NAMES}))
@pytest.mark.parametrize("hostile", HOSTILE_NAMES, ids=ascii)
def test_hostile_name_is_shown_as_plain_text(name: str, hostile: str) -> None:
    texts = CONSUMERS[name](rendered(name, short_hostile_verdict(f"x{hostile}y")))
    expected = f"x{hostile}y" if name in ("json", "jsonl") else f"x{clean(hostile)}y"
    without_pipe = expected.replace("|", "·") if name == "nagios" else expected
    assert [text for text in texts if without_pipe in text] != []


@pytest.mark.parametrize("name", [*_SHORT, *_WITHOUT_NAMES])
@pytest.mark.parametrize("hostile", HOSTILE_NAMES, ids=ascii)
def test_hostile_name_breaks_no_format_without_names(name: str, hostile: str) -> None:
    assert CONSUMERS[name](rendered(name, short_hostile_verdict(hostile))) != []


@pytest.mark.parametrize("name", _NAMES)
@settings(max_examples=25)
@given(text=st.text(max_size=40))
def test_any_name_is_accepted(name: str, text: str) -> None:
    assert CONSUMERS[name](rendered(name, short_hostile_verdict(f"x{text}"))) != []


@pytest.fixture(scope="module")
def hostile_machine(tmp_path_factory: pytest.TempPathFactory) -> Verdict:
    """Return the verdict on a machine with hostile names of processes and drivers."""
    return verdict_of_recording(recording_with_hogs(tmp_path_factory.mktemp("hogs") / "a.nw", *HOSTILE_NAMES))


@pytest.mark.parametrize("name", _NAMES)
def test_hostile_names_of_processes_and_drivers_are_accepted(hostile_machine: Verdict, name: str) -> None:
    assert _is_accepted(name, hostile_machine)
    assert FORMATS[name].exit_status(hostile_machine) == (2 if name == "nagios" else 1)


@pytest.mark.parametrize("name", _NAMES)
def test_hostile_names_of_processor_and_kernel_are_accepted(run: Run, tmp_path: Path, name: str) -> None:
    hostile = '\x1b[1m"|]]><b>`@x`\\'
    files = {"/proc/cpuinfo": f"processor\t: 0\nmodel name\t: {hostile}\n", "/proc/sys/kernel/osrelease": hostile}
    ran = run("preflight", "--format", name, "--sysroot", quiet_tree(tmp_path, files), *_SETTINGS)
    assert CONSUMERS[name](ran.out) != []


@cache
def _verdicts_with_failed_reads() -> Mapping[int, Verdict]:
    """Return verdicts on the quiet machine with one failed read each, by the number of that read."""
    sound = quiet_machine()
    judged(sound)
    moments = (quiet_files(), quiet_files(3.0))
    numbers = range(1, len(sound.reads), 40)
    return {number: judged(FaultyMachine(*moments, fault=denied, fails_at=number)) for number in numbers}


@pytest.mark.parametrize("name", _NAMES)
def test_verdicts_with_a_failed_read_are_accepted(name: str) -> None:
    verdicts = _verdicts_with_failed_reads()
    assert [number for number, verdict in verdicts.items() if not _is_accepted(name, verdict)] == []
    assert len(verdicts) > 5


def _is_accepted(name: str, verdict: Verdict) -> bool:
    return CONSUMERS[name](rendered(name, verdict)) != []


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("verdict", _VERDICTS)
def test_exit_status_is_the_one_that_the_consumer_expects(name: str, verdict: str) -> None:
    expected = _NAGIOS_STATUS_BY_VERDICT if name == "nagios" else _STATUS_BY_VERDICT
    assert FORMATS[name].exit_status(_VERDICTS[verdict]()) == expected[verdict]


@pytest.mark.parametrize("name", _NAMES)
def test_report_can_be_written_to_a_file(run: Run, unchanged_tree: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "report"
    ran = run("preflight", "--format", name, "--sysroot", unchanged_tree, "--output", path, *_SETTINGS)
    assert (ran.out, ran.err, ran.status) == ("", f"noisewatch: wrote {path}\n", 0)
    assert CONSUMERS[name](path.read_text()) != []


@pytest.mark.parametrize("name", _NAMES)
def test_exit_zero_changes_only_the_exit_status(run: Run, tmp_path: Path, name: str) -> None:
    root = quiet_tree(tmp_path, {_GOVERNOR: "powersave\n"})
    ran = run("preflight", "--format", name, "--exit-zero", "--sysroot", root, *_SETTINGS)
    assert ran.status == 0
    assert "stable" not in {ran.out.split()[1].lower()}
    assert CONSUMERS[name](ran.out) != []


@pytest.mark.parametrize(("name", "status"), [(name, 3 if name == "nagios" else 2) for name in _NAMES])
@pytest.mark.parametrize("wrong", [("--cpus", "99"), ("--frobnicate",), ("--sample", "nan")], ids=" ".join)
@pytest.mark.parametrize("joined", [True, False], ids=["--format=X", "--format X"])
def test_invalid_arguments_have_the_exit_status_that_the_consumer_expects(
    run: Run, unchanged_tree: Path, name: str, status: int, wrong: tuple[str, ...], joined: bool
) -> None:
    option = (f"--format={name}",) if joined else ("--format", name)
    ran = run("preflight", "--sysroot", unchanged_tree, *wrong, *option)
    assert ran.status == status
    assert ran.err.startswith("noisewatch: ")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("name", _NAMES)
def test_error_is_on_standard_output_only_if_the_consumer_reads_nothing_else(
    run: Run, unchanged_tree: Path, name: str
) -> None:
    ran = run("preflight", "--sysroot", unchanged_tree, "--cpus", "99", "--format", name)
    reads_output = name in ("nagios", "problem-detector")
    assert ran.out.count("\n") == (1 if reads_output else 0)
    assert ("UNKNOWN: --cpus 99" in ran.out) == reads_output


def test_full_standard_output_is_reported_once(unchanged_tree: Path) -> None:
    command = [*NOISEWATCH, "preflight", "--format", "nagios", *_SETTINGS, "--sysroot", str(unchanged_tree)]
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 3
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("preflight --format nagios", "nagios"),
        ("preflight --format=nagios --cpus x", "nagios"),
        ("preflight --form nagios", "nagios"),
        ("preflight --format json --format nagios", "nagios"),
        ("preflight --format nagios --format json", "json"),
        ("preflight --format", None),
        ("preflight --format --cpus", None),
        ("preflight --output nagios", None),
        ("preflight -- nagios", None),
        ("", None),
    ],
)
def test_format_is_found_in_an_invalid_command_line(line: str, name: str | None) -> None:
    assert format_named_in(line.split()) == (None if name is None else FORMATS[name])


@pytest.mark.parametrize("name", _NAMES)
def test_only_text_is_in_colour(name: str) -> None:
    report = FORMATS[name].render(failed_verdict(), RenderOptions(1, AT_S, in_colour=True))
    assert ("\x1b" in report) == (name == "text")


def test_text_is_in_colour_only_on_a_terminal(run: Run, tmp_path: Path) -> None:
    root = quiet_tree(tmp_path, {_GOVERNOR: "powersave\n"})
    arguments = ("preflight", *_SETTINGS, "--sysroot", root)
    assert "\x1b" not in run(*arguments).out
    assert "\x1b[1;35m✗".encode() in on_a_terminal(*arguments)
    assert b"\x1b" not in on_a_terminal(*arguments, NO_COLOR="1")


_SHARED = {"fix_script", "formats"}


@pytest.mark.parametrize("name", _NAMES)
def test_a_format_loads_only_what_it_needs(unchanged_tree: Path, name: str) -> None:
    modules = loaded_by("preflight", "--format", name, *_SETTINGS, "--sysroot", unchanged_tree)
    verdicts = "noisewatch.surfaces.reports.verdict."
    reports = {module.removeprefix(verdicts) for module in modules if module.startswith(verdicts)} - _SHARED
    extra = {"jsonl": {"json"}}
    assert reports == {FORMATS[name].module} | extra.get(name, set())
    assert not {module for module in modules if module.startswith("noisewatch.operations.frame")}
    assert ("prometheus_client" in modules) == (name == "prometheus")
    assert ("xml.etree.ElementTree" in modules) == (name == "junit")


def test_a_live_verdict_has_its_time() -> None:
    case = quiet_verdict().case
    verdict = replace(quiet_verdict(), case=replace(case, snapshot=replace(case.snapshot, is_live=True)))
    assert json.loads(rendered("json", verdict))["at"] == AT_S
    assert json.loads(rendered("jsonl", verdict).splitlines()[0])["at"] == AT_S


def test_host_is_named_only_if_requested() -> None:
    assert json.loads(rendered("json", quiet_verdict()))["host"] is None
    report = FORMATS["json"].render(quiet_verdict(), RenderOptions(0, AT_S, host="web1"))
    assert json.loads(report)["host"] == "web1"


def test_recording_has_neither_time_nor_host(run: Run) -> None:
    ran = run("preflight", "--replay", MACHINES / "host-calibration.nw", "--format", "json", "--identify")
    assert (ran.json["at"], ran.json["host"]) == (None, None)
