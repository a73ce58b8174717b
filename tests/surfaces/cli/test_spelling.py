"""A misspelt name is answered with the name that may have been meant."""

from __future__ import annotations

import pytest

from noisewatch.surfaces.cli.parser import did_you_mean
from tests.surfaces.running import Run


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("preflihgt", "there is no command 'preflihgt'; did you mean preflight? (see noisewatch --help)"),
        ("cal", "there is no command 'cal'; did you mean calibrate? (see noisewatch --help)"),
        ("zzz", "there is no command 'zzz' (see noisewatch --help)"),
        ("preflight --cpsu 3", "there is no option --cpsu; did you mean --cpus? (see noisewatch preflight --help)"),
        ("preflight --verbsoe=3", "there is no option --verbsoe; did you mean --verbose? (see"),
        ("preflight -v --zzz", "there is no option --zzz (see noisewatch preflight --help)"),
        ("--relpay x.nw", "there is no option --relpay; did you mean --replay? (see noisewatch --help)"),
        ("--cpsu 3 preflight", "there is no option --cpsu; did you mean --cpus? (see noisewatch --help)"),
        ("show --formt json", "there is no option --formt; did you mean --format? (see noisewatch show --help)"),
        ("plan -v --naer eth0", "there is no option -v (see noisewatch plan --help)"),
        ("plan --naer eth0", "there is no option --naer; did you mean --near? (see noisewatch plan --help)"),
        ("show all extra", "unexpected argument 'extra' (see noisewatch show --help)"),
        ("show cpsu", "wanted one of all, cpus, topology, clock, irqs, found 'cpsu'; did you mean cpus? (see"),
        ("preflight --profile mirco", "found 'mirco'; did you mean micro? (see noisewatch preflight --help)"),
        ("preflight --ignore turbo-enabeld", "did you mean turbo-enabled"),
        ("explain turbo-enabeld", "did you mean turbo-enabled"),
        ("explain monitr", "there is no such check, area or topic; did you mean monitor"),
        ("integrations slrum", "no integration is called 'slrum'; did you mean slurm?"),
        ("integrations zzz", "no integration is called 'zzz'; there are ansible, "),
    ],
)  # fmt: skip
def test_an_error_names_what_may_have_been_meant(run: Run, line: str, message: str) -> None:
    ran = run(*line.split())
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert message in ran.err


@pytest.mark.parametrize("rest", [("--", "./b", "--foo"), ("./b", "--foo")])
def test_an_option_of_run_is_not_confused_with_those_of_its_command(run: Run, rest: tuple[str, ...]) -> None:
    ran = run("run", "--rnus", "5", *rest)
    assert (ran.status, ran.err) == (
        125,
        "noisewatch run: there is no option --rnus; did you mean --runs? (see noisewatch run --help)\n",
    )


@pytest.mark.parametrize("line", ["show --cpus", "plan -1", "record --dur 5", "show -v --format yaml"])
def test_another_error_is_not_hidden_by_options_that_exist(run: Run, line: str) -> None:
    assert "there is no option" not in run(*line.split()).err


def test_a_longer_name_is_preferred_to_a_similar_one() -> None:
    assert did_you_mean("pre", ["tree", "Preflight"]) == "; did you mean Preflight?"
    assert did_you_mean("", ["tree"], "; nothing") == "; nothing"
