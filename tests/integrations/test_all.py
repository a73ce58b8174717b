"""All integrations: their pages, their scripts, and how they are written to a folder."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from noisewatch.integrations import Integration, integrations
from noisewatch.program import name_for_root
from noisewatch.surfaces.cli.parsers import build_parsers
from tests.surfaces.running import Run

ALL = integrations()
SECTIONS = ["What it does", "Installation", "On a noisy machine", "Removal", "Sources"]
_CI = ("buildkite", "github", "gitlab", "jenkins")
_SHELLS = ("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/env bash")
_ON_MACHINES = [
    integration for integration in ALL if integration.name in ("kubernetes", "nagios", "prometheus", "slurm", "systemd")
]
_FILES = [(integration, path) for integration in ALL for path in integration.texts]


def _case_id(value: object) -> str:
    return value.name if isinstance(value, Integration) else str(value)


@pytest.mark.parametrize("integration", ALL, ids=_case_id)
def test_a_page_has_all_sections_and_names_each_file(integration: Integration) -> None:
    assert re.findall("^## (.*)$", integration.page, re.MULTILINE) == SECTIONS
    assert [path for path in integration.texts if Path(path).name not in integration.page] == []
    assert integration.texts
    assert len(integration.summary) <= 100


@pytest.mark.parametrize("integration", ALL, ids=_case_id)
def test_the_commands_of_a_page_are_commands_of_noisewatch(integration: Integration) -> None:
    parser, _ = build_parsers()
    lines = re.findall(r"^(?:sudo )?(noisewatch .*)$", integration.page, re.MULTILINE)
    assert lines
    for line in lines:
        parser.parse_args(shlex.split(line, comments=True)[1:])


@pytest.mark.parametrize("integration", _ON_MACHINES, ids=_case_id)
def test_the_removal_deletes_no_shared_folder(integration: Integration) -> None:
    removal = integration.page.partition("## Removal")[2]
    deleted = re.findall(r"(?:^|sudo )rm (.*)$", removal, re.MULTILINE)
    assert deleted
    paths = {path for line in deleted for path in shlex.split(line, comments=True)}
    assert paths & {"/etc/noisewatch", "/var/lib/noisewatch"} == set()


@pytest.mark.parametrize("integration", _ON_MACHINES, ids=_case_id)
def test_commands_of_a_page_that_change_etc_run_as_root(integration: Integration) -> None:
    changing = r"^((?:sudo )?(?:rm|rmdir|mkdir|cp|install|ln|noisewatch integrations) .*/etc/.*)$"
    lines = re.findall(changing, integration.page, re.MULTILINE)
    assert [line for line in lines if not line.startswith("sudo ")] == []


@pytest.mark.parametrize(("integration", "path"), _FILES, ids=_case_id)
def test_scripts_pass_shellcheck(integration: Integration, path: str, tmp_path: Path) -> None:
    text = integration.files_for("noisewatch")[path]
    if not text.startswith(_SHELLS):
        assert not text.startswith("#!/"), "a script that no test reads"
        return
    script = tmp_path / "script"
    script.write_text(text)
    shellcheck = Path(sys.executable).parent / "shellcheck"
    result = subprocess.run([shellcheck, script], capture_output=True, text=True, check=False)
    assert result.stdout == ""


@pytest.mark.parametrize(("integration", "path"), _FILES, ids=_case_id)
def test_structured_files_are_read_by_their_parsers(integration: Integration, path: str) -> None:
    text = integration.files_for("noisewatch")[path]
    if path.endswith(".json"):
        json.loads(text)
    if path.endswith((".yml", ".yaml")):
        list(yaml.safe_load_all(text))
    assert "@noisewatch@" not in text


@pytest.mark.parametrize("integration", [integration for integration in ALL if integration.name in _CI], ids=_case_id)
def test_ci_engines_on_one_machine_do_not_share_a_folder(integration: Integration) -> None:
    text = "\n".join([integration.page, *integration.texts.values()])
    assert set(re.findall(r"/etc/noisewatch(?:/(\w+)|\b)", text)) == {integration.name}
    removal = integration.page.partition("## Removal")[2]
    assert re.findall("^sudo rm (.*)$", removal, re.MULTILINE) == [f"-r /etc/noisewatch/{integration.name}"]


def test_the_list_shows_each_integration_with_its_summary(run: Run) -> None:
    text = run("integrations").out
    for integration in ALL:
        assert integration.name in text
        assert integration.summary in text


@pytest.mark.parametrize("integration", ALL, ids=_case_id)
def test_files_are_written_and_scripts_are_executable(run: Run, tmp_path: Path, integration: Integration) -> None:
    folder = tmp_path / "out"
    assert run("integrations", integration.name, folder).status == 0
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    assert paths.keys() == integration.texts.keys()
    scripts = {path for path, text in integration.texts.items() if text.startswith("#!")}
    assert {path for path, file in paths.items() if file.stat().st_mode & 0o111} == scripts
    assert run("integrations", integration.name, folder).status == 0, "a second run succeeds too"


def test_a_changed_file_is_kept_unless_forced(run: Run, tmp_path: Path) -> None:
    name, path = ALL[0].name, next(iter(ALL[0].texts))
    run("integrations", name, tmp_path / "out")
    changed = tmp_path / "out" / path
    changed.write_text("mine\n")
    result = run("integrations", name, tmp_path / "out")
    assert (result.status, changed.read_text()) == (2, "mine\n")
    assert "--force" in result.err
    assert run("integrations", name, tmp_path / "out", "--force").status == 0
    assert changed.read_text() != "mine\n"


def test_an_unknown_engine_is_reported_with_the_known_ones(run: Run) -> None:
    result = run("integrations", "\x1b[31mevil")
    assert result.status == 2
    assert "\x1b" not in result.err
    assert ALL[0].name in result.err
    assert "Traceback" not in result.err


def test_a_folder_that_cannot_be_written_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("integrations", ALL[0].name, tmp_path / "file")
    assert result.status == 2
    assert len(result.err.splitlines()) == 1


def test_explain_prints_the_page(run: Run) -> None:
    assert run("integrations", ALL[0].name, "--explain").out == name_for_root(ALL[0].page)


@pytest.mark.parametrize("option", ["--explain", "--force"])
def test_an_option_of_one_engine_needs_its_name(run: Run, option: str) -> None:
    result = run("integrations", option)
    assert (result.status, result.out) == (2, "")
    assert "need the name of an integration" in result.err
