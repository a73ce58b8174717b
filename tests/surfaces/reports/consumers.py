"""The readers of each format: every one raises, or fails an assertion, where its format is broken.

Each returns the texts that it found, so that a test can look for a name in them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import xmlschema
from jsonschema import Draft202012Validator
from junitparser import JUnitXml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from prometheus_client.parser import text_string_to_metric_families

from noisewatch.documents.schema import schema_text

COMMANDS = ("error", "warning", "notice", "debug", "group", "endgroup", "add-mask", "set-output", "stop-commands")
_MARKUP = {"link_open", "image", "html_inline", "em_open", "strong_open", "s_open", "code_block", "hr"}
_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = rf"@?(?:(?:~|{_NUMBER})?:)?(?:{_NUMBER})?"
_DATUM = rf"'((?:[^'=]|'')+)'=({_NUMBER})(s|us|ms|%|B|KB|MB|TB|c)?((?:;(?:{_RANGE})){{0,2}}(?:;(?:{_NUMBER})?){{0,2}})"
_SAMPLE = re.compile(r'([a-z_][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\n"])*",?)*)\})? (\S+)')


def read_text(report: str) -> list[str]:
    """Lines for a terminal, without anything that it would obey."""
    lines = report.split("\n")
    assert lines.pop() == ""
    assert [line for line in lines if not line.isprintable()] == []
    assert re.match(r"(STABLE|UNSTABLE|UNKNOWN): .*\(exit \d\)$", lines[-1])
    return lines


def read_json(report: str) -> list[str]:
    """A document that the published schema accepts."""
    document = json.loads(report, parse_constant=_refuse)
    _schema("#/$defs/head").validate(document)
    _whole_schema().validate(document)
    return list(_texts(document))


def read_jsonl(report: str) -> list[str]:
    """A head, and a finding a line."""
    head, *findings = (json.loads(line, parse_constant=_refuse) for line in report.removesuffix("\n").split("\n"))
    _schema("#/$defs/head").validate(head)
    for finding in findings:
        _schema("#/$defs/finding").validate(finding)
    return list(_texts(findings))


def read_junit(report: str) -> list[str]:
    """A report that the schema and a library accept, its totals right."""
    _junit_schema().validate(report)
    suites = JUnitXml.fromstring(report.encode())
    told = (suites.tests, suites.failures, suites.errors, suites.skipped)
    suites.update_statistics()  # type: ignore[no-untyped-call]  # the library has no types there
    assert (suites.tests, suites.failures, suites.errors, suites.skipped) == told
    cases = [case for suite in suites for case in suite]
    assert len(cases) == told[0]
    results = [result for case in cases for result in case.result]
    outputs = [case.system_out for case in cases if case.system_out]
    return [text for result in results for text in (result.message, result.text) if text] + outputs


def read_github(report: str) -> list[str]:
    """One annotation a line, read as the runner reads what a step prints."""
    lines = report.split("\n")
    assert lines.pop() == ""
    read = [workflow_command(line) for line in lines]
    assert {command for command, _, _ in read} <= {"error", "warning", "notice"}
    assert max(Counter(command for command, _, _ in read).values()) <= 10
    assert [properties.keys() for _, properties, _ in read] == [{"title"}] * len(read)
    return [data for _, _, data in read] + [properties["title"] for _, properties, _ in read]


def workflow_command(line: str) -> tuple[str, Mapping[str, str], str]:
    """`::name key=value,key=value::data`. Raises ValueError where the line is none.

    The end of the properties is the first `::`, and escapes are undone last, `%25` after all others.
    """
    assert "\r" not in line
    assert "\n" not in line
    if not line.startswith("::"):
        raise ValueError(f"{line!r} is not a workflow command")
    head, separator, data = line[2:].partition("::")
    name, _, rest = head.partition(" ")
    if not separator or name not in COMMANDS:
        raise ValueError(f"{line!r} is not a workflow command")
    pairs = [pair.split("=", 1) for pair in rest.strip().split(",") if pair]
    return name, {key: _unescaped(value, "%3A:", "%2C,") for key, value in pairs}, _unescaped(data)


def _unescaped(text: str, *more: str) -> str:
    assert re.search("%(?!25|0D|0A|3A|2C)", text) is None
    for escape in ("%0D\r", "%0A\n", *more, "%25%"):
        text = text.replace(escape[:3], escape[3:])
    return text


def read_nagios(report: str) -> list[str]:
    """A status line with performance data, then lines without a pipe."""
    first, *lines = report.removesuffix("\n").split("\n")
    status, separator, performance = first.partition("|")
    assert report.endswith("\n")
    assert len(report.encode()) <= 8192
    assert separator == "|"
    assert re.fullmatch(r"NOISEWATCH (OK|WARNING|CRITICAL|UNKNOWN): .+", status)
    assert re.fullmatch(f"(?: {_DATUM})+", performance)
    assert [line for line in lines if "|" in line or not line.isprintable()] == []
    labels = [found[1] for found in re.finditer(_DATUM, performance)]
    assert len(set(labels)) == len(labels)
    return [status, *lines]


def perfdata(report: str) -> dict[str, tuple[str, str]]:
    """Value with unit, and thresholds with the rest, by label."""
    performance = report.split("\n")[0].partition("|")[2]
    return {found[1]: (found[2] + (found[3] or ""), found[4]) for found in re.finditer(_DATUM, performance)}


def read_problem_detector(report: str) -> list[str]:
    """One line of 80 bytes at most."""
    line = report.removesuffix("\n")
    assert line.isprintable()
    assert len(line.encode()) <= 80
    assert line == line.strip() != ""
    return [line]


def read_prometheus(report: str) -> list[str]:
    """Families of gauges that node_exporter's textfile collector takes: each once, with HELP and TYPE, untimed."""
    assert report.endswith("\n")
    lines = report.split("\n")[:-1]
    helps = [line.split(" ", 3)[2] for line in lines if line.startswith("# HELP ")]
    types = [tuple(line.split(" ")[2:]) for line in lines if line.startswith("# TYPE ")]
    samples = [_SAMPLE.fullmatch(line) for line in lines if not line.startswith("#")]
    read = [sample for sample in samples if sample is not None]
    assert len(read) == len(samples)
    assert types == [(name, "gauge") for name in helps]
    assert len(set(helps)) == len(helps)
    assert len({sample.group(1, 2) for sample in read}) == len(read)
    assert list(dict.fromkeys(sample[1] for sample in read)) == helps
    assert sum(one[1] != other[1] for one, other in pairwise(read)) == len(helps) - 1
    families = list(text_string_to_metric_families(report))
    assert all(family.documentation for family in families)
    assert all(sample.timestamp is None for family in families for sample in family.samples)
    return [value for family in families for sample in family.samples for value in sample.labels.values()]


def read_markdown(report: str) -> list[str]:
    """CommonMark with tables, in which nothing but our own structure is markup."""
    tokens = _markdown(report)
    flat = [inner for token in tokens for inner in (token, *(token.children or ()))]
    kinds = {token.type for token in flat}
    assert kinds & _MARKUP == set()
    html = [token.content.strip() for token in flat if token.type == "html_block"]
    assert [each for each in html if not re.fullmatch(r"<details>\n<summary>[\w ,]+</summary>|</details>", each)] == []
    assert html.count("</details>") == len(html) / 2
    plain = [token.content for token in flat if token.type == "text"]
    assert [text for text in plain if re.search(r"[@<>`|\\]|://|www\.", text)] == []
    assert {count for table in tables(report) for count in map(len, table)} <= {2, 4}
    assert [len({len(row) for row in table}) for table in tables(report)] == [1] * len(tables(report))
    return [token.content for token in flat if token.type in ("text", "code_inline", "fence")]


def tables(report: str) -> list[list[list[str]]]:
    """The cells of each table, as text."""
    found: list[list[list[str]]] = []
    for token in _markdown(report):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and found and token.level == 4:
            found[-1][-1].append("".join(inner.content for inner in token.children or ()))
    return found


def _markdown(report: str) -> list[Token]:
    return MarkdownIt("gfm-like", {"html": True}).parse(report)


@cache
def _verdict_schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(schema_text("preflight"))
    return schema


@cache
def _whole_schema() -> Draft202012Validator:
    return Draft202012Validator(_verdict_schema())


@cache
def _junit_schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))


@cache
def _schema(reference: str) -> Draft202012Validator:
    whole = _verdict_schema()
    return Draft202012Validator({"$schema": whole["$schema"], "$ref": reference, "$defs": whole["$defs"]})


def _texts(document: object) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict | list):
        for each in document.values() if isinstance(document, dict) else document:
            yield from _texts(each)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not valid JSON")


CONSUMERS: Mapping[str, Callable[[str], list[str]]] = {
    "text": read_text,
    "json": read_json,
    "jsonl": read_jsonl,
    "markdown": read_markdown,
    "junit": read_junit,
    "github": read_github,
    "nagios": read_nagios,
    "problem-detector": read_problem_detector,
    "prometheus": read_prometheus,
}
