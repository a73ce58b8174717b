"""The topic pages match this version: the checks, commands and options that they name exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from noisewatch.errors import UsageError
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.terms import Area
from noisewatch.kinds import Work
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.parsers import build_parsers
from noisewatch.surfaces.reports.topics import ALL_TOPICS, GUIDES, SUBJECTS, TOPICS, report
from noisewatch.surfaces.reports.topics.report import BlockKind, TopicPage, parse_page, read_page
from noisewatch.surfaces.reports.verdict.formats import FORMATS
from tests import CHECKOUT

_IDS = {check.id for check in CATALOGUE}
_PAGES = {topic: parse_page(read_page(topic)) for topic in TOPICS}
_LONGEST, _LONGEST_GUIDE, _WIDEST = 62, 145, 100  # lines of a page; columns of its code in a terminal
_SECTIONS = ("What to do", "What noisewatch does", "What it cannot see")
_all_pages = pytest.mark.parametrize(("topic", "page"), _PAGES.items(), ids=_PAGES)
_all_subjects = pytest.mark.parametrize(("topic", "page"), [(topic, _PAGES[topic]) for topic in SUBJECTS], ids=SUBJECTS)
_all_guides = pytest.mark.parametrize(("topic", "page"), [(topic, _PAGES[topic]) for topic in GUIDES], ids=GUIDES)


def _commands(page: TopicPage) -> list[str]:
    """Return all noisewatch commands of a page, in code and in prose."""
    lines = "\n".join(_lines_of_code(page)).replace("\\\n", " ").splitlines()
    texts = [*lines, *page.code]
    return [
        quoted or bare for text in texts for quoted, bare in re.findall(r"'(noisewatch [^']*)'|\b(noisewatch .*)", text)
    ]


def _lines_of_code(page: TopicPage) -> list[str]:
    blocks = [block for section in (page.summary, *page.sections) for block in section.blocks]
    return [line for block in blocks if block.kind == BlockKind.CODE for line in block.text.splitlines()]


def _parts(command: str) -> list[list[str]]:
    """Return the words of each noisewatch command in a line of shell, without comments and redirections."""
    parts = [part for part in re.split(r" (?:&&|\|\|?) |; ", command) if part.startswith("noisewatch ")]
    return [[word for word in shlex.split(part, comments=True) if not word.startswith(">")] for part in parts]


def _options() -> set[str]:
    parser, commands = build_parsers()
    actions = [action for command in (parser, *commands.values()) for action in command._actions]
    return {option for action in actions for option in action.option_strings}


def test_the_folder_has_a_page_for_each_topic_and_no_other() -> None:
    assert {path.stem for path in Path(report.__file__).parent.glob("*.md")} == set(TOPICS)


def test_only_an_area_may_have_the_name_of_a_topic() -> None:
    names = {*TOPICS, ALL_TOPICS}
    assert names & _IDS == set()
    assert names & set(Area) == {"isolation"}
    assert len(names) == len(TOPICS) + 1


@_all_guides
def test_a_guide_shows_its_commands_first_and_ends_with_its_limits(topic: str, page: TopicPage) -> None:
    kinds = [block.kind for block in page.summary.blocks]
    assert kinds == [BlockKind.PARAGRAPH, BlockKind.CODE]
    assert page.sections[-1].heading == _SECTIONS[-1]
    assert len(page.sections) >= 4
    assert all(section.blocks for section in page.sections)
    assert len(read_page(topic).splitlines()) <= _LONGEST_GUIDE


def test_each_guide_is_linked_from_the_readme() -> None:
    readme = (CHECKOUT / "README.md").read_text()
    for topic in GUIDES:
        assert f"(noisewatch/surfaces/reports/topics/{topic}.md)" in readme


def test_readme_is_short_and_its_links_are_valid() -> None:
    readme = (CHECKOUT / "README.md").read_text()
    assert len(readme.splitlines()) <= 220
    links = re.findall(r"\]\(([^)#]+)\)", readme)
    assert [path for path in links if not path.startswith("https:") and not (CHECKOUT / path).exists()] == []


def test_commands_in_the_readme_can_be_parsed() -> None:
    blocks = re.findall(r"```(?:sh|yaml)\n(.*?)```", (CHECKOUT / "README.md").read_text(), flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    commands = [match[0] for line in lines if (match := re.search(r"(?<![/\w])noisewatch .*", line))]
    parts = [words for command in commands for words in _parts(command)]
    assert len(parts) >= 20
    for words in parts:
        assert parse_arguments(words[1:]).command == words[1]


@_all_subjects
def test_page_has_its_sections_and_fits_the_length(topic: str, page: TopicPage) -> None:
    headings = [section.heading for section in page.sections]
    assert [heading for heading in headings if heading in _SECTIONS] == list(_SECTIONS)
    assert [block.kind for block in page.summary.blocks] == [BlockKind.PARAGRAPH]
    assert all(section.blocks for section in page.sections)
    assert len(read_page(topic).splitlines()) <= _LONGEST


@_all_pages
def test_names_in_a_page_are_checks_topics_or_formats(topic: str, page: TopicPage) -> None:
    names = {code for code in page.code if re.fullmatch(r"[a-z]+(-[a-z]+)+", code)}
    assert names - _IDS - set(TOPICS) - set(FORMATS) == set()


@_all_pages
def test_page_has_checks_and_commands(topic: str, page: TopicPage) -> None:
    assert _IDS.intersection(page.code)
    assert _commands(page)


@_all_pages
def test_commands_in_a_page_can_be_parsed(topic: str, page: TopicPage) -> None:
    _, commands = build_parsers()
    for words in [words for command in _commands(page) for words in _parts(command)]:
        if len(words) == 2 and words[1] in commands:  # the name of a command, in prose
            continue
        if words[-1] == "--":  # a prefix for a command
            words.append("true")
        assert parse_arguments(words[1:]).command == (None if words[1].startswith("-") else words[1])


@_all_pages
def test_options_in_a_page_exist(topic: str, page: TopicPage) -> None:
    options = {code.split()[0] for code in page.code if code.startswith("--")}
    assert options - _options() == set()


def test_unknown_option_would_be_detected() -> None:
    with pytest.raises(UsageError, match="--no-such-option"):
        parse_arguments(["run", "--no-such-option", "--", "true"])
    assert {"--aa", "--gate", "--profile"} <= _options()


@_all_pages
def test_sources_have_different_addresses(topic: str, page: TopicPage) -> None:
    addresses = [source.url for source in page.sources]
    assert len(addresses) >= (3 if topic in SUBJECTS else 0)
    assert len(set(addresses)) == len(addresses)
    assert [url for url in addresses if not re.fullmatch(r"https://[a-z0-9.-]+/\S+", url)] == []
    assert [
        url for url in addresses if "doi" in url and not re.fullmatch(r"https://doi\.org/10\.\d{4,}/\S+", url)
    ] == []
    assert all(re.search(r"[A-Za-z]{3}.*[.?!]$", source.text) for source in page.sources)


@_all_subjects
def test_a_figure_of_the_summary_has_a_source(topic: str, page: TopicPage) -> None:
    summary = page.summary.blocks[0].text
    assert re.search(r"\d", re.sub(r"\[\d+\]", "", summary))
    assert re.search(r"\[1\]", summary)


@_all_pages
def test_code_fits_the_width_with_its_indent(topic: str, page: TopicPage) -> None:
    assert max(map(len, _lines_of_code(page))) <= _WIDEST - 4


def test_kinds_of_work_that_a_page_names_exist() -> None:
    kinds = set(_PAGES["hyper-threads"].code) & set(Work)
    assert kinds == {"throughput", "interpreter", "latency"}


def test_source_has_the_same_text_on_all_pages() -> None:
    texts: dict[str, set[str]] = {}
    for page in _PAGES.values():
        for source in page.sources:
            texts.setdefault(source.url, set()).add(source.text)
    assert {url: titles for url, titles in texts.items() if len(titles) > 1} == {}
