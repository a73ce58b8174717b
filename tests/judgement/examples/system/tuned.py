"""Settings that an earlier `noisewatch tune` has changed."""

from __future__ import annotations

from noisewatch.kernel.system.tuned import BOOT_ID, PATH, Tuned, TunedSession, encode_tuned
from tests.judgement.example import Example
from tests.written.quiet_machine import process

_OWNER = process(900, "noisewatch", 0, 5)
_GONE = {"process 900 is gone": True}
_IN_CONTAINER = {"/run/systemd/container": "docker\n"}
_OTHER_BOOT = {BOOT_ID: "another boot\n"}


def _tuned(is_until_exit: bool, settings: int | None) -> dict[str, str]:
    session = TunedSession("900 1000 4026531836 noisewatch", 1_790_000_000.0, "2-3", is_until_exit, settings)
    return {PATH: encode_tuned(Tuned("this boot", (session,))).decode(), BOOT_ID: "this boot\n"}


_UNTIL_EXIT, _LASTING, _BEGUN = _tuned(True, 12), _tuned(False, 12), _tuned(False, None)

EXAMPLES = [
    Example("tuning-left-behind", "fail", _UNTIL_EXIT, "(pid 900) ended before it restored 12 settings", answers=_GONE),
    Example("tuning-left-behind", "fail", _BEGUN, "ended before it restored its settings", answers=_GONE),
    Example("tuning-left-behind", "pass", _UNTIL_EXIT | _OWNER, "12 settings"),
    Example("tuning-left-behind", "pass", _BEGUN | _OWNER, "in progress"),
    Example("tuning-left-behind", "pass", _LASTING, "12 settings", answers=_GONE),
    Example("tuning-left-behind", "pass", _UNTIL_EXIT | _OTHER_BOOT, "not tuned", answers=_GONE),
    Example("tuning-left-behind", "pass", {}, "not tuned"),
    Example("tuning-left-behind", "unknown", _UNTIL_EXIT, "cannot be seen", answers={"process 900 is gone": False}),
    Example("tuning-left-behind", "unknown", _IN_CONTAINER, "a container does not see"),
    Example("tuning-left-behind", "pass", _LASTING | _IN_CONTAINER, "12 settings", answers=_GONE),
    Example("tuning-left-behind", "unknown", {PATH: "rubbish\n"}, "expected"),
    Example("tuning-left-behind", "unknown", _LASTING, gone=(BOOT_ID,)),
    Example("tuning-left-behind", "not-applicable", {}, "copied", is_copy=True),
]
