"""Build options of the kernel, compressed or plain, complete or not; and its consoles."""

from __future__ import annotations

import gzip

import pytest

from noisewatch.kernel.system.build_options import (
    PACKED,
    Console,
    KernelConfig,
    parse_consoles,
    parse_kernel_config,
    read_kernel_config,
)
from noisewatch.machine.recording.privacy import gunzip
from tests.written import Files, reading

TEXT = """\
#
# Automatically generated file; DO NOT EDIT.
# Linux/x86 6.18.44 Kernel Configuration
#
CONFIG_CC_VERSION_TEXT="gcc (GCC) 15.3.0"
# CONFIG_HZ_PERIODIC is not set
CONFIG_NO_HZ_IDLE=y
# CONFIG_NO_HZ_FULL is not set
CONFIG_HZ_250=y
CONFIG_HZ=250
CONFIG_KASAN_SHADOW_OFFSET=0xdffffc0000000000
# CONFIG_KASAN is not set
# CONFIG_RUNTIME_TESTING_MENU is not set
CONFIG_IO_URING_ZCRX=y
"""

_BOOT = "/boot/config-6.18.44"


def _pack(text: str = TEXT) -> str:
    return gzip.compress(text.encode()).decode("utf-8", "surrogateescape")


def _read(files: Files, release: str | None = "6.18.44") -> tuple[KernelConfig | None, dict[str, str]]:
    reader = reading(files)
    return read_kernel_config(reader, release), reader.reason_by_path


def test_option_missing_from_a_complete_file_is_not_set() -> None:
    config = parse_kernel_config(TEXT)
    assert [config.is_set(name) for name in ("NO_HZ_IDLE", "NO_HZ_FULL", "KASAN", "KCSAN")] == [
        True,
        False,
        False,
        False,
    ]
    assert config.tick_hz == 250


def test_option_missing_from_a_truncated_file_is_unknown() -> None:
    config = parse_kernel_config(TEXT[: TEXT.index("CONFIG_KASAN")])
    assert [config.is_set(name) for name in ("NO_HZ_FULL", "KASAN", "KCSAN")] == [False, None, None]


def test_module_is_set() -> None:
    assert parse_kernel_config("CONFIG_KCOV=m\n").is_set("KCOV") is True


@pytest.mark.parametrize("text", ["CONFIG_HZ=0\n", "CONFIG_HZ=y\n", "# CONFIG_HZ is not set\n", "CONFIG_KASAN=y\n"])
def test_tick_that_is_no_number_is_unknown(text: str) -> None:
    assert parse_kernel_config(text).tick_hz is None


@pytest.mark.parametrize("path", [PACKED, _BOOT, "/lib/modules/6.18.44/config"])
def test_any_of_the_files_is_read(path: str) -> None:
    config, reasons = _read({path: _pack() if path == PACKED else TEXT})
    assert config is not None
    assert (config.tick_hz, config.path, reasons) == (250, path, {})


def test_the_kernels_own_file_comes_first() -> None:
    config, _ = _read({PACKED: _pack(), _BOOT: TEXT.replace("250", "1000")})
    assert config is not None
    assert config.tick_hz == 250


def test_damaged_file_is_skipped_and_named_if_there_is_no_other() -> None:
    files = {PACKED: _pack()[:60]}
    config, _ = _read({**files, _BOOT: TEXT})
    assert config is not None
    config, reasons = _read(files)
    assert config is None
    assert reasons == {PACKED: "not a gzip file: incomplete or huge"}


def test_damaged_file_in_boot_is_the_reason() -> None:
    _, reasons = _read({_BOOT: "rubbish\n"})
    assert reasons[PACKED].startswith(f"{_BOOT}: expected a line")


def test_options_are_unknown_without_any_file() -> None:
    assert _read({}) == (None, {PACKED: "neither this file nor /boot/config-RELEASE can be read"})


@pytest.mark.parametrize("release", [None, "../../etc", "6.1/../x", ""])
def test_malformed_release_is_not_part_of_a_path(release: str | None) -> None:
    reader = reading({f"/boot/config-{release}": TEXT})
    assert read_kernel_config(reader, release) is None
    assert PACKED in reader.asked
    assert [path for path in reader.asked if not path.startswith("/proc/")] == []


def test_uncompressed_content_is_unchanged() -> None:
    assert gunzip(b"CONFIG_HZ=250\n") == b"CONFIG_HZ=250\n"


@pytest.mark.parametrize(
    "content", [gzip.compress(bytes(5 << 20), mtime=0), gzip.compress(b"x" * 90, mtime=0)[:20], b"\x1f\x8brubbish"]
)
def test_huge_or_damaged_archive_is_rejected(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"huge|header|method"):
        gunzip(content)


_CONSOLES = """\
ttyS0                -W- (EC  p a)    4:64
tty0                 -WU (E   p  )    4:1
netcon0              -W- (    p  )
pstore-1             -W- (E  Np a)
"""


def test_consoles_that_show_or_store_are_not_slow() -> None:
    assert [(console.name, console.is_enabled, console.is_slow) for console in parse_consoles(_CONSOLES)] == [
        ("ttyS0", True, True),
        ("tty0", True, False),
        ("netcon0", False, True),
        ("pstore-1", True, False),
    ]


def test_there_may_be_no_console() -> None:
    assert parse_consoles("") == ()
    assert parse_consoles("hvc0 -W- (EC p ) 229:0") == (Console("hvc0", True),)
