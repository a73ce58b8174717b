"""Hardware that makes no errors, a machine that has been up for hours, and a kernel that has complained of nothing."""

from __future__ import annotations

from noisewatch.kernel.system.hardware_errors import CONTROLLERS, DEVICES, PORT_SERVICES, PORT_TOTAL
from noisewatch.kernel.system.log import QUESTION
from noisewatch.machine import Json

PORT = "0000:00:1c.0"
ANSWERS: dict[str, Json] = {QUESTION: {"troubles": {}, "is_complete": True}}


def files(seconds: float) -> dict[str, str]:
    """Counters that stand still; the uptime does not."""
    return {
        f"{CONTROLLERS}/mc0/ce_count": "2\n",
        f"{CONTROLLERS}/mc0/ue_count": "0\n",
        f"{PORT_SERVICES}/{PORT}:pcie001/uevent": "",
        f"{PORT_SERVICES}/{PORT}:pcie002/uevent": "",
        f"{DEVICES}/{PORT}/{PORT_TOTAL}": "17\n",
        "/proc/uptime": f"{34_521.77 + seconds:.2f} 66120.03\n",
        "/etc/default/grub": 'GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT="quiet nohz_full=2-3"\n',
    }
