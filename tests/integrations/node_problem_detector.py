"""The node problem detector with a custom plugin, modelled on its source.

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

_MAX_READ = 4096  # maxCustomPluginBufferBytes
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
    """A detector started with a monitor's JSON; `condition` is that of the node."""

    config: Mapping[str, Any]
    condition: Condition | None = None
    changes: int = 0
    _current: Condition = field(init=False)

    def __post_init__(self) -> None:
        """Reject what config.go rejects."""
        assert self.config["plugin"] == "custom"
        assert os.path.exists(self._rule["path"])
        assert self._rule["condition"] == self._default["type"]
        assert self._timeout_s("rule") <= self._timeout_s("global")
        self._current = Condition("False", self._default["reason"], self._default["message"])
        if not self._settings.get("skip_initial_status", False):
            self.condition = self._current

    def check(self) -> None:
        """Run the rule once (generateStatus)."""
        status, message = self.run()
        current, reports_messages = self._current, self._settings["enable_message_change_based_condition_update"]
        is_changed = status != current.status or (status == "True" and reports_messages and message != current.message)
        if is_changed:
            reason = self._rule["reason"] if status == "True" else self._default["reason"]
            text = self._default["message"] if status == "False" else message
            self._current = Condition(status, reason, text)
            self.changes += 1
        self.condition = self._current

    def run(self) -> tuple[str, str]:
        """Return the status and the output of the plugin, truncated as in plugin.go."""
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
        output = printed[:_MAX_READ].strip()
        if is_late:
            output = f'Timeout when running plugin "{self._rule["path"]}": output - "'.encode() + output
        message = output[: self._settings.get("max_output_length", 80)]
        return _STATUS_BY_EXIT.get(process.returncode, "Unknown"), message.decode()

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

    def _timeout_s(self, scope: str) -> float:
        """Return the timeout of the rule or the global one, which is its default."""
        allowed = self._settings.get("timeout", "5s")
        return _seconds(allowed if scope == "global" else self._rule.get("timeout", allowed))


def _seconds(duration: str) -> float:
    return sum(float(number) * _SECONDS[unit] for number, unit in re.findall(r"([0-9.]+)([smh])", duration))
