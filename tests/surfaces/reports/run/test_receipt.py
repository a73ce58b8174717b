"""The receipt of a series: real ones match the schema, and stay readable if the series or a write fails."""

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
from tests.surfaces.reports.run.written_series import UNDISTURBED, disturbed_by, render, written_series


def test_schema_is_draft_2020_12_and_allows_additional_keys() -> None:
    Draft202012Validator.check_schema(schema())
    text = json.dumps(schema())
    assert '"additionalProperties": false' not in text
    assert "unevaluatedProperties" not in text


def test_explain_prints_the_schema_of_runs_and_by_default_of_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--schema", "run"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()
    assert main(["explain", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$id"] == "urn:noisewatch:verdict:1"


def test_line_without_a_required_key_is_refused() -> None:
    whole = read(render("json", written_series(UNDISTURBED)))
    for line, keys in (
        (whole, ("kind", "noisewatch", "footer")),
        (whole["repetitions"][0], ("kind", "verdict")),
        (whole["footer"], ("kind", "own_cpu_s")),
    ):
        for key in keys:
            shortened = {name: value for name, value in line.items() if name != key}
            assert not Draft202012Validator(schema()).is_valid(shortened), key


def test_receipt_has_a_header_a_line_per_repetition_and_a_footer(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    result = ran("--runs", "3", "--output", receipt, "--", "sh", "-c", "sleep 0.01")
    assert result.returncode == 0
    header, *repetitions, footer = lines_of(receipt)
    assert [line["kind"] for line in (*repetitions, footer)] == ["repetition"] * 3 + ["footer"]
    assert [line["number"] for line in repetitions] == [1, 2, 3]
    assert header["target"] == [int(CPU)]
    assert header["attribution"]["is_root"] == (os.geteuid() == 0)
    assert all(line["wall_ns"] == line["ended_ns"] - line["began_ns"] >= 10_000_000 for line in repetitions)
    assert sum(footer["counts"].values()) == footer["commands"][0]["all"]["count"] == 3
    assert footer["ended"] == {"by": "done"}
    assert "3 runs" in result.stdout  # the summary is for the terminal


def test_receipt_has_the_cost_and_the_cpus_of_noisewatch_itself(tmp_path: Path) -> None:
    receipt, others = tmp_path / "receipt.jsonl", os.sched_getaffinity(0) - {int(CPU)}
    ran("--runs", "3", "--output", receipt, "--", "sh", "-c", "sleep 0.25")
    header, *repetitions, footer = lines_of(receipt)
    assert header["own_cost"]["cpu_s"] > 0.01  # starting Python alone takes more
    assert set(header["own_cost"]["cpus"]) == (others or {int(CPU)})
    costs = [repetition["own_cpu_ns"] for repetition in repetitions]
    assert all(100_000 < ns < repetition["wall_ns"] for ns, repetition in zip(costs, repetitions, strict=True))
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
def test_frozen_time_of_the_control_group_is_in_the_receipt_unless_unknown(
    freezing: Freezing, frozen_ns: int | None
) -> None:
    (judged,) = written_series(UNDISTURBED).repetitions
    line = repetition_of(replace(judged, repetition=replace(judged.repetition, freezing=freezing)))
    assert line.frozen_ns == frozen_ns


def test_options_that_affect_the_measurement_are_in_the_receipt(tmp_path: Path) -> None:
    ran("--spread", "--tracer", "none", "--output", tmp_path / "receipt.jsonl", "--", "true")
    header, repetition, _ = lines_of(tmp_path / "receipt.jsonl")
    assert (header["options"]["spread"], header["options"]["tracer"]) == (True, "none")
    assert repetition["placement"]["spread"] == {"pinned": 0, "left": []}


def test_two_commands_are_named_by_letter_with_their_difference(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    ran("--runs", "3", "--against", "sleep 0.02", "--output", receipt, "--", "sleep", "0.01")
    header, *repetitions, footer = lines_of(receipt)
    assert [command["program"] for command in header["commands"]] == ["sleep", "sleep"]
    assert sorted(repetition["command"] for repetition in repetitions) == ["a", "a", "a", "b", "b", "b"]
    assert [command["command"] for command in footer["commands"]] == ["a", "b"]
    assert footer["difference_of_all_pairs"]["pairs"] == 3
    undisturbed = footer["difference"]["pairs"] if footer["difference"] is not None else 0
    assert footer["is_difference_refused"] == (undisturbed < 2)


def test_calibrations_before_and_after_the_series_are_in_the_receipt(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    ran("--calibration", "0.5", "--output", receipt, "--", "true")
    header, _, footer = lines_of(receipt)
    assert [cpu["cpu"] for cpu in header["opening"]["cpus"]] == [int(CPU)]
    assert header["opening"]["noise_floor_of_interruptions"] is not None
    assert footer["closing"]["seconds"] > 0
    change = footer["speed_change"]
    assert (change is None) == (footer["no_speed_change_reason"] != "none")  # too little time on a busy host
    assert change is None or change["cpu"] == int(CPU)


def test_core_and_scheduler_of_the_calibration_are_in_the_receipt(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    ran("--calibration", "0.5", "--output", receipt, "--", "true", env=os.environ | {CHOICE: PYTHON})
    header, *_ = lines_of(receipt)
    assert (header["opening"]["core"], header["opening"]["scheduler"]) == ("python", "other")


@pytest.mark.parametrize(
    ("script", "end"),
    [
        ("exit 3", {"by": "exit", "status": 3}),
        ("kill -KILL $$", {"by": "signal", "number": 9, "name": "SIGKILL"}),
    ],
)
def test_end_of_the_command_is_in_the_receipt_and_is_the_exit_status(
    tmp_path: Path, script: str, end: dict[str, object]
) -> None:
    receipt = tmp_path / "receipt.jsonl"
    result = ran("--output", receipt, "--", "sh", "-c", script)
    assert result.returncode == end.get("status", -signal.SIGKILL)
    assert result.stdout == ""
    assert [line["ended"] for line in lines_of(receipt)[1:]] == [end, {"by": "done"}]


def test_arguments_are_in_the_receipt_only_with_identify(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    ran("--output", receipt, "--", "/bin/sh", "-c", "true # secret")
    assert "secret" not in receipt.read_text()
    assert "/bin" not in json.dumps(lines_of(receipt)[0]["commands"])
    ran("--identify", "--output", receipt, "--", "/bin/sh", "-c", "true # secret")
    assert lines_of(receipt)[0]["commands"][0]["argv"] == ["/bin/sh", "-c", "true # secret"]


def test_hostile_name_is_stored_as_printable_text(tmp_path: Path) -> None:
    name = b"\x1b[31mred a|b\nc <b>&`x` \xff\xfe" + "\u202egnp".encode()
    program, receipt = os.path.join(os.fsencode(tmp_path), name), tmp_path / "receipt.jsonl"
    os.symlink("/bin/true", program)
    assert ran("--identify", "--output", receipt, "--", os.fsdecode(program)).returncode == 0
    command = lines_of(receipt)[0]["commands"][0]
    assert command["program"].isprintable()
    assert all(word.isprintable() for word in command["argv"])


def test_lines_are_printed_without_an_output_file() -> None:
    lines = ran("--runs", "2", "--format", "jsonl", "--", "true").stdout.splitlines()
    assert [read(line)["kind"] for line in lines] == ["header", "repetition", "repetition", "footer"]


def test_standard_output_of_a_single_run_belongs_to_the_command(tmp_path: Path) -> None:
    result = ran("--format", "jsonl", "--", "touch", tmp_path / "ran")
    assert result.returncode == 125
    assert "--output FILE" in result.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("output", ["{}/missing/receipt.jsonl", "{}", "/proc/version/x.jsonl"])
def test_no_command_is_run_if_the_output_cannot_be_opened(tmp_path: Path, output: str) -> None:
    place = output.format(tmp_path)
    result = ran("--format", "jsonl", "--output", place, "--", "touch", tmp_path / "ran")
    assert (result.returncode, result.stdout) == (125, "")
    assert result.stderr.count("\n") == 1
    assert place in result.stderr
    assert not (tmp_path / "ran").exists()


def test_full_disk_is_reported_once_and_does_not_stop_the_series(tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = ran("--runs", "3", "--format", "jsonl", "--output", "/dev/full", "--", "sh", "-c", f"echo x >> {log}")
    assert log.read_text() == "x\n" * 3
    assert result.stderr.count("no space left on device") == 1
    assert result.returncode == 125  # the requested receipt is missing
    assert "3 runs" in result.stdout


def test_full_disk_does_not_change_the_exit_status_of_a_single_run() -> None:
    result = ran("--format", "jsonl", "--output", "/dev/full", "--", "sh", "-c", "echo out; exit 7")
    assert (result.returncode, result.stdout) == (7, "out\n")
    assert result.stderr.count("no space left on device") == 1


def test_a_disk_that_fills_leaves_whole_lines(tmp_path: Path) -> None:
    """A limit of the file size truncates a write as a full disk does."""
    receipt = tmp_path / "receipt.jsonl"
    command = words("--runs", "30", "--output", receipt, "--", "true")
    limited = ["prlimit", "--fsize=12000:12000", *command]
    result = subprocess.run(limited, capture_output=True, text=True, check=False)
    kinds = [line["kind"] for line in lines_of(receipt)]
    assert kinds[0] == "header"
    assert 0 < kinds.count("repetition") < 30
    assert result.stderr.count("the receipt ends here") == 1
    assert "30 runs" in result.stdout


def test_closed_standard_output_is_reported_before_any_command_is_run(tmp_path: Path) -> None:
    command = words("--runs", "2", "--output", tmp_path / "receipt.jsonl", "--", "touch", tmp_path / "ran")
    result = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], capture_output=True, text=True, check=False)
    assert result.returncode == 125
    assert "standard output is closed" in result.stderr
    assert not (tmp_path / "ran").exists()


def test_broken_pipe_leaves_a_complete_receipt(tmp_path: Path) -> None:
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
    assert [repetition["number"] for repetition in repetitions] == [1, 2, 3]
    assert footer["ended"] == {"by": "signal", "number": 2, "name": "SIGINT"}


def test_ctrl_c_in_the_last_calibration_keeps_what_was_measured(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    command = words("--calibration", "1", "--runs", "2", "--output", receipt, "--", "true")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        wait_until(
            lambda: receipt.exists() and receipt.read_bytes().count(b"\n") == 3 and children_of(process.pid) != []
        )
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT
    assert "2 runs" in stdout
    assert lines_of(receipt)[-1]["ended"] == {"by": "signal", "number": 2, "name": "SIGINT"}


def test_killed_wrapper_leaves_the_finished_repetitions(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    with subprocess.Popen(words("--runs", "900", "--output", receipt, "--", "sleep", "0.05")) as process:
        wait_until(lambda: receipt.exists() and receipt.read_bytes().count(b"\n") >= 3)
        process.kill()
    kinds = [line["kind"] for line in lines_of(receipt)]
    assert kinds == ["header"] + ["repetition"] * (len(kinds) - 1)


def test_the_footer_has_the_sentences_of_the_report() -> None:
    series = written_series(*[UNDISTURBED] * 3, disturbed_by("hog"), *[UNDISTURBED] * 2, has_two=True, ended_by=15)
    footer = read(render("json", series))["footer"]["words"]
    report = " ".join(render("text", series).split())
    assert footer["headline"] == "5 of 6 runs undisturbed, 1 disturbed; mostly by hog (pid 900), 50 ms in 1 run"
    assert footer["doubts"] == ["the series was ended by SIGTERM"]
    assert footer["difference"][0].startswith("A (sort) took ")
    assert footer["culprits"] == [["hog (pid 900)", "50 ms", "1", "CPU 2"]]
    for sentence in (footer["headline"], *footer["doubts"], *footer["difference"], " ".join(footer["culprits"][0])):
        assert sentence in report


def test_the_footer_names_no_folder_of_a_command() -> None:
    series = written_series(*[UNDISTURBED] * 6, has_two=True)
    assert "/opt/secret" not in str(read(render("json", series))["footer"]["words"])
