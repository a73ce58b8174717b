"""How the sampler is started, for those that do not sample themselves."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace


def command_line(arguments: Namespace, allowed: frozenset[int]) -> list[str]:
    """What starts the sampler that the options ask for."""
    options = {
        "cpus": arguments.cpus,
        "sysroot": arguments.sysroot,
        "replay": arguments.replay,
        "interval": arguments.interval,
        "sentinel": arguments.sentinel,
        "allowed": sorted(allowed),
        "observer": os.getpid(),
    }
    return [sys.executable, "-m", "noisewatch.surfaces.sampler", json.dumps(options)]
