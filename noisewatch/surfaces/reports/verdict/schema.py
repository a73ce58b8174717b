"""The JSON Schema of `preflight --format json`."""

from __future__ import annotations

from importlib.resources import files


def schema_of_verdict() -> str:
    """The schema's text (draft 2020-12). Keys are only ever added, so that it allows others."""
    return files(__package__).joinpath("verdict.schema.json").read_text("utf-8")
