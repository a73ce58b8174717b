"""Parsing of a machine description: what it asks for, and each error with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.errors import UsageError
from noisewatch.model.history.facts import FactClass
from noisewatch.model.wanted import WantedFact, parse_description

_WRITTEN = """\
# ours
[identity]
"CPU model" = ["AMD EPYC 7451 *", "AMD EPYC 7551 *"]
[hardware]
packages = 1
memory = { at_least = "64 GiB" }
"CPUs present".at_least = 8
[hardware.nodes]
at_least = 2
[firmware]
BIOS = "any"
[settings]
kernel.numa_balancing = 0
governor = 'performance'
"""


def test_fact_is_exact_or_one_of_several_or_at_least_a_value_or_not_asked_for() -> None:
    description = parse_description(_WRITTEN.encode(), "machine.toml")
    assert description.facts == (
        WantedFact(FactClass.IDENTITY, "CPU model", ("AMD EPYC 7451 *", "AMD EPYC 7551 *")),
        WantedFact(FactClass.HARDWARE, "packages", ("1",)),
        WantedFact(FactClass.HARDWARE, "memory", at_least="64 GiB"),
        WantedFact(FactClass.HARDWARE, "CPUs present", at_least="8"),
        WantedFact(FactClass.HARDWARE, "nodes", at_least="2"),
        WantedFact(FactClass.SETTINGS, "kernel.numa_balancing", ("0",)),
        WantedFact(FactClass.SETTINGS, "governor", ("performance",)),
    )


_FORMS = 'a text, a whole number, a list of these, { at_least = … } or "any"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m:1: expected at least one fact, found none"),
        ("# nothing\n[hardware]\n", "m:1: expected at least one fact, found none"),
        ('[firmware]\nBIOS = "any"', "m:1: expected at least one fact, found none"),
        ("[hardware]\n\nmemry = 'x'", "m:3: [hardware] has no fact 'memry'; did you mean 'memory'?"),
        (
            "[identity]\ncpu-model = 'x'",
            "m:2: [identity] has no fact 'cpu-model'; did you mean 'CPU mo",
        ),
        ("[hardware]\nxyz = 1", "m:2: [hardware] has no fact 'xyz'; `noisewatch show --format machine`"),
        (
            "[hardware]\ngovernor = 1",
            "m:2: [hardware] has no fact 'governor'; it belongs below [set",
        ),
        ("\nmemory = 1", "[surroundings], found 'memory'; it belongs below [hardware]"),
        ("[hardwre]\nnodes = 1", "m:1: expected a table of [identity], [hardware]"),
        ("[hardwre]\nnodes = 1", "found 'hardwre'; did you mean 'hardware'?"),
        ("hardware = 3", "m:1: expected facts below [hardware], found hardware = 3"),
        ("[[hardware]]\nnodes = 1", "m:1: expected facts below [hardware], found hardware = [{'nodes': 1}]"),
        (
            "[settings]\nkernel.numa_balancin = 1",
            "m:2: [settings] has no fact 'kernel.numa_balancin'; did",
        ),
        ("[hardware]\nnodes = 1.5", f"m:2: expected {_FORMS}, found 1.5 (put decimal numbers in quotes)"),
        ("[hardware]\nnodes = nan", f"m:2: expected {_FORMS}, found nan"),
        ("[settings]\nSMT = true", f'm:2: expected {_FORMS}, found true (a switch is "on" or "off")'),
        ("[hardware]\nnodes = ''", f"m:2: expected {_FORMS}, found ''"),
        ("[hardware]\nnodes = []", f"m:2: expected {_FORMS}, found []"),
        ("[hardware]\nnodes = [[1]]", f"m:2: expected {_FORMS}, found [1]"),
        ("[hardware]\nnodes = 2001-01-01", f"m:2: expected {_FORMS}, found 2001-01-01"),
        ("[hardware]\nnodes = {}", f"m:2: expected {_FORMS}, found {{"),
        ("[hardware]\nnodes = { atleast = 2 }", f"m:2: expected {_FORMS}, found {{ atleast = … }}"),
        ("[hardware]\nnodes = { at_least = 2, any = 1 }", "found { at_least = …, any = … }"),
        ("[hardware]\nnodes = [\n 1,\n 'any',\n]", 'm:2: expected "any" alone or a list of values, found both'),
        ("[hardware]\nnodes = { at_least = 'two' }", "m:2: expected at_least = \"2\" or similar, found 'two'"),
        ("[hardware]\nmemory = { at_least = 64 }", 'm:2: expected at_least = "64 GiB" or similar, found 64'),
        ("[kernel]\nkernel = { at_least = 6.1 }", '"6.8" or similar, found 6.1 (put decimal numbers in quotes)'),
        ("[kernel]\nkernel = { at_least = '6.x' }", "found '6.x'"),
        ("[hardware]\nmemory = { at_least = true }", "found true"),
        ("[hardware]\nstepping = { at_least = '1' }", "because stepping has no order"),
        ("[hardware]\nnodes = 1\nnodes = 2\n", "m:3: expected TOML, found: Cannot overwrite a value"),
        ("[hardware]\nnodes 1\n", "m:2: expected TOML, found: Expected '='"),
        ("[hardware]\nnodes = [1,\n2,\n", "m:4: expected TOML, found: "),
        ("[hardware]\na = " + "[" * 30_000, "m: expected facts in tables, found tables or lists nested too"),
        (
            "[hardware]\n" + "a." * 20_000 + "a = 1",
            "m: expected facts in tables, found tables or lists nested too",
        ),
        ("[hardware." + "'x' . " * 20_000 + "x]", "m: expected facts in tables, found tables or lists nested too"),
        ("[hardware]\nnodes = " + "9" * 5_000, "m: expected TOML, found: Exceeds the limit"),
        ("[hardware]\n'a\\u001b[31m' = 1\n\"b\\u001b[31m\" = 1", "m:2: [hardware] has no fact "),
    ],
    ids=lambda value: value[:60],
)
def test_error_names_its_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_description(text.encode(), "m")
    assert message in str(raised.value)
    assert str(raised.value).isprintable()


def test_invalid_utf_8_names_its_line() -> None:
    with pytest.raises(UsageError, match="m:3: expected UTF-8, found the byte 0xff"):
        parse_description(b"[hardware]\n\nnodes = '\xff'\n", "m")


def test_line_number_counts_the_lines_of_multiline_values() -> None:
    strings = '"""\n[hardware]\nnodes = 1.5\n"""'
    lists = "[\n  1, # ]\n  2,\n]"
    text = f"[identity]\nboard = {strings}\n[hardware]\r\npackages = {lists}\n\nnodes = 1.5\n"
    with pytest.raises(UsageError, match="m:12: expected a text"):
        parse_description(text.encode(), "m")


def _file_or_error(content: bytes) -> str:
    try:
        return parse_description(content, "m").file
    except UsageError as error:
        return str(error)


@given(st.binary(max_size=200) | st.text().map(lambda text: f"[hardware]\nnodes = {text}".encode()))
def test_any_text_is_parsed_or_rejected_in_one_printable_line(content: bytes) -> None:
    assert _file_or_error(content).isprintable()
