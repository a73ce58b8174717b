"""Bad input is reported in one line on standard error, with exit status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.running import Run, record
from tests.written.quiet_machine import CPUS, quiet_files

# The command line, with TREE, FILE and SPACE to be replaced, and what its line must name.
_REFUSED = [
    (f"preflight --samples {'9' * 5000} --sysroot TREE", "wanted a number of samples"),
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
    ("plan 0 --sysroot TREE", "from 1 on, found '0'"),
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
    ("preflight --sysroot TREE --machine FILE", "FILE:1: wanted TOML, found: Expected '='"),
    ("preflight --sysroot TREE --machine /dev/zero", "/dev/zero: not a regular file"),
    ("record", "arguments are required"),
    ("record SPACE/x.nw --duration nan", "nan"),
    ("explain no-such-check", "no-such-check"),
    ("explain ''", "''"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "named"), _REFUSED, ids=lambda value: value)
def test_it_is_told_in_one_line(run: Run, tmp_path: Path, unchanged_tree: Path, line: str, named: str) -> None:
    file = tmp_path / "file"
    file.write_text("no recording\n")
    places = {"TREE": unchanged_tree, "FILE": file, "SPACE": tmp_path}
    for word, place in places.items():
        line, named = line.replace(word, str(place)), named.replace(word, str(place))
    ran = run(*("" if word == "''" else word for word in line.split()))
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err.startswith("noisewatch: ")
    assert ran.err.count("\n") == 1
    assert named in ran.err


def test_a_recording_of_a_later_format_is_told(run: Run, tmp_path: Path) -> None:
    import gzip

    recording = tmp_path / "later.nw"
    recording.write_bytes(gzip.compress(b'{"noisewatch_recording": 99}\n'))
    ran = run("show", "--replay", recording)
    assert ran.status == 2
    assert "format 99" in ran.err


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b", b"[]\n", b"{}\n", b"null\n", b"\xff\xfe\n", b"[" * 100_000])
def test_what_is_gzip_but_no_recording_is_told(run: Run, tmp_path: Path, content: bytes) -> None:
    import gzip

    recording = tmp_path / "other.nw"
    recording.write_bytes(gzip.compress(content))
    ran = run("show", "--replay", recording)
    assert ran.status == 2
    assert ran.err.count("\n") == 1
    assert str(recording) in ran.err


def test_a_header_without_a_moment_is_told(run: Run, tmp_path: Path) -> None:
    ran = run("show", "--replay", record(tmp_path / "empty.nw"))
    assert ran.status == 2
    assert "holds no snapshot at all" in ran.err


def test_a_cpu_that_is_offline_may_be_asked_for(run: Run) -> None:
    assert run("show", {f"{CPUS}/online": "0-2\n", f"{CPUS}/offline": "3\n"}, "--cpus", "3").status == 0


@pytest.mark.parametrize(("text", "cpus"), [("all", [0, 1, 2, 3]), ("1-N", [1, 2, 3]), ("0-3:1/2", [0, 2]), ("N", [3])])
def test_cpus_are_written_as_for_the_kernel(run: Run, text: str, cpus: list[int]) -> None:
    ran = run("show", "--format", "json", {}, "--cpus", text)
    assert ran.json["cpus"]["target"] == cpus


def test_options_may_stand_before_the_command(run: Run) -> None:
    assert run({}, "--cpus", "1", "show") == run("show", {}, "--cpus", "1")


def test_a_recording_that_is_none_of_ours_inside_is_told(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", quiet_files())
    recording.write_bytes(b"PK\x03\x04" + recording.read_bytes()[4:])
    ran = run("preflight", "--replay", recording)
    assert (ran.status, ran.err.count("\n")) == (2, 1)
