"""Area `load`: the machine's lock."""

from __future__ import annotations

from noisewatch.kernel.tasks.machine_lock import NAMESPACE, PATH
from tests.judgement.example import Example
from tests.written.quiet_machine import process

_LOCKED = {PATH: "900 1000 4026531836 nightly.sh\n"}
_HOLDER = process(900, "nightly.sh", 0, 5)

EXAMPLES = [
    Example("machine-locked", "fail", _LOCKED | _HOLDER, "nightly.sh (pid 900)"),
    Example("machine-locked", "pass", {PATH: "\n"}, "nobody"),
    Example("machine-locked", "pass", _LOCKED, "a stale lock", answers={"process 900 is gone": True}),
    Example("machine-locked", "unknown", _LOCKED, "nightly.sh (pid 900)", answers={"process 900 is gone": False}),
    Example("machine-locked", "unknown", _LOCKED | _HOLDER, "from here", answers={NAMESPACE: 4026532000}),
    Example("machine-locked", "unknown", _LOCKED | _HOLDER, "from here", answers={NAMESPACE: None}),
    Example("machine-locked", "not-applicable", {}, "nothing is to start", is_copy=True),
    Example("machine-locked", "unknown", {PATH: "rubbish"}, "wanted"),
]
