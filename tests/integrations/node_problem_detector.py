"""What the node problem detector does with a custom plugin, as its source has it.

pkg/custompluginmonitor: types/config.go, plugin/plugin.go and custom_plugin_monitor.go.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_MOST_READ = 4096  # maxCustomPluginBufferBytes
_STATUS_BY_EXIT = {0: "False", 1: "True"}
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class Condition:
    """A node's condition."""

    status: str
    reason: str
    message: str


@dataclass(slots=True)
class Detector:
    """A detector that has been started with a monitor's JSON; `condition` is what the node has."""

    config: Mapping[str, Any]
    condition: Condition | None = None
    changes: int = 0
    _known: Condition = field(init=False)

    def __post_init__(self) -> None:
        """Refuses what config.go refuses."""
        assert self.config["plugin"] == "custom"
        assert os.path.exists(self._rule["path"])
        assert self._rule["condition"] == self._default["type"]
        assert self._timeout_s("rule") <= self._timeout_s("global")
        self._known = Condition("False", self._default["reason"], self._default["message"])
        if not self._settings.get("skip_initial_status", False):
            self.condition = self._known

    def look(self) -> None:
        """Runs the rule once (generateStatus)."""
        status, message = self.run()
        known, reports_messages = self._known, self._settings["enable_message_change_based_condition_update"]
        is_changed = status != known.status or (status == "True" and reports_messages and message != known.message)
        if is_changed:
            reason = self._rule["reason"] if status == "True" else self._default["reason"]
            said = self._default["message"] if status == "False" else message
            self._known = Condition(status, reason, said)
            self.changes += 1
        self.condition = self._known

    def run(self) -> tuple[str, str]:
        """The status, and what the plugin printed, as plugin.go cuts it."""
        with subprocess.Popen(
            [self._rule["path"], *self._rule["args"]],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        ) as process:  # fmt: skip
            is_late = False
            try:
                printed, _ = process.communicate(timeout=self._timeout_s("rule"))
            except subprocess.TimeoutExpired:
                is_late = True
                os.killpg(process.pid, signal.SIGKILL)
                printed, _ = process.communicate()
        output = printed[:_MOST_READ].strip()
        if is_late:
            output = f'Timeout when running plugin "{self._rule["path"]}": output - "'.encode() + output
        cut = output[: self._settings.get("max_output_length", 80)]
        return _STATUS_BY_EXIT.get(process.returncode, "Unknown"), cut.decode()

    @property
    def _settings(self) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self.config["pluginConfig"]
        return settings

    @property
    def _rule(self) -> Mapping[str, Any]:
        (rule,) = self.config["rules"]
        assert rule["type"] == "permanent"
        return dict(rule)

    @property
    def _default(self) -> Mapping[str, Any]:
        (condition,) = self.config["conditions"]
        return dict(condition)

    def _timeout_s(self, whose: str) -> float:
        """The rule's counts where it has one, and is then no longer than the global one."""
        allowed = self._settings.get("timeout", "5s")
        return _seconds(allowed if whose == "global" else self._rule.get("timeout", allowed))


def _seconds(duration: str) -> float:
    return sum(float(number) * _SECONDS[unit] for number, unit in re.findall(r"([0-9.]+)([smh])", duration))
