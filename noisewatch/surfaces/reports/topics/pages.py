"""The topics' pages, as stored in the package: Markdown with a title, a summary, sections and perhaps sources."""

from __future__ import annotations

from importlib.resources import files

from noisewatch.surfaces.reports.parts.tables import align, table
from noisewatch.surfaces.reports.topics import TOPICS


def read_page(topic: str) -> str:
    """Return the Markdown of one of TOPICS."""
    return files(__package__).joinpath(f"{topic}.md").read_text("utf-8")


def text_of_topics() -> str:
    """Return a table of the topics with their titles, as text."""
    return align([("TOPIC", "TITLE"), *((topic, _title(topic)) for topic in TOPICS)]) + "\n"


def markdown_of_topics() -> str:
    """Return a table of the topics with their titles, as Markdown."""
    return table(("topic", "title"), [(f"`{topic}`", _title(topic)) for topic in TOPICS])


def _title(topic: str) -> str:
    return read_page(topic).partition("\n")[0].removeprefix("# ")
