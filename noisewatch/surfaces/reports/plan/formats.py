"""The formats of a plan, as data. A format's module is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.judgement.plan.plan import Plan

PLAN_FORMATS = ("text", "script", "cmdline", "systemd", "json")


@dataclass(frozen=True, slots=True)
class PlanRenderOptions:
    """The limits that a rendered plan has to fit."""

    width: int = 100
    in_colour: bool = False
    in_unicode: bool = True


def render_plan(plan: Plan, form: str, options: PlanRenderOptions, is_undo: bool = False) -> str:
    """Return the plan in the format `form`; with `is_undo` the undo of the plan, which only some formats have."""
    function: Callable[[Plan, PlanRenderOptions], str] = getattr(_module(form), "render_undo" if is_undo else "render")
    return function(plan, options)


def plan_remarks(plan: Plan, form: str) -> Iterable[str]:
    """Return remarks on the plan for standard error, if the format has no place for them."""
    function: Callable[[Plan], Iterable[str]] | None = getattr(_module(form), "remarks", None)
    return () if function is None else function(plan)


def _module(form: str) -> ModuleType:
    return import_module(f"noisewatch.surfaces.reports.plan.{form}")
