"""The machines of the lab, each booted for the first scenario that uses it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.lab.lab import Lab, LabFailed
from tests.lab.machine import ARM, ISOLATED, NOHZ_FULL, ONE_CPU, PLAIN, REALTIME, REBUILT, Variant, kernel_image

_BOOTS = 3


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/lab/" in item.path.as_posix():
            item.add_marker("lab")


@contextmanager
def _lab(variant: Variant) -> Iterator[Lab]:
    set_up = f"tests/lab/set_up {variant.set_up_option}".rstrip()
    if shutil.which(variant.emulator) is None:
        pytest.skip(f"{variant.emulator} is not installed: {set_up}")
    image = kernel_image(variant)
    if image is None and variant.set_up_option:
        pytest.skip(f"there is no kernel for the machine {variant.name}: {set_up}")
    assert image is not None, "QEMU is here, but no kernel for it: tests/lab/set_up"
    with ExitStack() as stack:
        yield _boot(stack, variant, image)


def _boot(stack: ExitStack, variant: Variant, image: Path) -> Lab:
    """Boot the lab, and retry if QEMU itself fails (10.0: an assertion in iotlb_to_section)."""
    for _ in range(_BOOTS - 1):
        with suppress(LabFailed):
            return stack.enter_context(Lab(variant, image))
    return stack.enter_context(Lab(variant, image))


@pytest.fixture(scope="session")
def isolated() -> Iterator[Lab]:
    with _lab(ISOLATED) as lab:
        yield lab


@pytest.fixture(scope="session")
def plain() -> Iterator[Lab]:
    with _lab(PLAIN) as lab:
        yield lab


@pytest.fixture(scope="module")
def one_cpu() -> Iterator[Lab]:
    with _lab(ONE_CPU) as lab:
        yield lab


@pytest.fixture(scope="module")
def nohz_full() -> Iterator[Lab]:
    with _lab(NOHZ_FULL) as lab:
        yield lab


@pytest.fixture(scope="module")
def realtime() -> Iterator[Lab]:
    with _lab(REALTIME) as lab:
        yield lab


@pytest.fixture(scope="module")
def rebuilt() -> Iterator[Lab]:
    with _lab(REBUILT) as lab:
        yield lab


@pytest.fixture(scope="module")
def arm() -> Iterator[Lab]:
    with _lab(ARM) as lab:
        yield lab
