"""`explain TOPIC`: the page for a terminal, as Markdown and as JSON, along with checks and areas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.terms import Area
from noisewatch.surfaces.reports.topics import ALL_TOPICS, GLOSSARY, SUBJECTS, TOPICS
from noisewatch.surfaces.reports.topics.report import parse_page, read_page, terms, text_of_page
from tests.surfaces.running import Run, loaded_by, on_a_terminal

_ISOLATION = [check for check in CATALOGUE if check.area == "isolation"]
_all_topics = pytest.mark.parametrize("topic", TOPICS)


@_all_topics
def test_the_text_is_no_wider_than_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, topic: str) -> None:
    for columns in (100, 80, 300):
        monkeypatch.setenv("COLUMNS", str(columns))
        prose = [line for line in run("explain", topic).out.splitlines() if not line.startswith("      http")]
        code = [line for line in prose if line.startswith("    ") and line.strip() in read_page(topic)]
        assert max(len(line) for line in prose if line not in code) <= min(columns, 100)
        assert max(map(len, code)) <= 100


@_all_topics
def test_text_at_twenty_columns_has_the_same_words(run: Run, monkeypatch: pytest.MonkeyPatch, topic: str) -> None:
    wide = run("explain", topic)
    monkeypatch.setenv("COLUMNS", "20")
    narrow = run("explain", topic)
    assert (narrow.status, narrow.words) == (0, wide.words)
    assert len(narrow.out.splitlines()) > 2 * len(wide.out.splitlines())


@_all_topics
def test_code_is_printed_unchanged(run: Run, topic: str) -> None:
    code = re.findall(r"```sh\n(.*?)```", read_page(topic), flags=re.DOTALL)
    text = run("explain", topic).out
    assert code
    assert all("".join(f"    {line}\n" for line in block.splitlines()) in text for block in code)


@_all_topics
def test_output_to_a_file_is_plain_text(run: Run, topic: str) -> None:
    text = run("explain", topic).out
    assert text.replace("\n", "").isprintable()
    assert "](" not in text


def test_headings_are_bold_in_colour() -> None:
    page = parse_page(read_page("layout"))
    lines = text_of_page(page, 80, in_colour=True).splitlines()
    bold = [line for line in lines if "\x1b" in line]
    plain = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in lines]
    assert bold == [f"\x1b[1m{line}\x1b[0m" for line in plain if line and not line.startswith(" ")]
    assert plain == text_of_page(page, 80, in_colour=False).splitlines()


def test_output_to_a_terminal_is_in_colour() -> None:
    assert on_a_terminal("explain", "ci").startswith(b"\x1b[1m")


@pytest.mark.parametrize("topic", SUBJECTS)
def test_links_refer_to_numbered_sources(run: Run, topic: str) -> None:
    text = run("explain", topic).out
    page = parse_page(read_page(topic))
    above, _, listed = text.partition("\nSources\n")
    numbers = {int(number) for number in re.findall(r"\[(\d+)\]", above)}
    assert numbers
    assert numbers <= set(range(1, len(page.sources) + 1))
    assert [listed.index(source.url) for source in page.sources] == sorted(
        listed.index(source.url) for source in page.sources
    )


@_all_topics
def test_markdown_is_the_page_itself(run: Run, topic: str) -> None:
    text = run("explain", topic, "--format", "markdown").out
    assert text.startswith(read_page(topic))
    kinds = [token.type for token in MarkdownIt("commonmark").enable("table").parse(text)]
    assert ("table_open" in kinds) == (topic in ("counters", "isolation", "verdict"))


@_all_topics
def test_json_has_all_parts_of_the_page(run: Run, topic: str) -> None:
    document = run("explain", topic, "--format", "json").json
    assert list(document) == ["topic", "title", "summary", "sections", "sources", "checks", "grounds"]
    page = read_page(topic)
    texts = [document["summary"], *(section["text"] for section in document["sections"])]
    assert document["topic"] == topic
    assert page.startswith(f"# {document['title']}\n\n{document['summary']}\n\n## {document['sections'][0]['heading']}")
    assert all(text and text in page for text in texts)
    assert {source["url"] for source in document["sources"]} == set(re.findall("<(https[^>]*)>", page))
    assert set(document["checks"]) >= {check.id for check in CATALOGUE if f"`{check.id}`" in page}


def test_a_topic_with_the_name_of_an_area_has_its_checks_too(run: Run) -> None:
    above, _, below = run("explain", "isolation").out.partition("\nChecks of this area\n")
    assert above.startswith("CPU isolation: ")
    assert [line.split("`")[1] for line in below.splitlines() if "- `" in line] == [check.id for check in _ISOLATION]
    assert all(check.question in " ".join(below.split()) for check in _ISOLATION)
    markdown = run("explain", "isolation", "--format", "markdown").out.partition("\n## Checks of this area\n")[2]
    assert all(f"| `{check.id}` |" in markdown for check in _ISOLATION)
    assert set(run("explain", "isolation", "--format", "json").json["checks"]) >= {check.id for check in _ISOLATION}


def test_topics_are_listed_after_the_checks_and_alone(run: Run) -> None:
    everything, alone = run("explain").out, run("explain", ALL_TOPICS).out
    assert everything.endswith(f"\n\n{alone}")
    assert [line.split()[0] for line in alone.splitlines()] == ["TOPIC", *TOPICS]
    assert max(map(len, alone.splitlines())) <= 100
    markdown = run("explain", "--format", "markdown").out
    assert markdown.endswith(f"\n\n{run('explain', ALL_TOPICS, '--format', 'markdown').out}")
    listed = run("explain", ALL_TOPICS, "--format", "json").json
    assert [topic["topic"] for topic in listed] == list(TOPICS)
    assert listed[0] == run("explain", TOPICS[0], "--format", "json").json


@pytest.mark.parametrize(
    ("word", "topic"),
    {
        "numma": "numa",
        "layouts": "layout",
        "Turbo": "turbo",
        "statistic": "statistics",
        "topic": "topics",
        "smt": "hyper-threads",
        "aslr": "layout",
        "minimum": "statistics",
        "github": "ci",
        "cloud": "virtual-machines",
    }.items(),
)
def test_similar_topics_are_suggested_for_an_unknown_word(run: Run, word: str, topic: str) -> None:
    ran = run("explain", word)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "no such check, area, topic or term; did you mean " in ran.err
    assert topic in re.split(r", | or |\?", ran.err.partition("did you mean ")[2])


@pytest.mark.parametrize(
    "name", ["../../../../etc/passwd", "layout.md", "\x1b[31mlayout", "\u202eturbo", "ci\x00", "x" * 5000, " "]
)
def test_a_hostile_name_is_refused_in_one_line(run: Run, name: str) -> None:
    ran = run("explain", name)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.rstrip("\n").isprintable()


@pytest.mark.parametrize("option", ["--ignore", "--select"])
def test_option_for_checks_refuses_a_topic(run: Run, option: str, unchanged_tree: Path) -> None:
    ran = run("preflight", option, "numa", "--sample", "0", "--no-calibration", "--sysroot", unchanged_tree)
    assert ran.status == 2
    assert "no such check or area" in ran.err


@pytest.mark.parametrize("arguments", [("explain",), ("explain", "cpu-quota"), ("explain", ALL_TOPICS)])
def test_markdown_parser_is_loaded_for_pages_only(arguments: tuple[str, ...]) -> None:
    libraries = {"markdown_it", "rich", "textual"}
    assert not libraries & loaded_by(*arguments)
    assert libraries & loaded_by("explain", "layout") == {"markdown_it"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_offers_topics_and_areas(run: Run, shell: str) -> None:
    script = run("completion", shell).out
    (offered,) = [line for line in script.splitlines() if "tasks-on-target" in line and "hyper-threads" in line]
    assert all(re.search(rf"\b{name}\b", offered) for name in (*TOPICS, ALL_TOPICS, "interrupts"))


@pytest.mark.parametrize("name", ["MDE", "mde", "minimum-detectable-effect", "exit", "Exit status", "unattributed"])
def test_a_term_prints_its_section_of_the_glossary(run: Run, name: str) -> None:
    printed = run("explain", name)
    heading = printed.out.partition("\n")[0]
    assert name.lower().replace("-", " ") in heading.lower().split(", ")
    assert printed.out.strip() in run("explain", GLOSSARY).out
    section = run("explain", name, "--format", "json").json
    assert section["heading"] == heading
    assert run("explain", name, "--format", "markdown").out == f"## {heading}\n\n{section['text']}\n"


def test_a_misspelt_term_is_suggested(run: Run) -> None:
    assert "no such check, area, topic or term; did you mean unattributed" in run("explain", "unatributed").err


def test_no_term_hides_a_check_area_or_topic() -> None:
    assert terms().keys() & {check.id for check in CATALOGUE} == set()
    assert terms().keys() & {*TOPICS, ALL_TOPICS} == set()
    assert terms().keys() & set(Area) == set()
