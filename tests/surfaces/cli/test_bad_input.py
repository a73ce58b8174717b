"""Bad input is reported in one line on standard error, with exit status 2."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from noisewatch.surfaces.cli.parser import did_you_mean
from tests.surfaces.running import Run, record
from tests.written.quiet_machine import CPUS, quiet_files

# Command lines, with RULES, TREE, FILE and SPACE to be replaced, and a text that the error must contain.
_REFUSED = [
    (f"preflight --samples {'9' * 5000} --sysroot TREE", "expected a number of samples"),
    ("show --sysroot TREE --cpus 5-", "--cpus 5-"),
    ("show --sysroot TREE --cpus 99", "99"),
    ("show --sysroot TREE --cpus 2-99", "4-99"),
    ("show --sysroot TREE --cpus abc", "abc"),
    ("show --sysroot TREE --cpus 3-1", "3-1"),
    ("show --sysroot TREE --cpus 1,,2", "1,,2"),
    ("show --sysroot TREE --cpus 0-99999999999", "0-99999999999"),
    ("show --sysroot TREE --cpus ''", "--cpus"),
    ("preflight --sysroot TREE --sample 0 --cpus 7", "7"),
    ("--sysroot TREE --cpus 7", "7"),
    ("screenshot SPACE/x.svg --sysroot TREE --cpus 7", "7"),
    ("show --sysroot SPACE/none", "SPACE/none"),
    ("show --sysroot SPACE", "SPACE"),
    ("show --sysroot FILE", "FILE"),
    ("show --sysroot ''", "--sysroot"),
    ("show --replay SPACE/none.nw", "SPACE/none.nw"),
    ("show --replay SPACE", "SPACE"),
    ("show --replay FILE", "FILE"),
    ("preflight --replay FILE", "FILE"),
    ("--replay FILE", "FILE"),
    ("screenshot SPACE/x.svg --replay FILE", "FILE"),
    ("show --sysroot TREE --output SPACE/none/x", "SPACE/none/x"),
    ("show --sysroot TREE --output SPACE", "SPACE"),
    ("show --sysroot TREE --output FILE/x", "FILE/x"),
    ("preflight --sysroot TREE --sample 0 --output SPACE/none/x", "SPACE/none/x"),
    ("preflight --sysroot TREE --sample 0 --output /dev/full", "/dev/full"),
    ("screenshot SPACE/none/x.svg --sysroot TREE", "SPACE/none/x.svg"),
    ("screenshot SPACE/x.gif --sysroot TREE", "x.gif"),
    ("screenshot SPACE/x.svg --sysroot TREE --size 0x0", "--size"),
    ("screenshot SPACE/x.svg --sysroot TREE --size 80", "80"),
    ("screenshot SPACE/x.svg --sysroot TREE --size -1x5", "--size"),
    ("screenshot SPACE/x.svg --sysroot TREE --size 9999x9999", "9999x9999"),
    ("record SPACE/x.nw --sysroot TREE", "record"),
    ("frobnicate", "frobnicate"),
    ("show --frobnicate", "--frobnicate"),
    ("show extra", "extra"),
    ("show --format yaml --sysroot TREE", "yaml"),
    ("show --sysroot TREE --replay FILE", "--sysroot"),
    ("--sysroot TREE show --replay FILE", "--sysroot"),
    ("--interval 0", "--interval"),
    ("--interval nan", "nan"),
    ("--interval -1", "--interval"),
    ("--interval inf", "inf"),
    ("--interval soon", "soon"),
    ("preflight --sample -1 --sysroot TREE", "--sample"),
    ("preflight --sample nan --sysroot TREE", "nan"),
    ("calibrate --duration auto --workload true", "--duration auto: not with --workload"),
    ("calibrate --work latency --workload true", "--workload and --work exclude each other"),
    ("calibrate --history FILE", "FILE: not a history of noisewatch"),
    ("preflight --wait 100 --history FILE", "FILE: not a history of noisewatch"),
    ("preflight --history SPACE", "SPACE: not a regular file"),
    ("plan 0 --sysroot TREE", "expected 1 or more cores, found '0'"),
    ("plan -1 --sysroot TREE", "'-1'"),
    ("plan 1000000000 --sysroot TREE", "1000000000 cores: at most"),
    ("plan 99999999999999999999 --sysroot TREE", "'99999999999999999999'"),
    ("plan two --sysroot TREE", "'two'"),
    ("plan 2 --cpus 1 --sysroot TREE", "COUNT and --cpus exclude each other"),
    ("plan --cpus 7 --sysroot TREE", "there is no CPU 7"),
    ("plan --cpus 3-1 --sysroot TREE", "3-1"),
    ("plan --near eth7 --sysroot TREE", "--near 'eth7': no such network interface"),
    ("plan --near ../.. --sysroot TREE", "no such network interface"),
    ("plan --near '' --sysroot TREE", "no such network interface"),
    ("plan --undo --sysroot TREE", "--undo: only with --format script"),
    ("plan --format yaml --sysroot TREE", "yaml"),
    ("preflight --sysroot TREE --machine SPACE/none.toml", "SPACE/none.toml: no such file"),
    ("preflight --sysroot TREE --machine SPACE", "SPACE: not a regular file, so not a description of a machine"),
    ("preflight --sysroot TREE --machine FILE", "FILE:1: expected TOML, found: Expected '='"),
    ("preflight --sysroot TREE --machine /dev/zero", "/dev/zero: not a regular file"),
    ("record", "arguments are required"),
    ("record SPACE/x.nw --duration nan", "nan"),
    ("explain no-such-check", "no-such-check"),
    ("explain ''", "''"),
    ("calibrate --duration 0.1", "0.5"),
    ("calibrate --at 5", "100us"),
    ("calibrate --at 1h", "1h"),
    ("calibrate --samples 1", "from 2"),
    ("calibrate --max-cv -1%", "--max-cv"),
    ("calibrate --max-cv 0", "share"),
    ("calibrate --max-cv 5", "5%"),
    ("calibrate --confidence 50%", "above 50% and below 100%"),
    ("calibrate --confidence 100%", "above 50% and below 100%"),
    ("calibrate --confidence 0.3", "'0.3'"),
    ("calibrate --confidence -90%", "--confidence"),
    ("calibrate --confidence 90", "found '90'"),
    ("calibrate --confidence nan", "--confidence"),
    ("calibrate --confidence x", "--confidence"),
    ("calibrate --detect 0", "--detect: expected a share such as 5% or 0.05, found '0'"),
    ("calibrate --detect 2", "--detect: expected a share"),
    ("calibrate --detect x%", "--detect: expected a share"),
    ("calibrate --max-inflation 0.5", "at least 1"),
    ("calibrate --workload '", "No closing quotation"),
    ("calibrate --workload ''", "found none"),
    ("calibrate --against 99", "99"),
    ("calibrate --against x", "--against"),
    ("calibrate --under-load 0", "from 1"),
    ("calibrate --under-load x", "number of processes"),
    ("calibrate --under-load 1 --against 0", "exclude each other"),
    ("calibrate --settle 20", "from 45"),
    ("calibrate --settle x", "seconds from 45"),
    ("calibrate --output /no/such/folder/x", "/no/such/folder/x: there is no folder /no/such/folder; create it first"),
    ("calibrate --record /no/such/folder/x", "/no/such/folder/x"),
    ("preflihgt", "there is no command 'preflihgt'; did you mean preflight? (see noisewatch --help)"),
    ("monitor", "there is no command 'monitor'; noisewatch without a command starts the monitor (see"),
    ("watch", "there is no command 'watch'; noisewatch without a command starts the monitor (see"),
    ("help", "there is no command 'help'; noisewatch --help lists the commands (see"),
    ("trace --seconds 3", "there is no option --seconds; did you mean --duration? (see"),
    ("trace --affinity 3", "there is no option --affinity; did you mean --cpus? (see"),
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
    ("show cpsu", "expected one of all, cpus, topology, clock, irqs, found 'cpsu'; did you mean cpus? (see"),
    ("preflight --profile mirco", "found 'mirco'; did you mean micro? (see noisewatch preflight --help)"),
    ("preflight --ignore turbo-enabeld", "did you mean turbo-enabled"),
    ("explain turbo-enabeld", "did you mean turbo-enabled"),
    ("explain compare", "did you mean over-time"),
    ("explain monitr", "no such check, area, topic or term; did you mean monitor"),
    ("integrations slrum", "there is no integration 'slrum'; did you mean slurm?"),
    ("integrations zzz", "there is no integration 'zzz'; valid names: ansible, "),
    ("RULES --ignore clok", "--ignore 'clok': no such check or area; did you mean clock"),
    ("RULES --select turbo", "did you mean turbo-enabled?"),
    ("RULES --severity turbo-enabled", "--severity turbo-enabled: expected CHECK=VALUE"),
    ("RULES --severity turbo-enabled=grave", "--severity turbo-enabled 'grave': no such severity; expected"),
    ("RULES --severity turbo-enabled=blocked", "did you mean blocking?"),
    ("RULES --limit target-cpu-busy=2", "expected a share such as 2% or 0.02, found '2'"),
    ("RULES --limit target-cpu-busy=300%", "expected a share such as 2% or 0.02, found '300%'"),
    ("RULES --limit turbo-enabled=3", "--limit turbo-enabled: this check has no limit"),
    ("RULES --limit target-cpu-busy.most=3", "expected one of target-cpu-busy.passes, target-cpu-busy.fails"),
    ("RULES --limit target-cpu-busy=-1", "expected a share such as 2% or 0.02, found '-1'"),
    ("RULES --limit device-interrupts-on-target=2%", "expected a number of per second, found '2%'"),
    ("RULES --limit noise-floor-above-budget=2%", "use --max-cv to set this limit"),
    ("RULES --limit nothing=2%", "no such check; `noisewatch explain` lists all"),
    ("RULES --profile quick", "found 'quick' (see"),
    ("RULES --expect soon", "expected seconds from 0"),
]  # fmt: skip

_NEWER_FORMAT = b'{"noisewatch_recording": 99}\n'


@pytest.mark.parametrize(("line", "named"), _REFUSED, ids=lambda value: value)
def test_bad_input_is_reported_in_one_line(
    run: Run, tmp_path: Path, unchanged_tree: Path, line: str, named: str
) -> None:
    file = tmp_path / "file"
    file.write_text("no recording\n")
    rules = "preflight --sysroot TREE --sample 0 --no-config"
    places = {"RULES": rules, "TREE": unchanged_tree, "FILE": file, "SPACE": tmp_path}
    for word, place in places.items():
        line, named = line.replace(word, str(place)), named.replace(word, str(place))
    result = run(*("" if word == "''" else word for word in line.split()))
    assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith("noisewatch: ")
    assert named in result.err


@pytest.mark.parametrize("option", ["--repeat", "--repetitions"])
def test_other_names_of_runs_are_understood(run: Run, option: str) -> None:
    result = run("run", option, "3", "--", "true")
    assert (result.status, result.out) == (125, "")
    assert f"there is no option {option}; did you mean --runs? (see noisewatch run --help)" in result.err


def test_not_more_than_all_runs_can_be_required(run: Run) -> None:
    result = run("run", "--runs", "2", "--min-undisturbed", "120%", "--", "true")
    assert (result.status, result.out) == (125, "")
    assert "--min-undisturbed: expected a share of at most 100%, such as 50%, found '120%'" in result.err


@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8b", b"[]\n", b"{}\n", b"null\n", b"\xff\xfe\n", b"[" * 100_000, _NEWER_FORMAT]
)
def test_gzip_without_a_known_recording_format_is_rejected(run: Run, tmp_path: Path, content: bytes) -> None:
    recording = tmp_path / "other.nw"
    recording.write_bytes(gzip.compress(content))
    result = run("show", "--replay", recording)
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert str(recording) in result.err
    assert "format 99" in result.err or content != _NEWER_FORMAT


def test_a_recording_without_snapshots_and_another_file_format_are_rejected(run: Run, tmp_path: Path) -> None:
    result = run("show", "--replay", record(tmp_path / "empty.nw"))
    assert (result.status, "contains no snapshot" in result.err) == (2, True)
    recording = record(tmp_path / "machine.nw", quiet_files())
    recording.write_bytes(b"PK\x03\x04" + recording.read_bytes()[4:])
    result = run("preflight", "--replay", recording)
    assert (result.status, result.err.count("\n")) == (2, 1)


def test_an_offline_cpu_may_be_requested(run: Run) -> None:
    assert run("show", {f"{CPUS}/online": "0-2\n", f"{CPUS}/offline": "3\n"}, "--cpus", "3").status == 0


@pytest.mark.parametrize(("text", "cpus"), [("all", [0, 1, 2, 3]), ("1-N", [1, 2, 3]), ("0-3:1/2", [0, 2]), ("N", [3])])
def test_cpus_are_given_in_the_kernels_list_format(run: Run, text: str, cpus: list[int]) -> None:
    result = run("show", "--format", "json", {}, "--cpus", text)
    assert result.json["cpus"]["target"] == cpus


def test_options_may_precede_the_command(run: Run) -> None:
    assert run({}, "--cpus", "1", "show") == run("show", {}, "--cpus", "1")


@pytest.mark.parametrize("rest", [("--", "./b", "--foo"), ("./b", "--foo")])
def test_an_option_of_run_is_not_confused_with_those_of_its_command(run: Run, rest: tuple[str, ...]) -> None:
    result = run("run", "--rnus", "5", *rest)
    message = "noisewatch run: there is no option --rnus; did you mean --runs? (see noisewatch run --help)\n"
    assert (result.status, result.err) == (125, message)


@pytest.mark.parametrize("line", ["show --cpus", "plan -1", "record --dur 5", "show -v --format yaml"])
def test_another_error_is_not_hidden_by_options_that_exist(run: Run, line: str) -> None:
    assert "there is no option" not in run(*line.split()).err


def test_a_longer_name_is_preferred_to_a_similar_one() -> None:
    assert did_you_mean("pre", ["tree", "Preflight"]) == "; did you mean Preflight?"
    assert did_you_mean("", ["tree"], "; nothing") == "; nothing"
