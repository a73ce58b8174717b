"""CPUs that sleep lightly."""

from __future__ import annotations

from noisewatch.kernel.frequency.idle import LATENCY_REQUEST, NO_LIMIT_US
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.machine import Json

CPUS = "/sys/devices/system/cpu"
STATES = (("POLL", 0, 0), ("C1", 2, 0), ("C1E", 10, 0), ("C6", 133, 1))
ANSWERS: dict[str, Json] = {LATENCY_REQUEST: NO_LIMIT_US}


def files(seconds: float) -> dict[str, str]:
    """Their deep states are disabled."""
    written: dict[str, str] = {Knob.IDLE_DRIVER: "intel_idle\n"}
    for cpu in range(4):
        written[f"{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us"] = "0\n"
        for index, (name, latency_us, disable) in enumerate(STATES):
            folder = f"{CPUS}/cpu{cpu}/cpuidle/state{index}"
            written |= {
                f"{folder}/name": f"{name}\n",
                f"{folder}/latency": f"{latency_us}\n",
                f"{folder}/disable": f"{disable}\n",
            }
    return written
