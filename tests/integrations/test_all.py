"""What holds for each integration: its page, its scripts, and how it is written out."""

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
from noisewatch.program import named_for_root
from noisewatch.surfaces.cli.parsers import build_parsers
from tests.surfaces.running import Run

ALL = integrations()
SECTIONS = ["What it does", "Where it goes", "On a noisy machine", "Take it out again", "Sources"]
_CI = ("buildkite", "github", "gitlab", "jenkins")
_SHELLS = ("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/env bash")
_ON_MACHINES = [each for each in ALL if each.name in ("kubernetes", "nagios", "prometheus", "slurm", "systemd")]
_FILES = [(each, path) for each in ALL for path in each.texts]


def _named(value: object) -> str:
    return value.name if isinstance(value, Integration) else str(value)


@pytest.mark.parametrize("each", ALL, ids=_named)
def test_its_page_has_all_sections_and_names_each_file(each: Integration) -> None:
    assert re.findall("^## (.*)$", each.page, re.MULTILINE) == SECTIONS
    assert [path for path in each.texts if Path(path).name not in each.page] == []
    assert each.texts
    assert len(each.summary) <= 100


@pytest.mark.parametrize("each", ALL, ids=_named)
def test_the_commands_of_its_page_are_commands_of_noisewatch(each: Integration) -> None:
    parser, _ = build_parsers()
    lines = re.findall(r"^(?:sudo )?(noisewatch .*)$", each.page, re.MULTILINE)
    assert lines
    for line in lines:
        parser.parse_args(shlex.split(line, comments=True)[1:])


@pytest.mark.parametrize("each", _ON_MACHINES, ids=_named)
def test_the_way_out_deletes_no_folder_in_which_others_have_files(each: Integration) -> None:
    way_out = each.page.partition("## Take it out again")[2]
    deleted = re.findall(r"(?:^|sudo )rm (.*)$", way_out, re.MULTILINE)
    assert deleted
    paths = {path for line in deleted for path in shlex.split(line, comments=True)}
    assert paths & {"/etc/noisewatch", "/var/lib/noisewatch"} == set()


@pytest.mark.parametrize("each", _ON_MACHINES, ids=_named)
def test_what_its_page_changes_below_etc_it_changes_as_root(each: Integration) -> None:
    changing = r"^((?:sudo )?(?:rm|rmdir|mkdir|cp|install|ln|noisewatch integrations) .*/etc/.*)$"
    lines = re.findall(changing, each.page, re.MULTILINE)
    assert [line for line in lines if not line.startswith("sudo ")] == []


@pytest.mark.parametrize(("each", "path"), _FILES, ids=_named)
def test_scripts_are_free_of_what_shellcheck_finds(each: Integration, path: str, tmp_path: Path) -> None:
    text = each.files_for("noisewatch")[path]
    if not text.startswith(_SHELLS):
        assert not text.startswith("#!/"), "a script that no test reads"
        return
    script = tmp_path / "script"
    script.write_text(text)
    shellcheck = Path(sys.executable).parent / "shellcheck"
    checked = subprocess.run([shellcheck, script], capture_output=True, text=True, check=False)
    assert checked.stdout == ""


@pytest.mark.parametrize(("each", "path"), _FILES, ids=_named)
def test_structured_files_are_read_by_their_parsers(each: Integration, path: str) -> None:
    text = each.files_for("noisewatch")[path]
    if path.endswith(".json"):
        json.loads(text)
    if path.endswith((".yml", ".yaml")):
        list(yaml.safe_load_all(text))
    assert "@noisewatch@" not in text


@pytest.mark.parametrize("each", [each for each in ALL if each.name in _CI], ids=_named)
def test_ci_engines_on_one_machine_do_not_share_a_folder(each: Integration) -> None:
    told = "\n".join([each.page, *each.texts.values()])
    assert set(re.findall(r"/etc/noisewatch(?:/(\w+)|\b)", told)) == {each.name}
    removed = each.page.partition("## Take it out again")[2]
    assert re.findall("^sudo rm (.*)$", removed, re.MULTILINE) == [f"-r /etc/noisewatch/{each.name}"]


def test_the_list_names_each_with_its_summary(run: Run) -> None:
    told = run("integrations").out
    for each in ALL:
        assert each.name in told
        assert each.summary in told


@pytest.mark.parametrize("each", ALL, ids=_named)
def test_its_files_are_written_and_its_scripts_can_be_started(run: Run, tmp_path: Path, each: Integration) -> None:
    folder = tmp_path / "out"
    assert run("integrations", each.name, folder).status == 0
    written = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    assert written.keys() == each.texts.keys()
    scripts = {path for path, text in each.texts.items() if text.startswith("#!")}
    assert {path for path, place in written.items() if place.stat().st_mode & 0o111} == scripts
    assert run("integrations", each.name, folder).status == 0, "the same again"


def test_what_somebody_has_changed_stays_unless_forced(run: Run, tmp_path: Path) -> None:
    name, path = ALL[0].name, next(iter(ALL[0].texts))
    run("integrations", name, tmp_path / "out")
    changed = tmp_path / "out" / path
    changed.write_text("mine\n")
    refused = run("integrations", name, tmp_path / "out")
    assert (refused.status, changed.read_text()) == (2, "mine\n")
    assert "--force" in refused.err
    assert run("integrations", name, tmp_path / "out", "--force").status == 0
    assert changed.read_text() != "mine\n"


def test_an_engine_that_is_not_known_is_told_with_those_that_are(run: Run) -> None:
    refused = run("integrations", "\x1b[31mevil")
    assert refused.status == 2
    assert "\x1b" not in refused.err
    assert ALL[0].name in refused.err
    assert "Traceback" not in refused.err


def test_a_folder_that_cannot_be_written_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = run("integrations", ALL[0].name, tmp_path / "file")
    assert refused.status == 2
    assert len(refused.err.splitlines()) == 1


def test_its_page_is_printed(run: Run) -> None:
    assert run("integrations", ALL[0].name, "--explain").out == named_for_root(ALL[0].page)


@pytest.mark.parametrize("option", ["--explain", "--force"])
def test_an_option_of_one_engine_asks_which(run: Run, option: str) -> None:
    refused = run("integrations", option)
    assert (refused.status, refused.out) == (2, "")
    assert "need the name of an integration" in refused.err
