"""Prometheus, Alertmanager and two node_exporters on the loopback, with periods of seconds instead of minutes."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests import CHECKOUT
from tests.fleet.engines import POLL_INTERVAL_S, free_port, program, run_engine
from tests.fleet.shipped import shipped_files
from tests.plumbing.waiting import wait_until
from tests.surfaces.running import NOISEWATCH

TIMEOUT_S = 120.0
FILE = "noisewatch.prom"


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Machines `a` and `b`, each with a folder of text files and an exporter; `messages` are from Alertmanager."""

    folder: Path
    url: str
    instance_by_name: dict[str, str]
    messages: list[dict[str, Any]] = field(default_factory=list)

    def textfile(self, name: str) -> Path:
        return self.folder / name / FILE

    def judge(self, name: str, options: str) -> None:
        """Write the text file of a machine with noisewatch, as its service does."""
        preflight = [*NOISEWATCH, "preflight", "--no-config", "--exit-zero", "--format", "prometheus"]
        command = [*preflight, "--output", str(self.textfile(name)), *options.split()]
        subprocess.run(command, check=True, cwd=CHECKOUT, capture_output=True)

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the current result of an expression. Raise HTTPError if it cannot be parsed."""
        parameters = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{parameters}") as answer:
            result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return result

    def wait_for_message(self, alert: str, name: str, status: str) -> dict[str, Any]:
        """Wait until Alertmanager sends an alert in a message about this machine only, and return the alert."""
        wait_until(lambda: bool(self._alerts(alert, name, status)), TIMEOUT_S, POLL_INTERVAL_S)
        return self._alerts(alert, name, status)[0]

    def alerts_of(self, name: str) -> list[str]:
        """Return the names of all alerts sent for a machine so far."""
        all_labels = [alert["labels"] for message in self.messages for alert in message["alerts"]]
        return [labels["alertname"] for labels in all_labels if labels["instance"] == self.instance_by_name[name]]

    def _alerts(self, alert: str, name: str, status: str) -> list[dict[str, Any]]:
        group = {"instance": self.instance_by_name[name]}
        alerts = [row for message in self.messages if message["groupLabels"] == group for row in message["alerts"]]
        return [row for row in alerts if row["labels"]["alertname"] == alert and row["status"] == status]


@contextmanager
def monitoring(folder: Path) -> Iterator[Monitoring]:
    """Run all services with the shipped files, in which periods are set to seconds."""
    messages: list[dict[str, Any]] = []
    ports = {name: free_port() for name in ("a", "b", "server", "alerts")}
    with ExitStack() as stack:
        ports["webhook"] = stack.enter_context(_webhook(messages))
        _write_files(folder, ports)
        for name, command in _commands(folder).items():
            listens = f"--web.listen-address=127.0.0.1:{ports[name]}"
            stack.enter_context(run_engine([*command, listens], folder / f"{name}.log"))
        instances = {name: f"127.0.0.1:{ports[name]}" for name in ("a", "b")}
        machines = Monitoring(folder, f"http://127.0.0.1:{ports['server']}", instances, messages)
        wait_until(lambda: _is_up(machines), TIMEOUT_S, POLL_INTERVAL_S)
        yield machines


def _commands(folder: Path) -> dict[str, list[str]]:
    exporter = [program("prometheus-node-exporter"), "--collector.disable-defaults", "--collector.textfile"]
    server = [program("prometheus"), f"--config.file={folder / 'prometheus.yml'}"]
    alerts = [program("prometheus-alertmanager"), f"--config.file={folder / 'alertmanager.yml'}"]
    return {
        "a": [*exporter, f"--collector.textfile.directory={folder / 'a'}"],
        "b": [*exporter, f"--collector.textfile.directory={folder / 'b'}"],
        "alerts": [*alerts, f"--storage.path={folder / 'alerts'}", "--cluster.listen-address="],
        "server": [*server, f"--storage.tsdb.path={folder / 'data'}"],
    }


def _is_up(machines: Monitoring) -> bool:
    try:
        return len(machines.query('up{job="node"} == 1')) == len(machines.instance_by_name)
    except OSError:
        return False


def _write_files(folder: Path, ports: dict[str, int]) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
    texts = shipped_files("prometheus")
    texts["prometheus.yml"] = (
        texts["prometheus.yml"]
        .replace("15s", "1s")
        .replace("'127.0.0.1:9100'", f"'127.0.0.1:{ports['a']}', '127.0.0.1:{ports['b']}'")
        .replace(":9093", f":{ports['alerts']}")
    )
    texts["noisewatch.rules.yml"] = re.sub(r"for: \d+m", "for: 2s", texts["noisewatch.rules.yml"])
    alertmanager = re.sub(r"(group_wait|group_interval): \w+", r"\1: 1s", texts["alertmanager.yml"])
    texts["alertmanager.yml"] = alertmanager.replace(":9095", f":{ports['webhook']}")
    for path, text in texts.items():
        (folder / path).write_text(text)


@contextmanager
def _webhook(messages: list[dict[str, Any]]) -> Iterator[int]:
    """Append the messages of Alertmanager to `messages`, and yield the port for them."""

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Write no log to standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()
