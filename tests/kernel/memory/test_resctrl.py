"""The memory traffic of resctrl's groups, and the traffic between two readings."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from noisewatch.kernel.memory.resctrl import RESCTRL, TrafficReading, read_traffic
from noisewatch.kernel.reader import Reader
from noisewatch.model.run.traffic import GroupTraffic, traffic_between
from tests.written import WrittenMachine

_L3 = ("mon_data/mon_L3_00", "mon_data/mon_L3_01")
_MOUNTED = {
    f"{RESCTRL}/schemata": "L3:0=ff;1=ff\n",
    f"{RESCTRL}/info/L3/num_closids": "4\n",
    f"{RESCTRL}/{_L3[0]}/mbm_total_bytes": "100\n",
    f"{RESCTRL}/{_L3[1]}/mbm_total_bytes": "20\n",
    f"{RESCTRL}/{_L3[1]}/llc_occupancy": "5\n",
    f"{RESCTRL}/mon_groups/job/{_L3[0]}/mbm_total_bytes": "7\n",
    f"{RESCTRL}/web/{_L3[0]}/mbm_total_bytes": "3000\n",
    f"{RESCTRL}/web/mon_groups/one/{_L3[0]}/mbm_total_bytes": "400\n",
}
_DEFAULT, _WEB = f"{RESCTRL}/{_L3[0]}/mbm_total_bytes", f"{RESCTRL}/web/{_L3[0]}/mbm_total_bytes"


def _bytes(files: Mapping[str, str]) -> Mapping[str, int | str] | None:
    reading = read_traffic(Reader(WrittenMachine(files)))
    return None if reading is None else reading.bytes_by_group


def test_bytes_of_all_caches_are_added_by_group() -> None:
    assert _bytes(_MOUNTED) == {"/": 120, "/mon_groups/job": 7, "/web": 3000, "/web/mon_groups/one": 400}


def test_resctrl_without_counters_or_not_mounted_has_no_traffic() -> None:
    assert _bytes({f"{RESCTRL}/schemata": "L3:0=ff\n", f"{RESCTRL}/{_L3[0]}/llc_occupancy": "5\n"}) is None
    assert _bytes({}) is None


@pytest.mark.parametrize("text", ["Unavailable\n", "Error\n", ""])
def test_a_counter_without_a_number_makes_its_group_unknown(text: str) -> None:
    counted = _bytes(_MOUNTED | {_DEFAULT: text})
    assert counted is not None
    assert str(counted["/"]).startswith(f"{_DEFAULT}: ")
    assert counted["/web"] == 3000


def test_traffic_is_sorted_and_unknown_where_a_counter_is() -> None:
    first = TrafficReading(10**9, {"/": 100, "/web": 0, "/old": 5, "/reset": 9, "/dark": 1})
    last = TrafficReading(3 * 10**9, {"/": 300, "/web": 8000, "/new": 5, "/reset": 1, "/dark": "it is Unavailable"})
    assert traffic_between(first, last) == (
        GroupTraffic("/web", 4000.0),
        GroupTraffic("/", 100.0),
        GroupTraffic("/reset", None, "the counter was reset"),
        GroupTraffic("/dark", None, "it is Unavailable"),
    )
    assert traffic_between(None, last) == traffic_between(first, None) == ()
