"""The published JSON Schema accepts the verdicts of all kinds of machines, and refuses what is broken."""

from __future__ import annotations

import contextlib
import copy
import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from noisewatch.surfaces.cli import main
from tests import MACHINES
from tests.surfaces.reports.verdicts import rendered, verdict_of_recording
from tests.surfaces.running import Run, quiet_tree, record
from tests.written.quiet_machine import CPUS, process, quiet_files, stat_file

_RECORDINGS = sorted(MACHINES.glob("*.nw"))
_SETTINGS = ("--sample", "0", "--no-calibration")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return _printed("explain", "--schema")


def _printed(*words: str) -> dict[str, Any]:
    """What the command prints; once for all tests, as there are many."""
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())) as printed:
        assert main(words) == 0
    document: dict[str, Any] = json.loads(printed.buffer.getvalue())
    return document


@cache
def _validator(schema: str) -> Draft202012Validator:
    """One, with the references that it has followed, for all documents."""
    return Draft202012Validator(json.loads(schema))


def _complaints(schema: dict[str, Any], document: object) -> list[str]:
    errors = [*_validator(json.dumps(schema)).iter_errors(document)]
    for error in errors:
        errors += error.context or ()  # of values that may be null as well
    return [f"{error.json_path}: {error.message}" for error in errors]


def _definition(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return {"$schema": schema["$schema"], "$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}


@pytest.mark.parametrize("options", [("--detect", "2%"), ("--detect", "2%", "--no-calibration")])
def test_what_shows_a_change_is_in_the_schema(
    run: Run, schema: dict[str, Any], tmp_path: Path, options: tuple[str, ...]
) -> None:
    recording = record(tmp_path / "machine.nw", quiet_files(), quiet_files(3.0))
    document = run("preflight", "--format", "json", *options, "--replay", recording).json
    assert _complaints(schema, document) == []
    assert (document["detect"]["reason"] is None) == bool(document["detect"]["rows"]) == (len(options) == 2)


def _disturbed(tmp_path: Path) -> Path:
    before = quiet_files() | process(900, "hog", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | process(900, "hog", 2, 1_500_000_000, allowed="0-3")
    after["/proc/stat"] = stat_file({2: 150}, 300)
    return record(tmp_path / "disturbed.nw", before, after)


def test_the_schema_is_one_of_draft_2020_12(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_nothing_forbids_keys_that_are_added_later(schema: dict[str, Any]) -> None:
    assert "unevaluatedProperties" not in json.dumps(schema)
    assert [part for part in schema["$defs"].values() if {"properties", "additionalProperties"} <= part.keys()] == []


@pytest.mark.parametrize("options", [(), ("--no-calibration",), ("--strict",), ("--exit-zero",)], ids=" ".join)
def test_what_the_options_say_is_accepted(run: Run, schema: dict[str, Any], options: tuple[str, ...]) -> None:
    document = run("preflight", "--format", "json", "--replay", MACHINES / "lab-disturbed.nw", *options).json
    assert _complaints(schema, document) == []


@pytest.mark.parametrize("recording", _RECORDINGS, ids=lambda path: path.stem)
def test_the_settings_of_recorded_machines_are_accepted(run: Run, schema: dict[str, Any], recording: Path) -> None:
    document = run("preflight", "--format", "json", "--replay", recording, *_SETTINGS).json
    assert _complaints(schema, document) == []


def test_a_disturbed_machine_with_culprits_and_a_fix_is_accepted(
    run: Run, schema: dict[str, Any], tmp_path: Path
) -> None:
    document = run("preflight", "--format", "json", "--replay", _disturbed(tmp_path)).json
    assert _complaints(schema, document) == []
    assert any(finding["culprits"] and finding["fix"] for finding in document["findings"])
    assert document["calibration"]["cpus"][0]["histogram"]["edges_ns"] is not None
    assert len(document["noise_floor"]) >= 4


@pytest.mark.parametrize("options", [_SETTINGS, ()], ids=["settings", "cannot be sampled"])
def test_a_quiet_copied_tree_is_accepted(
    run: Run, schema: dict[str, Any], unchanged_tree: Path, options: tuple[str, ...]
) -> None:
    document = run("preflight", "--format", "json", "--sysroot", unchanged_tree, *options).json
    assert _complaints(schema, document) == []


def test_a_copied_tree_with_next_to_nothing_in_it_is_accepted(run: Run, schema: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "stat").write_text("cpu0 1 2 3 4 5 6 7 8 9 10\n")
    document = run("preflight", "--format", "json", "--sysroot", tmp_path, *_SETTINGS).json
    assert _complaints(schema, document) == []
    assert document["machine"]["kernel"] is None
    assert document["verdict"] == "unknown"


def test_this_host_is_accepted(run: Run, schema: dict[str, Any]) -> None:
    document = run("preflight", "--format", "json", *_SETTINGS).json
    assert _complaints(schema, document) == []
    assert document["machine"]["is_live"] is True


@pytest.mark.parametrize("recording", _RECORDINGS, ids=lambda path: path.stem)
def test_json_and_its_lines_of_recorded_machines_are_accepted(schema: dict[str, Any], recording: Path) -> None:
    verdict = verdict_of_recording(recording)
    whole = json.loads(rendered("json", verdict))
    head, *findings = map(json.loads, rendered("jsonl", verdict).splitlines())
    assert _complaints(schema, whole) == []
    assert _complaints(_definition(schema, "head"), head) == []
    assert [_complaints(_definition(schema, "finding"), each) for each in findings] == [[]] * len(findings)
    assert {**head, "findings": findings} == whole
    assert "findings" not in head


@pytest.fixture(scope="module")
def _judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    recording = _disturbed(tmp_path_factory.mktemp("recording"))
    return _printed("preflight", "--exit-zero", "--format", "json", "--replay", str(recording))


@pytest.fixture
def document(_judged: dict[str, Any]) -> dict[str, Any]:
    """A copy to be changed, of few findings, as each costs the validator its time."""
    few = [each for each in _judged["findings"] if each["culprits"] and each["fix"]]
    return copy.deepcopy(_judged | {"findings": few + _judged["findings"][:5]})


def _places(document: dict[str, Any]) -> dict[str, Any]:
    """An object of each kind that the schema defines."""
    failed = next(each for each in document["findings"] if each["culprits"] and each["fix"])
    calibration = document["calibration"]
    return {
        "verdict": document,
        "machine": document["machine"],
        "finding": failed,
        "culprit": failed["culprits"][0],
        "fix": failed["fix"],
        "calibration": calibration,
        "calibrated CPU": calibration["cpus"][0],
        "histogram": calibration["cpus"][0]["histogram"],
        "noise floor": document["noise_floor"][0],
    }


_DOCUMENTED = {
    "verdict": "schema noisewatch machine target profile verdict exit_status findings calibration noise_floor "
    "sample_seconds own_cpu_share",
    "machine": "is_live kernel cpu_model virtual container clock_source mains_power",
    "finding": "id area severity status measured limit limit_role unit cpus said reason answered_by evidence "
    "culprits fix",
    "culprit": "kind name pid irq cpu share rate_per_s stolen_ns inferred",
    "fix": "now persist undo needs_root needs_reboot persist_needs_reboot",
    "calibration": "seconds core clock_ns cpus",
    "calibrated CPU": "cpu gaps_per_s stolen_share gap_threshold_ns gap_p50_ns gap_p99_ns gap_max_ns effective_khz "
    "effective_khz_spread_share throughput_drift_share histogram",
    "histogram": "edges_ns counts",
    "noise floor": "sample_ns cv_low cv_expected cv_high max_inflation smallest_change_share samples bounded",
}
_EACH_KEY = [(place, key) for place, keys in _DOCUMENTED.items() for key in keys.split()]


@pytest.mark.parametrize(("place", "key"), _EACH_KEY, ids=lambda word: word)
def test_a_document_that_lacks_a_documented_key_is_refused(
    schema: dict[str, Any], document: dict[str, Any], place: str, key: str
) -> None:
    del _places(document)[place][key]
    assert [each for each in _complaints(schema, document) if f"'{key}' is a required property" in each] != []


@pytest.mark.parametrize(
    ("place", "key"), [each for each in _EACH_KEY if each != ("finding", "measured")], ids=lambda word: word
)
def test_a_document_with_a_value_of_another_type_is_refused(
    schema: dict[str, Any], document: dict[str, Any], place: str, key: str
) -> None:
    _places(document)[place][key] = [{"neither": "number nor text"}]
    assert _complaints(schema, document) != []


def _silent_unknown(document: dict[str, Any]) -> None:
    _places(document)["finding"] |= {"status": "unknown", "reason": None}


def _zero_for_none(document: dict[str, Any]) -> None:
    document["machine"]["container"] = 0


def _cpu_twice(document: dict[str, Any]) -> None:
    document["target"] = [2, 2]


@pytest.mark.parametrize("breaks", [_silent_unknown, _zero_for_none, _cpu_twice])
def test_a_document_that_breaks_a_promise_is_refused(
    schema: dict[str, Any], document: dict[str, Any], breaks: Callable[[dict[str, Any]], None]
) -> None:
    assert _complaints(schema, document) == []
    breaks(document)
    assert len(_complaints(schema, document)) > 0


@pytest.mark.parametrize(
    ("key", "value"),
    [("schema", 2), ("verdict", "fit"), ("exit_status", "0"), ("findings", {}), ("noise_floor", {}), ("target", "2-3")],
)
def test_a_document_with_a_wrong_value_is_refused(
    schema: dict[str, Any], document: dict[str, Any], key: str, value: object
) -> None:
    assert _complaints(schema, document | {key: value}) != []


def test_a_key_that_was_added_is_accepted(schema: dict[str, Any], document: dict[str, Any]) -> None:
    for place in _places(document).values():
        place["added_later"] = {"of": "any type"}
    assert _complaints(schema, document) == []


def test_a_file_that_cannot_be_read_is_an_unknown_that_is_accepted(
    run: Run, schema: dict[str, Any], tmp_path: Path
) -> None:
    root = quiet_tree(tmp_path, {f"{CPUS}/cpu2/cpufreq/scaling_governor": None})
    document = run("preflight", "--format", "json", "--sysroot", root, *_SETTINGS).json
    assert document["verdict"] == "unknown"
    assert _complaints(schema, document) == []
