"""Prometheus, Alertmanager and two node_exporters on the loopback, which do in seconds what takes them minutes."""

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
from tests.fleet.engines import ASKS_EVERY_S, free_port, program, started
from tests.fleet.shipped import shipped
from tests.plumbing.waiting import wait_until
from tests.surfaces.running import NOISEWATCH

WITHIN_S = 120.0
FILE = "noisewatch.prom"


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Two machines, `a` and `b`: folders of text files, scraped from the exporters of that name."""

    folder: Path
    url: str
    instance_by_name: dict[str, str]
    told: list[dict[str, Any]] = field(default_factory=list)

    def textfile(self, name: str) -> Path:
        return self.folder / name / FILE

    def judge(self, name: str, options: str) -> None:
        """Has noisewatch write the machine's file, as its service does."""
        preflight = [*NOISEWATCH, "preflight", "--no-config", "--exit-zero", "--format", "prometheus"]
        command = [*preflight, "--output", str(self.textfile(name)), *options.split()]
        subprocess.run(command, check=True, cwd=CHECKOUT, capture_output=True)

    def query(self, expression: str) -> list[dict[str, Any]]:
        """What it gives at this moment; an HTTPError where it cannot be parsed."""
        asked = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{asked}") as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return found

    def wait_for_message(self, alert: str, name: str, status: str) -> dict[str, Any]:
        """The alert, as Alertmanager has sent it in a message about that machine alone."""
        wait_until(lambda: bool(self._sent(alert, name, status)), WITHIN_S, ASKS_EVERY_S)
        return self._sent(alert, name, status)[0]

    def was_told_of(self, name: str) -> list[str]:
        """The alerts that were ever sent for it."""
        sent = [each["labels"] for message in self.told for each in message["alerts"]]
        return [labels["alertname"] for labels in sent if labels["instance"] == self.instance_by_name[name]]

    def _sent(self, alert: str, name: str, status: str) -> list[dict[str, Any]]:
        of_machine = [each for each in self.told if each["groupLabels"] == {"instance": self.instance_by_name[name]}]
        alerts = [each for message in of_machine for each in message["alerts"]]
        return [each for each in alerts if each["labels"]["alertname"] == alert and each["status"] == status]


@contextmanager
def monitoring(folder: Path) -> Iterator[Monitoring]:
    """All of them, with the shipped files; the times in those are seconds."""
    told: list[dict[str, Any]] = []
    ports = {name: free_port() for name in ("a", "b", "server", "alerts")}
    with ExitStack() as stack:
        ports["webhook"] = stack.enter_context(_webhook(told))
        _write_files(folder, ports)
        for name, command in _commands(folder).items():
            listens = f"--web.listen-address=127.0.0.1:{ports[name]}"
            stack.enter_context(started([*command, listens], folder / f"{name}.log"))
        instances = {name: f"127.0.0.1:{ports[name]}" for name in ("a", "b")}
        made = Monitoring(folder, f"http://127.0.0.1:{ports['server']}", instances, told)
        wait_until(lambda: _is_up(made), WITHIN_S, ASKS_EVERY_S)
        yield made


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


def _is_up(made: Monitoring) -> bool:
    try:
        return len(made.query('up{job="node"} == 1')) == len(made.instance_by_name)
    except OSError:
        return False


def _write_files(folder: Path, ports: dict[str, int]) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
    texts = shipped("prometheus")
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
def _webhook(told: list[dict[str, Any]]) -> Iterator[int]:
    """Takes what Alertmanager sends; its port."""

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
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
