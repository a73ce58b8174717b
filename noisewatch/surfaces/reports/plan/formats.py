"""The formats of a plan, for the command line, which does not load them."""

from __future__ import annotations

from msgspec import Struct

PLAN_FORMATS = ("text", "script", "cmdline", "systemd", "json")


class PlanRenderOptions(Struct, frozen=True):
    """The limits that a rendered plan has to fit."""

    width: int = 100
    in_colour: bool = False
    in_unicode: bool = True
