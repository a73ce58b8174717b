"""Readers of each report format; each one raises, or fails an assertion, if the format is broken.

Each returns the texts in the report, so that a test can search them for a name.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
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
from tests.surfaces.running import parse_json

COMMANDS = ("error", "warning", "notice", "debug", "group", "endgroup", "add-mask", "set-output", "stop-commands")
_MARKUP = {"link_open", "image", "html_inline", "em_open", "strong_open", "s_open", "code_block", "hr"}
_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = rf"@?(?:(?:~|{_NUMBER})?:)?(?:{_NUMBER})?"
_DATUM = rf"'((?:[^'=]|'')+)'=({_NUMBER})(s|us|ms|%|B|KB|MB|TB|c)?((?:;(?:{_RANGE})){{0,2}}(?:;(?:{_NUMBER})?){{0,2}})"
_SAMPLE = re.compile(r'([a-z_][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\n"])*",?)*)\})? (\S+)')


def read_text(report: str) -> list[str]:
    """Read lines for a terminal, without control characters."""
    lines = report.split("\n")
    assert lines.pop() == ""
    assert [line for line in lines if not line.isprintable()] == []
    assert re.match(r"(STABLE|UNSTABLE|UNKNOWN): .*\(exit \d\)$", lines[-1])
    return lines


def read_json(report: str) -> list[str]:
    """Read a document that the published schema accepts."""
    document = parse_json(report)
    _schema("#/$defs/head").validate(document)
    _whole_schema().validate(document)
    return list(_texts(document))


def read_jsonl(report: str) -> list[str]:
    """Read a head line and one finding per line."""
    head, *findings = (parse_json(line) for line in report.removesuffix("\n").split("\n"))
    _schema("#/$defs/head").validate(head)
    for finding in findings:
        _schema("#/$defs/finding").validate(finding)
    return list(_texts(findings))


def read_junit(report: str) -> list[str]:
    """Read a report that the JUnit schema and a library accept, with correct totals."""
    _junit_schema().validate(report)
    suites = JUnitXml.fromstring(report.encode())
    totals = (suites.tests, suites.failures, suites.errors, suites.skipped)
    suites.update_statistics()  # type: ignore[no-untyped-call]  # the library has no types there
    assert (suites.tests, suites.failures, suites.errors, suites.skipped) == totals
    cases = [case for suite in suites for case in suite]
    assert len(cases) == totals[0]
    results = [result for case in cases for result in case.result]
    outputs = [case.system_out for case in cases if case.system_out]
    return [text for result in results for text in (result.message, result.text) if text] + outputs


def read_github(report: str) -> list[str]:
    """Read one annotation a line, as the runner parses the output of a step."""
    lines = report.split("\n")
    assert lines.pop() == ""
    commands = [workflow_command(line) for line in lines]
    assert {command for command, _, _ in commands} <= {"error", "warning", "notice"}
    assert max(Counter(command for command, _, _ in commands).values()) <= 10
    assert [properties.keys() for _, properties, _ in commands] == [{"title"}] * len(commands)
    return [data for _, _, data in commands] + [properties["title"] for _, properties, _ in commands]


def workflow_command(line: str) -> tuple[str, Mapping[str, str], str]:
    """Parse `::name key=value,key=value::data`. Raise ValueError if the line is not a workflow command.

    The properties end at the first `::`. Escapes are undone last, `%25` after all others.
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
    return name, {key: _unescape(value, "%3A:", "%2C,") for key, value in pairs}, _unescape(data)


def _unescape(text: str, *more: str) -> str:
    assert re.search("%(?!25|0D|0A|3A|2C)", text) is None
    for escape in ("%0D\r", "%0A\n", *more, "%25%"):
        text = text.replace(escape[:3], escape[3:])
    return text


def read_nagios(report: str) -> list[str]:
    """Read a status line with performance data, then lines without a pipe."""
    first, *lines = report.removesuffix("\n").split("\n")
    status, separator, performance = first.partition("|")
    assert report.endswith("\n")
    assert len(report.encode()) <= 8192
    assert separator == "|"
    assert re.fullmatch(r"NOISEWATCH (OK|WARNING|CRITICAL|UNKNOWN): .+", status)
    assert re.fullmatch(f"(?: {_DATUM})+", performance)
    assert [line for line in lines if "|" in line or not line.isprintable()] == []
    labels = [datum[1] for datum in re.finditer(_DATUM, performance)]
    assert len(set(labels)) == len(labels)
    return [status, *lines]


def perfdata(report: str) -> dict[str, tuple[str, str]]:
    """Return the value with its unit, and the thresholds with the rest, by label."""
    performance = report.split("\n")[0].partition("|")[2]
    return {datum[1]: (datum[2] + (datum[3] or ""), datum[4]) for datum in re.finditer(_DATUM, performance)}


def read_problem_detector(report: str) -> list[str]:
    """Read one line of at most 80 bytes."""
    line = report.removesuffix("\n")
    assert line.isprintable()
    assert len(line.encode()) <= 80
    assert line == line.strip() != ""
    return [line]


def read_prometheus(report: str) -> list[str]:
    """Read gauges for node_exporter's textfile collector: each family once, with HELP and TYPE, without timestamps."""
    assert report.endswith("\n")
    lines = report.split("\n")[:-1]
    helps = [line.split(" ", 3)[2] for line in lines if line.startswith("# HELP ")]
    types = [tuple(line.split(" ")[2:]) for line in lines if line.startswith("# TYPE ")]
    samples = [_SAMPLE.fullmatch(line) for line in lines if not line.startswith("#")]
    matches = [sample for sample in samples if sample is not None]
    assert len(matches) == len(samples)
    assert types == [(name, "gauge") for name in helps]
    assert len(set(helps)) == len(helps)
    assert len({sample.group(1, 2) for sample in matches}) == len(matches)
    assert list(dict.fromkeys(sample[1] for sample in matches)) == helps
    assert sum(before[1] != after[1] for before, after in pairwise(matches)) == len(helps) - 1
    families = list(text_string_to_metric_families(report))
    assert all(family.documentation for family in families)
    assert all(sample.timestamp is None for family in families for sample in family.samples)
    return [value for family in families for sample in family.samples for value in sample.labels.values()]


def read_markdown(report: str) -> list[str]:
    """Read CommonMark with tables; only the report's own structure is markup."""
    tokens = _markdown(report)
    flat = [inner for token in tokens for inner in (token, *(token.children or ()))]
    kinds = {token.type for token in flat}
    assert kinds & _MARKUP == set()
    html = [token.content.strip() for token in flat if token.type == "html_block"]
    assert [text for text in html if not re.fullmatch(r"<details>\n<summary>[\w ,]+</summary>|</details>", text)] == []
    assert html.count("</details>") == len(html) / 2
    plain = [token.content for token in flat if token.type == "text"]
    assert [text for text in plain if re.search(r"[@<>`|\\]|://|www\.", text)] == []
    assert {count for table in tables(report) for count in map(len, table)} <= {2, 4}
    assert [len({len(row) for row in table}) for table in tables(report)] == [1] * len(tables(report))
    return [token.content for token in flat if token.type in ("text", "code_inline", "fence")]


def assert_shellcheck_passes(script: Path) -> None:
    shellcheck = str(Path(sys.executable).with_name("shellcheck"))
    ran = subprocess.run([shellcheck, "--norc", str(script)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout


def tables(report: str) -> list[list[list[str]]]:
    """Return the cells of each table, as text."""
    rows_by_table: list[list[list[str]]] = []
    for token in _markdown(report):
        if token.type == "table_open":
            rows_by_table.append([])
        elif token.type == "tr_open":
            rows_by_table[-1].append([])
        elif token.type == "inline" and rows_by_table and token.level == 4:
            rows_by_table[-1][-1].append("".join(inner.content for inner in token.children or ()))
    return rows_by_table


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
        for value in document.values() if isinstance(document, dict) else document:
            yield from _texts(value)


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
