"""Configuration of the boot loader, which is a shell script."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.boot_configuration import parse_grub, read_boot_configuration
from noisewatch.machine.recording.privacy import GRUB, GRUB_FOLDER, KERNEL_INSTALL, Scrubber
from tests.judgement.sweeps.lessened import DENIED, LessenedMachine
from tests.written import Files, reading

_BOTH = 'GRUB_CMDLINE_LINUX="nosmt"\nGRUB_CMDLINE_LINUX_DEFAULT="quiet isolcpus=2-3"\n'
_NULS = f'GRUB_CMDLINE_LINUX="{chr(0) * 40}"\n'
_SECRET = 'GRUB_CMDLINE_LINUX="ip=10.0.0.7 luks.key=secret $GRUB_CMDLINE_LINUX nosmt" # alice\'s\nGRUB_PASSWORD=x\n'


def _options(files: Files) -> Mapping[str, tuple[str, ...]] | None:
    return read_boot_configuration(reading({"/proc/cmdline": "quiet\n", **files})).configured


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('GRUB_CMDLINE_LINUX="nosmt psi=1"\n', "nosmt psi=1"),
        ("  GRUB_CMDLINE_LINUX='nosmt'   # a comment\n", "nosmt"),
        ("export GRUB_CMDLINE_LINUX=nosmt", "nosmt"),
        ('GRUB_CMDLINE_LINUX=""\n', ""),
        ('GRUB_CMDLINE_LINUX="a"\nGRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX b"\n', "a b"),
        ('GRUB_CMDLINE_LINUX="a"\nGRUB_CMDLINE_LINUX="${GRUB_CMDLINE_LINUX} b $OTHER"\n', "a b "),
    ],
)
def test_assignment_is_parsed(text: str, options: str) -> None:
    assert parse_grub(text) == {"GRUB_CMDLINE_LINUX": options}


@pytest.mark.parametrize(
    "text", ["", "#GRUB_CMDLINE_LINUX=nosmt\n", 'GRUB_CMDLINE_LINUX="cut', "GRUB_CMDLINE_LINUX_X=nosmt\n", "\0\n"]
)
def test_other_lines_are_ignored(text: str) -> None:
    assert parse_grub(text) == {}


def test_both_variables_count() -> None:
    assert _options({GRUB: _BOTH}) == {"nosmt": ("",), "isolcpus": ("2-3",)}


def test_later_file_overrides_an_earlier_one() -> None:
    later = {"/etc/default/grub.d/50.cfg": 'GRUB_CMDLINE_LINUX=""\n', "/etc/default/grub.d/README": _BOTH}
    assert _options({GRUB: _BOTH, **later}) == {"isolcpus": ("2-3",)}


@pytest.mark.parametrize(
    ("path", "text"), [(KERNEL_INSTALL, "x " * 40_000), (KERNEL_INSTALL, "\0" * 40), (GRUB, _NULS)]
)
def test_impossible_command_line_is_no_configuration(path: str, text: str) -> None:
    reader = reading({"/proc/cmdline": "quiet\n", path: text})
    assert read_boot_configuration(reader).configured is None
    assert reader.reason_by_path[path] == "not a kernel command line"


def test_missing_boot_loader_is_not_an_empty_configuration() -> None:
    configuration = read_boot_configuration(reading({"/proc/cmdline": "quiet\n"}))
    assert (configuration.configured, configuration.paths) == ({}, ())


def test_unreadable_folder_leaves_the_configuration_unknown() -> None:
    reader = Reader(LessenedMachine({"/proc/cmdline": "quiet\n", GRUB: _BOTH}).take(f"{GRUB_FOLDER}/", DENIED))
    assert read_boot_configuration(reader).configured is None
    assert reader.reason_by_path == {GRUB_FOLDER: "permission denied"}


def test_recording_keeps_only_options_that_affect_noise() -> None:
    scrubbed = Scrubber("benchmark-host")(GRUB, _SECRET)
    assert scrubbed == 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX nosmt"\n'


def test_recording_replays_the_same_configuration() -> None:
    scrub = Scrubber("benchmark-host")
    texts = {GRUB: _BOTH, "/etc/default/grub.d/50.cfg": _SECRET, "/etc/kernel/cmdline": "root=UUID=1 psi=1\n"}
    shared = {path: scrub(path, text) for path, text in texts.items()}
    assert _options(shared) == _options(texts)
    assert "secret" not in str(shared)
    assert "UUID" not in str(shared)
