"""`explain` lists all checks and has a page for each."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.program import start_command
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.parsers import build_parsers
from noisewatch.surfaces.reports.explain import differences, text_of_check
from noisewatch.surfaces.reports.topics import ALL_TOPICS, TOPICS
from tests import CHECKOUT
from tests.surfaces.running import Run

_IDS = [check.id for check in CATALOGUE]
_ALL_NAMES = {*_IDS, *(check.area for check in CATALOGUE), *TOPICS, ALL_TOPICS}


def test_the_list_has_one_row_for_each_check(run: Run) -> None:
    result = run("explain")
    ids = [line.split()[0] for line in result.out.partition("\n\n")[0].splitlines()]
    assert (ids[0], sorted(ids[1:])) == ("CHECK", sorted(_IDS))
    assert (result.status, result.err) == (0, "")


def test_a_row_shows_area_severity_and_question(run: Run) -> None:
    rows = {line.split()[0]: line for line in run("explain").out.partition("\n\n")[0].splitlines()}
    for check in CATALOGUE:
        assert rows[check.id].split()[1:3] == [check.area, check.severity]
        assert rows[check.id].endswith(check.question)


@pytest.mark.parametrize("check", CATALOGUE, ids=lambda check: check.id)
def test_a_page_has_all_sections_and_the_whole_declaration(run: Run, check: Check) -> None:
    result = run("explain", check.id)
    sections = {
        f"{check.id} ({check.area}, {check.severity})": True,
        "Why it can block": check.ground,
        "Why it matters": True,
        "What it reads": True,
        "Limits": check.limits,
        "Under other profiles": differences(check),
        "If it cannot be read": check.answered_by,
        "In the monitor": check.asks_starter,
        "What to do": True,
        "References": True,
    }
    headings = [line for line in result.out.splitlines() if line and not line.startswith(" ")]
    assert headings == [section for section, is_there in sections.items() if is_there]
    declared = [check.question, check.why, check.remedy, *check.reads, *check.sources]
    assert [text for text in declared if not text.strip()] == []
    assert min(len(check.reads), len(check.sources)) > 0
    declared += [
        limit.reason.removeprefix("half of the budget").removeprefix("a fifth of the budget") for limit in check.limits
    ]
    declared += [check.ground] if check.ground else []
    assert [text for text in declared if " ".join(text.split()) not in result.words] == []
    assert result.status == 0


def test_a_limit_shows_its_effect_and_its_part_of_the_budget(run: Run) -> None:
    words = run("explain", "tasks-on-target").words
    assert (
        "passes: share of a target CPU that one task may take: warns above 0.2% (a fifth of the budget of 1%)" in words
    )
    assert (
        "fails: share of a target CPU that one task may take: fails above 0.5% (half of the budget of 1%: results"
        in words
    )
    words = run("explain", "target-cpu-busy").words
    assert (
        "fails above 5% (for budgets of 1% to 10%; proportionally lower for smaller budgets, half of the budget for "
        "larger budgets;" in words
    )
    assert "fails: share of memory left: fails below 5% (" in run("explain", "memory-short").words
    assert (
        "fails: pages swapped in or out, under the profiles latency and strict: fails above 0 pages ("
        in run("explain", "swapping").words
    )


def test_the_ground_on_which_a_check_blocks_is_in_all_formats(run: Run) -> None:
    assert (
        "takes time: blocks if its measured effect is too large for the budget"
        in run("explain", "tasks-on-target").words
    )
    assert "- takes time: blocks if" in run("explain", "tasks-on-target", "--format", "markdown").out
    assert run("explain", "cpu-quota", "--format", "json").json["ground"] == "invalidates"


def test_the_topic_verdict_lists_blocking_checks_with_their_grounds(run: Run) -> None:
    out, table = run("explain", "verdict").words, run("explain", "verdict", "--format", "markdown").out
    grounds = run("explain", "verdict", "--format", "json").json["grounds"]
    for check in CATALOGUE:
        assert (f"`{check.id}` (" in out.partition("What can block, and why")[2]) == (check.ground is not None)
        assert (f"| `{check.id}` | {check.ground} |" in table) == (check.ground is not None)
    assert sorted(name for names in grounds.values() for name in names) == sorted(
        check.id for check in CATALOGUE if check.ground is not None
    )


def test_prose_is_wrapped_to_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = run("explain", "cpu-quota").out
    monkeypatch.setenv("COLUMNS", "300")
    prose = [line for line in wide.splitlines() if not line.strip().startswith("fails:")]  # limits are a line each
    assert max(map(len, prose)) <= 100


def test_the_list_is_grouped_by_area(run: Run) -> None:
    areas = [line.split()[1] for line in run("explain").out.partition("\n\n")[0].splitlines()[1:]]
    changes = [area for area, before in zip(areas, ["", *areas], strict=False) if area != before]
    assert len(changes) == len(set(changes)) > 5


def test_a_page_shows_what_differs_between_profiles(run: Run) -> None:
    assert (
        "parallel: not asked, because several threads need load balancing"
        in run("explain", "target-not-isolated").words
    )
    assert "strict: blocking" in run("explain", "turbo-enabled").words


def test_json_has_the_whole_declaration(run: Run) -> None:
    checks = run("explain", "--format", "json").json
    assert [check["id"] for check in checks] == _IDS
    turbo = run("explain", "turbo-enabled", "--format", "json").json
    assert turbo in checks
    assert (turbo["severity"]["micro"], turbo["severity"]["strict"]) == ("warning", "blocking")


@pytest.mark.parametrize("arguments", [(), ("cpu-quota",)])
def test_markdown_is_read_by_its_own_parser(run: Run, arguments: tuple[str, ...]) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(run("explain", *arguments, "--format", "markdown").out)
    kinds = {token.type for token in tokens}
    assert ("table_open" in kinds, "heading_open" in kinds) == (not arguments, bool(arguments))


_NAMING = (  # where a text names checks: options and keys of the configuration, and `explain`
    r"--(?:ignore|select|severity|limit)[ =]([a-z][a-z-]*)",
    r"noisewatch explain ([a-z][a-z-]*)",
    r"(?:ignore|select) = \[([^\]]*)\]",
    r"(?:severity|limit) = \{ *([a-z][a-z-]*)",
)


def _names_in(text: str) -> set[str]:
    matches = [name for naming in _NAMING for name in re.findall(naming, text)]
    return {name.strip(' "') for names in matches for name in names.split(",")}


def test_every_check_that_docs_and_examples_name_exists() -> None:
    package = CHECKOUT / "noisewatch"
    guides = sorted((package / "surfaces/reports/topics").glob("*.md"))
    paths = [CHECKOUT / "README.md", *guides, *sorted(package.rglob("*.py"))]
    texts = {path: path.read_text() for path in paths}
    named = {path.relative_to(CHECKOUT).as_posix(): _names_in(text) for path, text in texts.items()}
    assert {path: names - _ALL_NAMES for path, names in named.items() if names - _ALL_NAMES} == {}
    assert named["noisewatch/surfaces/cli/configuration.py"] == {
        *("temporary-files-far-away", "turbo-enabled", "target-cpu-busy")
    }
    assert named["README.md"] > {"turbo-enabled", "tasks-on-target", "virtual-machines"}
    assert named["noisewatch/surfaces/reports/topics/preflight.md"] > {
        *("turbo-enabled", "tasks-on-target", "temporary-files-far-away", "target-cpu-busy")
    }


def test_every_check_that_a_help_names_exists() -> None:
    parser, commands = build_parsers()
    helps = "".join(command.format_help() for command in [parser, *commands.values()])
    assert _names_in(helps) <= _ALL_NAMES


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_reads_the_completions(run: Run, shell: str, tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(run("completion", shell).out)
    assert "turbo-enabled" in script.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    assert subprocess.run([shell, "-n", str(script)], check=False).returncode == 0


@pytest.mark.parametrize(("word", "area"), [("irq", "interrupts"), ("interupts", "interrupts"), ("cpufreq", "clock")])
def test_an_unknown_word_suggests_areas_and_similar_names(run: Run, word: str, area: str) -> None:
    result = run("explain", word)
    assert result.status == 2
    assert f"no such check, area, topic or term; did you mean {area}" in result.err


@pytest.mark.parametrize("command", ["preflight", "calibrate", "screenshot"])
def test_help_ends_with_examples_that_can_be_parsed(command: str) -> None:
    _, commands = build_parsers()
    help_text = commands[command].format_help().replace(f"sudo {start_command()} ", "sudo noisewatch ")
    examples = help_text.partition("examples:\n")[2].partition("\n\n")[0].splitlines()
    assert len(examples) >= 3
    for line in examples:
        words = line.partition("    " if line.startswith("    ") else "  ")[2].split("    ")[0].split(" && ")[0].split()
        parse_arguments(words[words.index("noisewatch") + 1 :])


def test_a_page_does_not_import_the_other_checks() -> None:
    program = (
        "import sys; from noisewatch.surfaces.cli import main\n"
        "try:\n    main(['explain', 'cpu-quota'])\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name for name in result.stderr.split() if name.startswith("noisewatch.judgement.checks.")}
    assert loaded >= {"noisewatch.judgement.checks.cgroup.quota"}
    assert not loaded & (
        {check.answer.__module__ for check in CATALOGUE} - {"noisewatch.judgement.checks.cgroup.quota"}
    )
    assert result.stdout.startswith("cpu-quota (quota, blocking)")


def test_a_narrow_page_ends_its_lines_between_words(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, run("explain", "cpu-quota").out.partition("What to do")[0].splitlines())) <= 60
    for check in CATALOGUE:
        words = text_of_check(check, 100).split()
        for columns in (60, 80):
            page = text_of_check(check, columns)
            assert page.split() == words
            wide = [line for line in page.splitlines() if len(line) > columns]
            assert [line for line in wide if len(line.split()) > 1] == []
