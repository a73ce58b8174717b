"""The published JSON Schema accepts the verdicts of all kinds of machines, and rejects invalid documents."""

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
    return _printed_json("explain", "--schema")


def _printed_json(*words: str) -> dict[str, Any]:
    """Return the JSON that a command prints."""
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())) as stdout:
        assert main(words) == 0
    document: dict[str, Any] = json.loads(stdout.buffer.getvalue())
    return document


@cache
def _validator(schema: str) -> Draft202012Validator:
    """Return a validator that keeps the references it has resolved for all documents."""
    return Draft202012Validator(json.loads(schema))


def _complaints(schema: dict[str, Any], document: object) -> list[str]:
    errors = [*_validator(json.dumps(schema)).iter_errors(document)]
    for error in errors:
        errors += error.context or ()  # errors of values that may also be null
    return [f"{error.json_path}: {error.message}" for error in errors]


def _definition(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return {"$schema": schema["$schema"], "$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}


@pytest.mark.parametrize("options", [("--detect", "2%"), ("--detect", "2%", "--no-calibration")])
def test_detectable_change_is_accepted(
    run: Run, schema: dict[str, Any], tmp_path: Path, options: tuple[str, ...]
) -> None:
    recording = record(tmp_path / "machine.nw", quiet_files(), quiet_files(3.0))
    document = run("preflight", "--format", "json", *options, "--replay", recording).json
    assert _complaints(schema, document) == []
    assert (document["detect"]["reason"] is None) == bool(document["detect"]["rows"]) == (len(options) == 2)


def _record_disturbed(tmp_path: Path) -> Path:
    before = quiet_files() | process(900, "hog", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | process(900, "hog", 2, 1_500_000_000, allowed="0-3")
    after["/proc/stat"] = stat_file({2: 150}, 300)
    return record(tmp_path / "disturbed.nw", before, after)


def test_schema_is_draft_2020_12(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_schema_does_not_forbid_additional_keys(schema: dict[str, Any]) -> None:
    assert "unevaluatedProperties" not in json.dumps(schema)
    assert [part for part in schema["$defs"].values() if {"properties", "additionalProperties"} <= part.keys()] == []


@pytest.mark.parametrize("options", [(), ("--no-calibration",), ("--strict",), ("--exit-zero",)], ids=" ".join)
def test_verdicts_with_options_are_accepted(run: Run, schema: dict[str, Any], options: tuple[str, ...]) -> None:
    document = run("preflight", "--format", "json", "--replay", MACHINES / "lab-disturbed.nw", *options).json
    assert _complaints(schema, document) == []


@pytest.mark.parametrize("recording", _RECORDINGS, ids=lambda path: path.stem)
def test_the_settings_of_recorded_machines_are_accepted(run: Run, schema: dict[str, Any], recording: Path) -> None:
    document = run("preflight", "--format", "json", "--replay", recording, *_SETTINGS).json
    assert _complaints(schema, document) == []


def test_a_disturbed_machine_with_culprits_and_a_fix_is_accepted(
    run: Run, schema: dict[str, Any], tmp_path: Path
) -> None:
    document = run("preflight", "--format", "json", "--replay", _record_disturbed(tmp_path)).json
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


def test_nearly_empty_copied_tree_is_accepted(run: Run, schema: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "stat").write_text("cpu0 1 2 3 4 5 6 7 8 9 10\n")
    document = run("preflight", "--format", "json", "--sysroot", tmp_path, *_SETTINGS).json
    assert _complaints(schema, document) == []
    assert document["machine"]["kernel"] is None
    assert document["verdict"] == "unknown"


def test_verdict_on_this_host_is_accepted(run: Run, schema: dict[str, Any]) -> None:
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
    assert [_complaints(_definition(schema, "finding"), finding) for finding in findings] == [[]] * len(findings)
    assert {**head, "findings": findings} == whole
    assert "findings" not in head


@pytest.fixture(scope="module")
def _disturbed_document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    recording = _record_disturbed(tmp_path_factory.mktemp("recording"))
    return _printed_json("preflight", "--exit-zero", "--format", "json", "--replay", str(recording))


@pytest.fixture
def document(_disturbed_document: dict[str, Any]) -> dict[str, Any]:
    """Return a copy to change, with few findings because each one slows the validator down."""
    few = [finding for finding in _disturbed_document["findings"] if finding["culprits"] and finding["fix"]]
    return copy.deepcopy(_disturbed_document | {"findings": few + _disturbed_document["findings"][:5]})


def _places(document: dict[str, Any]) -> dict[str, Any]:
    """Return an object of each kind that the schema defines."""
    failed = next(finding for finding in document["findings"] if finding["culprits"] and finding["fix"])
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
_DOCUMENTED_KEYS = [(place, key) for place, keys in _DOCUMENTED.items() for key in keys.split()]


@pytest.mark.parametrize(("place", "key"), _DOCUMENTED_KEYS, ids=lambda word: word)
def test_document_without_a_documented_key_is_refused(
    schema: dict[str, Any], document: dict[str, Any], place: str, key: str
) -> None:
    del _places(document)[place][key]
    assert [
        complaint for complaint in _complaints(schema, document) if f"'{key}' is a required property" in complaint
    ] != []


@pytest.mark.parametrize(
    ("place", "key"), [pair for pair in _DOCUMENTED_KEYS if pair != ("finding", "measured")], ids=lambda word: word
)
def test_a_document_with_a_value_of_another_type_is_refused(
    schema: dict[str, Any], document: dict[str, Any], place: str, key: str
) -> None:
    _places(document)[place][key] = [{"neither": "number nor text"}]
    assert _complaints(schema, document) != []


def _remove_reason(document: dict[str, Any]) -> None:
    _places(document)["finding"] |= {"status": "unknown", "reason": None}


def _replace_none_by_zero(document: dict[str, Any]) -> None:
    document["machine"]["container"] = 0


def _repeat_cpu(document: dict[str, Any]) -> None:
    document["target"] = [2, 2]


@pytest.mark.parametrize("damage", [_remove_reason, _replace_none_by_zero, _repeat_cpu])
def test_inconsistent_document_is_refused(
    schema: dict[str, Any], document: dict[str, Any], damage: Callable[[dict[str, Any]], None]
) -> None:
    assert _complaints(schema, document) == []
    damage(document)
    assert len(_complaints(schema, document)) > 0


@pytest.mark.parametrize(
    ("key", "value"),
    [("schema", 2), ("verdict", "fit"), ("exit_status", "0"), ("findings", {}), ("noise_floor", {}), ("target", "2-3")],
)
def test_a_document_with_a_wrong_value_is_refused(
    schema: dict[str, Any], document: dict[str, Any], key: str, value: object
) -> None:
    assert _complaints(schema, document | {key: value}) != []


def test_additional_keys_are_accepted(schema: dict[str, Any], document: dict[str, Any]) -> None:
    for place in _places(document).values():
        place["added_later"] = {"of": "any type"}
    assert _complaints(schema, document) == []


def test_verdict_with_an_unreadable_file_is_accepted(run: Run, schema: dict[str, Any], tmp_path: Path) -> None:
    root = quiet_tree(tmp_path, {f"{CPUS}/cpu2/cpufreq/scaling_governor": None})
    document = run("preflight", "--format", "json", "--sysroot", root, *_SETTINGS).json
    assert document["verdict"] == "unknown"
    assert _complaints(schema, document) == []
