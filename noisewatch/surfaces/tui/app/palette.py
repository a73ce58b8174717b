"""The command palette: every key by what it does, and every CPU by its number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from noisewatch.surfaces.tui.app.bindings import BINDINGS
from noisewatch.surfaces.tui.app.keys import name_of_key
from noisewatch.surfaces.tui.state.screen_model import ScreenModel


class KeyCommands(Provider):
    """What can be asked for by its name."""

    async def discover(self) -> Hits:
        for name, told, command in self._key_commands():
            yield DiscoveryHit(name, command, help=told)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, told, command in (*self._key_commands(), *self._cpu_commands()):
            score = matcher.match(name)
            if score > 0:
                yield Hit(score, matcher.highlight(name), command, help=told)

    def _key_commands(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        for binding in BINDINGS:
            if binding.show:
                yield (
                    binding.description,
                    f"key {' '.join(map(name_of_key, binding.key.split(',')))}",
                    partial(self.app.run_action, binding.action),
                )

    def _cpu_commands(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        model: ScreenModel = self.app.model  # type: ignore[attr-defined]  # the only app that has this palette
        for line in model.frame.cpus if model.frame is not None else ():
            yield f"CPU {line.cpu}", line.role, partial(self.app.run_action, f"cpu({line.cpu})")
