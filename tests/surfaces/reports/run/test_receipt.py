"""The receipt of a series: its schema accepts real ones, and it can be read whatever becomes of the series."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from noisewatch.machine.spinning.loops import CHOICE, PYTHON
from noisewatch.model.run.freezing import NOT_FROZEN, Freezing
from noisewatch.surfaces.cli import main
from noisewatch.surfaces.reports.run.receipt import repetition_of
from tests.plumbing.waiting import children_of, wait_until
from tests.surfaces.reports.run.running import CPU, lines_of, ran, read, schema, words
from tests.surfaces.reports.run.written_series import UNDISTURBED, rendered, written_series


def test_the_schema_is_one_of_draft_2020_12_that_allows_what_is_added_later() -> None:
    Draft202012Validator.check_schema(schema())
    text = json.dumps(schema())
    assert '"additionalProperties": false' not in text
    assert "unevaluatedProperties" not in text


def test_explain_prints_the_schema_of_a_run_and_by_itself_that_of_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--schema", "run"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()
    assert main(["explain", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$id"] == "urn:noisewatch:verdict:1"


def test_a_line_that_lacks_a_key_is_refused() -> None:
    whole = read(rendered("json", written_series(UNDISTURBED)))
    for line, keys in (
        (whole, ("kind", "noisewatch", "footer")),
        (whole["repetitions"][0], ("kind", "verdict")),
        (whole["footer"], ("kind", "own_cpu_s")),
    ):
        for key in keys:
            shortened = {name: value for name, value in line.items() if name != key}
            assert not Draft202012Validator(schema()).is_valid(shortened), key


def test_a_series_has_a_header_a_line_each_and_a_footer(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    said = ran("--runs", "3", "--output", receipt, "--", "sh", "-c", "sleep 0.01")
    assert said.returncode == 0
    header, *repetitions, footer = lines_of(receipt)
    assert [line["kind"] for line in (*repetitions, footer)] == ["repetition"] * 3 + ["footer"]
    assert [each["number"] for each in repetitions] == [1, 2, 3]
    assert header["target"] == [int(CPU)]
    assert header["attribution"]["is_root"] == (os.geteuid() == 0)
    assert all(each["wall_ns"] == each["ended_ns"] - each["began_ns"] >= 10_000_000 for each in repetitions)
    assert sum(footer["counts"].values()) == footer["commands"][0]["all"]["count"] == 3
    assert footer["ended"] == {"by": "done"}
    assert "3 runs" in said.stdout  # the summary is for the terminal


def test_noisewatch_tells_what_it_cost_itself_and_where(tmp_path: Path) -> None:
    receipt, others = tmp_path / "receipt.jsonl", os.sched_getaffinity(0) - {int(CPU)}
    ran("--runs", "3", "--output", receipt, "--", "sh", "-c", "sleep 0.25")
    header, *repetitions, footer = lines_of(receipt)
    assert header["own_cost"]["cpu_s"] > 0.01  # to start Python alone takes more
    assert set(header["own_cost"]["cpus"]) == (others or {int(CPU)})
    costs = [each["own_cpu_ns"] for each in repetitions]
    assert all(100_000 < ns < each["wall_ns"] for ns, each in zip(costs, repetitions, strict=True))
    assert sum(costs) <= footer["own_cpu_s"] * 1e9


@pytest.mark.parametrize(
    ("freezing", "frozen_ns"),
    [
        (NOT_FROZEN, 0),
        (Freezing(ns=7, folder="/a"), 7),
        (Freezing(unknown="denied"), None),
        (Freezing(ns=7, folder="/a", unknown="denied"), 7),
    ],
)
def test_how_long_its_control_group_was_frozen_is_told_as_far_as_it_is_known(
    freezing: Freezing, frozen_ns: int | None
) -> None:
    (judged,) = written_series(UNDISTURBED).repetitions
    line = repetition_of(replace(judged, repetition=replace(judged.repetition, freezing=freezing)))
    assert line.frozen_ns == frozen_ns


def test_each_option_that_changes_what_is_measured_is_told(tmp_path: Path) -> None:
    ran("--spread", "--tracer", "none", "--output", tmp_path / "receipt.jsonl", "--", "true")
    header, repetition, _ = lines_of(tmp_path / "receipt.jsonl")
    assert (header["options"]["spread"], header["options"]["tracer"]) == (True, "none")
    assert repetition["placement"]["spread"] == {"pinned": 0, "left": []}


def test_of_two_commands_each_is_told_by_its_letter_with_the_difference(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    ran("--runs", "3", "--against", "sleep 0.02", "--output", receipt, "--", "sleep", "0.01")
    header, *repetitions, footer = lines_of(receipt)
    assert [each["program"] for each in header["commands"]] == ["sleep", "sleep"]
    assert sorted(each["command"] for each in repetitions) == ["a", "a", "a", "b", "b", "b"]
    assert [each["command"] for each in footer["commands"]] == ["a", "b"]
    assert footer["difference_of_all_pairs"]["pairs"] == 3
    undisturbed = footer["difference"]["pairs"] if footer["difference"] is not None else 0
    assert footer["is_difference_refused"] == (undisturbed < 2)


def test_calibrations_at_both_ends_are_told(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    ran("--calibration", "0.5", "--output", receipt, "--", "true")
    header, _, footer = lines_of(receipt)
    assert [each["cpu"] for each in header["opening"]["cpus"]] == [int(CPU)]
    assert header["opening"]["noise_floor_of_interruptions"] is not None
    assert footer["closing"]["seconds"] > 0
    told = footer["speed_change"]
    assert (told is None) == (footer["no_speed_change_reason"] != "none")  # a busy host leaves it too little time
    assert told is None or told["cpu"] == int(CPU)


def test_what_calibrated_is_told(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    ran("--calibration", "0.5", "--output", receipt, "--", "true", env=os.environ | {CHOICE: PYTHON})
    header, *_ = lines_of(receipt)
    assert (header["opening"]["core"], header["opening"]["scheduler"]) == ("python", "other")


@pytest.mark.parametrize(
    ("script", "ended"),
    [
        ("exit 3", {"by": "exit", "status": 3}),
        ("kill -KILL $$", {"by": "signal", "number": 9, "name": "SIGKILL"}),
    ],
)
def test_how_the_command_ended_is_told_and_is_how_the_wrapper_ends(
    tmp_path: Path, script: str, ended: dict[str, object]
) -> None:
    receipt = tmp_path / "receipt.jsonl"
    said = ran("--output", receipt, "--", "sh", "-c", script)
    assert said.returncode == ended.get("status", -signal.SIGKILL)
    assert said.stdout == ""
    assert [line["ended"] for line in lines_of(receipt)[1:]] == [ended, {"by": "done"}]


def test_arguments_are_told_only_when_asked_for(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    ran("--output", receipt, "--", "/bin/sh", "-c", "true # secret")
    assert "secret" not in receipt.read_text()
    assert "/bin" not in json.dumps(lines_of(receipt)[0]["commands"])
    ran("--identify", "--output", receipt, "--", "/bin/sh", "-c", "true # secret")
    assert lines_of(receipt)[0]["commands"][0]["argv"] == ["/bin/sh", "-c", "true # secret"]


def test_a_hostile_name_is_text_and_nothing_else(tmp_path: Path) -> None:
    name = b"\x1b[31mred a|b\nc <b>&`x` \xff\xfe" + "\u202egnp".encode()
    program, receipt = os.path.join(os.fsencode(tmp_path), name), tmp_path / "receipt.jsonl"
    os.symlink("/bin/true", program)
    assert ran("--identify", "--output", receipt, "--", os.fsdecode(program)).returncode == 0
    command = lines_of(receipt)[0]["commands"][0]
    assert command["program"].isprintable()
    assert all(word.isprintable() for word in command["argv"])


def test_lines_may_be_printed() -> None:
    said = ran("--runs", "2", "--format", "jsonl", "--", "true")
    assert [read(line)["kind"] for line in said.stdout.splitlines()] == ["header", "repetition", "repetition", "footer"]


def test_of_a_single_run_standard_output_is_the_commands(tmp_path: Path) -> None:
    said = ran("--format", "jsonl", "--", "touch", tmp_path / "ran")
    assert said.returncode == 125
    assert "--output FILE" in said.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("output", ["{}/missing/receipt.jsonl", "{}", "/proc/version/x.jsonl"])
def test_where_no_file_can_be_opened_nothing_is_run(tmp_path: Path, output: str) -> None:
    place = output.format(tmp_path)
    said = ran("--format", "jsonl", "--output", place, "--", "touch", tmp_path / "ran")
    assert (said.returncode, said.stdout) == (125, "")
    assert said.stderr.count("\n") == 1
    assert place in said.stderr
    assert not (tmp_path / "ran").exists()


def test_a_full_disk_is_told_once_and_ends_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = ran("--runs", "3", "--format", "jsonl", "--output", "/dev/full", "--", "sh", "-c", f"echo x >> {log}")
    assert log.read_text() == "x\n" * 3
    assert said.stderr.count("no space left on device") == 1
    assert said.returncode == 125  # what was asked for is not there
    assert "3 runs" in said.stdout


def test_a_full_disk_changes_nothing_in_how_a_single_run_ends() -> None:
    said = ran("--format", "jsonl", "--output", "/dev/full", "--", "sh", "-c", "echo out; exit 7")
    assert (said.returncode, said.stdout) == (7, "out\n")
    assert said.stderr.count("no space left on device") == 1


def test_a_disk_that_fills_leaves_whole_lines(tmp_path: Path) -> None:
    """A limit of the size of files ends a write as a full disk does: with a part of it."""
    receipt = tmp_path / "receipt.jsonl"
    command = words("--runs", "30", "--output", receipt, "--", "true")
    limited = ["prlimit", "--fsize=12000:12000", *command]
    said = subprocess.run(limited, capture_output=True, text=True, check=False)
    kinds = [line["kind"] for line in lines_of(receipt)]
    assert kinds[0] == "header"
    assert 0 < kinds.count("repetition") < 30
    assert said.stderr.count("the receipt ends there") == 1
    assert "30 runs" in said.stdout


def test_a_closed_standard_output_is_told_before_anything_is_run(tmp_path: Path) -> None:
    command = words("--runs", "2", "--output", tmp_path / "receipt.jsonl", "--", "touch", tmp_path / "ran")
    said = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], capture_output=True, text=True, check=False)
    assert said.returncode == 125
    assert "standard output is closed" in said.stderr
    assert not (tmp_path / "ran").exists()


def test_a_reader_that_went_away_leaves_a_whole_receipt(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        ran("--runs", "2", "--output", receipt, "--", "true", capture_output=False, stdout=pipe)
    assert lines_of(receipt)[-1]["kind"] == "footer"


def test_ctrl_c_in_a_repetition_keeps_what_was_measured(tmp_path: Path) -> None:
    receipt, log = tmp_path / "receipt.jsonl", tmp_path / "log"
    script = f"echo x >> {log}; [ $(wc -l < {log}) -lt 3 ] || exec sleep 60"
    with subprocess.Popen(words("--runs", "9", "--output", receipt, "--", "sh", "-c", script)) as process:
        wait_until(lambda: log.exists() and log.read_text() == "x\n" * 3)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 128 + signal.SIGINT
    _, *repetitions, footer = lines_of(receipt)
    assert [each["number"] for each in repetitions] == [1, 2, 3]
    assert footer["ended"] == {"by": "signal", "number": 2, "name": "SIGINT"}


def test_ctrl_c_in_the_last_calibration_keeps_what_was_measured(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    command = words("--calibration", "1", "--runs", "2", "--output", receipt, "--", "true")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        wait_until(
            lambda: receipt.exists() and receipt.read_bytes().count(b"\n") == 3 and children_of(process.pid) != []
        )
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT
    assert "2 runs" in said
    assert lines_of(receipt)[-1]["ended"] == {"by": "signal", "number": 2, "name": "SIGINT"}


def test_a_killed_wrapper_leaves_what_was_measured(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    with subprocess.Popen(words("--runs", "900", "--output", receipt, "--", "sleep", "0.05")) as process:
        wait_until(lambda: receipt.exists() and receipt.read_bytes().count(b"\n") >= 3)
        process.kill()
    kinds = [line["kind"] for line in lines_of(receipt)]
    assert kinds == ["header"] + ["repetition"] * (len(kinds) - 1)
