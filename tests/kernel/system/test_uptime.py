"""/proc/uptime."""

from __future__ import annotations

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.topology import NAME, read_core_ranking
from noisewatch.kernel.system.release import parse_uptime
from tests.written import reading


def test_the_first_number_is_the_uptime() -> None:
    assert parse_uptime("34521.77 66120.03\n") == 34521.77


@pytest.mark.parametrize("text", ["", "34521.77", "34521.77 ", "1e9 2.0", "-1.0 2.0", "soon 2.0"])
def test_anything_else_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_uptime(text)


def test_only_cores_that_are_ranked_have_a_rank() -> None:
    files = {f"{CPUS}/cpu{cpu}/{NAME}": text for cpu, text in {1: "236\n", 2: "0\n", 3: "rubbish\n"}.items()}
    assert read_core_ranking(reading(files), frozenset({0, 1, 2, 3})) == {1: 236}
