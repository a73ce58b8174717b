"""The help groups commands by question and options by topic; the shipped manual page matches the parser."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

import noisewatch
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.help import COMMANDS, COMMANDS_BY_QUESTION
from noisewatch.surfaces.cli.parsers import build_parsers
from tests.surfaces.cli.manual import PAGE, manual, newest_release
from tests.surfaces.running import Run

_PARSER, _COMMANDS = build_parsers()


def test_the_help_lists_every_command_once_below_its_question() -> None:
    text = _PARSER.format_help().partition("\ncommands:\n")[2].partition("\noptions:\n")[0]
    rows = re.findall(r"^(?:  (\S.*):|    (\S+) .*)$", text, re.MULTILINE)
    expected = [
        row for question, names in COMMANDS_BY_QUESTION.items() for row in ((question, ""), *(("", n) for n in names))
    ]
    assert rows == expected
    assert sorted(COMMANDS) == sorted(_COMMANDS)
    assert [question.split()[0] for question in COMMANDS_BY_QUESTION] == [
        "watch",
        "gate",
        "measure",
        "machines",
        "share",
    ]


def test_the_help_has_five_examples_that_can_be_parsed() -> None:
    examples = _PARSER.format_help().partition("examples:\n")[2].partition("\n\n")[0].splitlines()
    assert len(examples) == 5
    for line in examples:
        command = line.strip().partition("   ")[0].partition(" && ")[0]
        parse_arguments(command.split()[1:])


@pytest.mark.parametrize("command", ["", *_COMMANDS])
def test_options_are_listed_in_groups_with_titles(command: str) -> None:
    """Commands with very few options are exempt."""
    parser = _COMMANDS.get(command, _PARSER)
    (untitled,) = [group for group in parser._action_groups if group.title == "options"]
    names = {action.option_strings[-1] for action in untitled._group_actions} - {"--help", "--version"}
    assert names <= {"integrations": {"--explain", "--force"}, "explain": {"--schema"}}.get(command, set())


@pytest.mark.parametrize("command", _COMMANDS)
def test_no_two_groups_of_a_command_have_the_same_title(command: str) -> None:
    titles = [group.title for group in _COMMANDS[command]._action_groups]
    assert len(titles) == len(set(titles))


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="each version of Python formats usage lines in its own way")
def test_the_manual_page_matches_the_parser() -> None:
    assert PAGE.read_text() == manual(), "python -m tests.surfaces.cli.manual writes it anew"


def test_the_newest_release_in_the_list_of_changes_is_this_version() -> None:
    assert newest_release()[0] == noisewatch.__version__


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="Debian's package mandoc is not installed")
def test_the_manual_page_is_well_formed() -> None:
    result = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", PAGE], capture_output=True, text=True, check=False
    )
    assert (result.stdout, result.returncode) == ("", 0)


def test_help_and_error_name_the_same_minimum_of_settle(run: Run) -> None:
    error = run("calibrate", "--settle", "1").err
    minimum = error.partition("expected seconds from ")[2].partition(" ")[0]
    program = [sys.executable, "-m", "noisewatch", "calibrate", "--help"]
    text = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert f"for at most SECONDS ({minimum} or more, " in " ".join(text.split())
    assert "+" not in error
