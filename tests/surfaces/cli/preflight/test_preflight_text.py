"""The text report of `preflight`."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import MACHINES
from tests.surfaces.running import NOISEWATCH, SETTINGS, Run, quiet_tree, record
from tests.written import write_tree
from tests.written.quiet_machine import CPUS, process, quiet_files, stat_file

_SAMPLED = ("preflight", "--no-calibration")  # predicting the noise of a calibration takes long
_GOVERNOR = f"{CPUS}/cpu2/cpufreq/scaling_governor"
_ESCAPE, _MARKUP = "\x1b]0;x\x07", "[bold red]x[/]"


def _record_hogs(tmp_path: Path, *hogs: tuple[int, str]) -> Path:
    """Record hogs that share half of CPU 2 equally."""
    before, after = quiet_files(), quiet_files(3.0)
    for pid, name in hogs:
        before |= process(pid, name, 2, 0, allowed="0-3")
        after |= process(pid, name, 2, 1_500_000_000 // len(hogs), allowed="0-3")
    after["/proc/stat"] = stat_file({2: 150}, 300)
    return record(tmp_path / "machine.nw", before, after)


def _entry(out: str, check_id: str) -> list[str]:
    """Return the lines below the check's line, up to the next check."""
    below = out.partition(f" {check_id} (")[2].splitlines()[1:]
    count = next(number for number, line in enumerate(below) if not line.startswith("        "))
    return [line.strip() for line in below[:count]]


@pytest.mark.parametrize("flags", ["hypervisor", "fpu"])
def test_a_guest_has_its_own_profile_by_default_and_no_other_is_advised(run: Run, flags: str) -> None:
    result = run(*SETTINGS, {_GOVERNOR: None, "/proc/cpuinfo": f"processor : 0\nflags : {flags}\n"})
    assert ("profile shared (virtual machine)" in result.words) == (flags == "hypervisor")
    assert "--profile" not in result.out


def test_a_failure_close_to_its_limit_is_shown_exactly(run: Run, tmp_path: Path) -> None:
    recording = _record_hogs(tmp_path, (900, "hog"))
    result = run(*_SAMPLED, "--replay", recording, "--limit", "tasks-on-target=49.999%")
    assert "takes ~50.000% of CPU 2 (budget 1%, limit 50%)" in result.words


def test_the_last_line_shows_the_status_that_exit_zero_returns(run: Run) -> None:
    last = run(*SETTINGS, "--exit-zero", {_GOVERNOR: "powersave\n"}).out.splitlines()[-1]
    assert last.startswith("UNSTABLE: ")
    assert last.endswith("(exit 0)")


def test_one_line_reports_that_no_calibration_was_run(run: Run) -> None:
    result = run(*SETTINGS, {})
    assert len([line for line in result.out.splitlines() if "No calibration was run" in line]) == 1


def test_a_missing_sample_is_reported(run: Run, tmp_path: Path) -> None:
    assert "No sample was taken" in run(*SETTINGS, {}).out
    assert "No sample was taken" not in run(*_SAMPLED, "--replay", _record_hogs(tmp_path, (900, "hog"))).out


def _marks(out: str) -> list[str]:
    """Return the status marks of the numbered causes."""
    return re.findall(r"^ *\d+ (\S) ", out.partition("WHAT TO DO")[2].partition("\nALL ")[0], re.MULTILINE)


def test_failures_come_before_blocking_unknowns_and_warnings(run: Run) -> None:
    machine = {_GOVERNOR: "powersave\n", "/proc/loadavg": None, "/proc/meminfo": None}
    out = run("preflight", "-v", "--sample", "0", "--no-calibration", machine, "--cpus", "0-3").out
    marks = _marks(out)
    assert set(marks) == {"✗", "!", "?"}
    assert marks == sorted(marks, key="✗?!".index)


def test_a_fix_is_one_line_that_can_be_copied(run: Run) -> None:
    machine = {f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor": "powersave\n" for cpu in (2, 3)}
    lines = run(*SETTINGS, machine).out.splitlines()
    path = f'"{CPUS}/cpu$c/cpufreq/scaling_governor"'
    assert f"     now      for c in 2 3; do echo performance | sudo tee {path}; done" in lines


def test_the_culprit_behind_two_findings_is_listed_once_with_its_fix(run: Run, tmp_path: Path) -> None:
    out = run(*_SAMPLED, "-v", "--replay", _record_hogs(tmp_path, (900, "hog"))).out
    to_do = out.partition("WHAT TO DO")[2].partition("\nALL ")[0]
    assert to_do.count("hog (pid 900)") == 1
    assert to_do.count("now      sudo taskset -pc 0-1 900") == 1
    assert "fixes    tasks-on-target, target-cpu-busy" in to_do
    assert "--fix-script" in out


def test_marks_are_letters_on_an_ascii_output(tmp_path: Path) -> None:
    root = quiet_tree(tmp_path, {_GOVERNOR: "powersave\n"})
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    command = [*NOISEWATCH, "preflight", "-v", "--sample", "0", "--no-calibration", "--sysroot", str(root)]
    out = subprocess.run(command, capture_output=True, env=environment, check=False).stdout.decode()
    assert re.search(r"^  .*frequency +X", out, re.MULTILINE)
    assert " X fails, blocks" in out
    assert "✗" not in out


def test_a_task_on_a_target_cpu_is_named(run: Run, tmp_path: Path) -> None:
    result = run(*_SAMPLED, "--replay", _record_hogs(tmp_path, (900, "hog")))
    assert result.status == 1
    assert "hog [900] takes ~50% of CPU 2" in result.words


def test_tasks_of_one_name_are_all_listed(run: Run, tmp_path: Path) -> None:
    result = run(*_SAMPLED, "-v", "--replay", _record_hogs(tmp_path, *((pid, "stress-ng") for pid in range(900, 905))))
    entry = " ".join(_entry(result.out, "tasks-on-target"))
    assert [pid for pid in range(900, 905) if f"(pid {pid})" not in entry] == []


def _culprit_rows(out: str, check_id: str) -> list[str]:
    return [line for line in _entry(out, check_id) if line.startswith("CPU 2: ")]


def test_culprits_are_sorted_by_cost_whichever_the_sentence_names(run: Run, tmp_path: Path) -> None:
    before, after = quiet_files(), quiet_files(3.0)
    for number, name in enumerate(("first", "second", "third", "fourth")):
        before |= process(900 + number, name, 2, 0, allowed="0-3")
        after |= process(900 + number, name, 2, (4 - number) * 150_000_000, allowed="0-3")
    after["/proc/stat"] = stat_file({2: 150}, 300)
    rows = _culprit_rows(
        run(*_SAMPLED, "-v", "--replay", record(tmp_path / "machine.nw", before, after)).out, "tasks-on-target"
    )
    assert [row.split()[3] for row in rows] == ["first", "second", "third", "fourth"]


def test_of_several_busy_cpus_the_costliest_culprit_comes_first(run: Run, tmp_path: Path) -> None:
    busy = {2: (900, "slight", 300_000_000), 3: (901, "heavy", 2_700_000_000)}
    before, after = quiet_files(), quiet_files(3.0)
    for cpu, (pid, name, ran_ns) in busy.items():
        before |= process(pid, name, cpu, 0, allowed="0-3")
        after |= process(pid, name, cpu, ran_ns, allowed="0-3")
    after["/proc/stat"] = stat_file({2: 30, 3: 270}, 300)
    recording = record(tmp_path / "machine.nw", before, after)
    findings = run(*_SAMPLED, "--replay", recording, "--format", "json").json["findings"]
    (culprits,) = [finding["culprits"] for finding in findings if finding["id"] == "target-cpu-busy"]
    assert [(culprit["name"], culprit["cpu"]) for culprit in culprits[:2]] == [("heavy", 3), ("slight", 2)]


def test_unattributed_time_is_listed_for_every_cpu(run: Run, tmp_path: Path) -> None:
    after = quiet_files(3.0) | {"/proc/stat": stat_file(dict.fromkeys(range(4), 150), 300)}
    recording = record(tmp_path / "machine.nw", quiet_files(), after)
    out = run(*_SAMPLED, "-v", "--replay", recording, "--cpus", "0-3", "--select", "tasks-on-target").words
    assert [f"CPU {cpu}: unattributed time" in out for cpu in range(4)] == [True] * 4


def test_culprits_that_the_sentence_names_are_not_listed_again(run: Run, tmp_path: Path) -> None:
    result = run(*_SAMPLED, "-v", "--replay", _record_hogs(tmp_path, (900, "hog"), (901, "fiend")))
    assert _culprit_rows(result.out, "tasks-on-target") == []


def test_verbose_lists_ignored_checks(run: Run) -> None:
    options = ("--select", "swapping", "--verbose")
    result = run(*SETTINGS, *options, {})
    assert "tasks-on-target" in result.words


def test_a_task_whose_name_is_part_of_another_word_is_listed(run: Run, tmp_path: Path) -> None:
    hogs = [(pid, f"hog-{pid}") for pid in range(900, 903)] + [(903, "CP")]
    assert "CP [903]" in run(*_SAMPLED, "--replay", _record_hogs(tmp_path, *hogs)).words


def test_a_name_that_looks_like_markup_is_shown_as_it_is(run: Run, tmp_path: Path) -> None:
    assert f"{_MARKUP} [900]" in run(*_SAMPLED, "--replay", _record_hogs(tmp_path, (900, _MARKUP))).words


def test_a_name_with_escape_sequences_is_shown_as_plain_text(run: Run, tmp_path: Path) -> None:
    result = run(*_SAMPLED, "--replay", _record_hogs(tmp_path, (900, _ESCAPE)))
    assert [line for line in result.out.splitlines() if not line.isprintable()] == []
    assert "·]0;x· [900]" in result.words


def test_a_governor_with_escape_sequences_is_shown_as_plain_text(run: Run) -> None:
    result = run(*SETTINGS, {_GOVERNOR: f"{_ESCAPE}\n"})
    assert [line for line in result.out.splitlines() if not line.isprintable()] == []
    assert result.status in (1, 3)


def test_a_driver_that_looks_like_markup_or_escapes_is_named_as_plain_text(run: Run, tmp_path: Path) -> None:
    before, after = quiet_files(), quiet_files(3.0)
    for files, count in ((before, 0), (after, 30_000)):
        action = f"{_ESCAPE}{_MARKUP}"
        files["/proc/interrupts"] = f" CPU0 CPU1 CPU2 CPU3\n 24: 0 0 {count} 0 PCI-MSI 0-edge {action}\n"
    result = run(*_SAMPLED, "-v", "--replay", record(tmp_path / "machine.nw", before, after))
    assert [line for line in result.out.splitlines() if not line.isprintable()] == []
    assert f"·]0;x·{_MARKUP}" in result.words
    assert result.status == 1


_INFORMATION = {"/proc/irq/default_smp_affinity": "f\n"}


def test_information_is_a_note_and_not_a_warning(run: Run) -> None:
    brief = run(*SETTINGS, "--cpus", "2-3", _INFORMATION).out
    assert "default-irq-affinity-includes-target" not in brief
    assert "warning" not in brief
    lines = run(*SETTINGS, "--cpus", "2-3", _INFORMATION, "-v").out.splitlines()
    assert re.search(r"^  .*interrupts +\S*i", "\n".join(lines), re.MULTILINE)
    assert any(" 0 warn," in line for line in lines)


def test_verbose_shows_the_answer_and_undo_of_every_check(run: Run) -> None:
    command = (*SETTINGS, "--cpus", "2-3", _INFORMATION)
    text = run(*command, "--verbose").out
    findings = run(*command, "--format", "json").json["findings"]
    assert [finding["id"] for finding in findings if finding["id"] not in text] == []
    words = " ".join(text.split())
    answers = {
        finding["id"]: finding["said"] if finding["status"] in ("pass", "warn", "fail") else finding["reason"]
        for finding in findings
    }
    assert {name: sentence for name, sentence in answers.items() if " ".join(sentence.split()) not in words} == {}
    assert "undo: echo f | sudo tee /proc/irq/default_smp_affinity" in words


def test_blocking_unknowns_are_named_and_others_only_with_verbose(run: Run, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "bare", {"/proc/stat": quiet_files()["/proc/stat"]})
    command = (*SETTINGS, "--cpus", "2-3", "--sysroot", root)
    text = run(*command).out
    assert re.search(r" open .*missing files: .*governor-not-performance \(/sys/[^ :]*\)", " ".join(text.split()))
    assert "turbo-enabled" not in text
    assert "neither no_turbo, boost nor cpb can be read" in run(*command, "--verbose").out


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_everything_but_commands_is_wrapped_at_the_terminals_width(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = run(*_SAMPLED, "--replay", _record_hogs(tmp_path, (900, "hog"), (901, "x" * 15))).out
    (*lines, _) = out.splitlines()
    commands = ("now ", "undo ", "for good ", "try ")
    prose = [line for line in lines if not line.strip().startswith(commands) and "noisewatch " not in line]
    assert [line for line in prose if len(line) > width] == []


def test_the_legend_of_marks_is_one_line(run: Run) -> None:
    lines = run(*SETTINGS, {}, "-v").out.splitlines()
    assert [line for line in lines if "fails, blocks" in line and line.endswith("not asked, or n/a")]


@pytest.mark.parametrize("width", [50, 80])
def test_advice_is_wrapped_and_commands_are_not(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    recording = str(MACHINES / "lab-partition.nw")
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run(*_SAMPLED, "-v", "--replay", recording).out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip().startswith("try "))
    end = next(number for number in range(at + 1, len(lines)) if lines[number][:14].strip())
    advice = lines[at:end]
    assert len(advice) > 1
    assert max(map(len, advice)) <= width
    assert advice[-1].endswith(" sudo noisewatch trace --cpus 3.")
    commands = [line for line in lines if line.strip().startswith("now ")]
    assert max(map(len, commands)) > width
