"""The destination of a command's output: standard output, or a file that is only created or replaced as a whole."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, TextIO

from noisewatch.errors import UsageError, system_reason

AUTO, ALWAYS, NEVER = "auto", "always", "never"  # the values of --color
_UTF8 = "utf8"
_FORCING = ("FORCE_COLOR", "CLICOLOR_FORCE")
_WIDTH_WITHOUT_TERMINAL = 100
_MOST_SUMMARY_BYTES = 1024 * 1024  # GitHub rejects a step's summary file that is longer


@contextmanager
def open_output(path: str | None, is_quiet: bool = False) -> Iterator[BinaryIO]:
    """Yield a writable file: standard output (None, `-`), or `path`, which is created or replaced only on success.

    Pipes and devices, such as /dev/stderr, are written directly. Unless `is_quiet`, a message names the written file.
    Raise UsageError if the file cannot be written.
    """
    if path == "":
        raise UsageError("the name of a file to write is empty")
    if path in (None, "-"):
        if sys.stdout is None:
            raise UsageError("standard output is closed")
        with _report_errors("standard output"):
            try:
                yield sys.stdout.buffer
                sys.stdout.buffer.flush()
            except OSError:
                drop_unwritable(sys.stdout)
                raise
    elif _is_special(path):
        with _report_errors(path), open(path, "wb") as file:
            yield file
    else:
        with _report_errors(path):
            yield from _open_replacement(path)
        if not is_quiet:
            announce(path)


def announce(path: str) -> None:
    """Print to standard error that the file was written, unless it is a pipe or a device."""
    if not _is_special(path):
        print_message(f"noisewatch: wrote {path}")


def print_message(message: str) -> None:
    """Print a message to standard error; if that fails, keep the exit status and print nothing."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"{message}\n")
    except OSError:
        drop_unwritable(sys.stderr)


def drop_unwritable(stream: TextIO | None) -> None:
    """Redirect an unwritable stream to /dev/null; otherwise the interpreter's last flush would exit with status 120."""
    if stream is None:
        return
    try:
        stream.flush()
    except (OSError, ValueError):  # a closed stream raises ValueError
        with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # tests have streams without descriptor
            os.dup2(nowhere.fileno(), stream.fileno())


def print_answer(text: str) -> None:
    """Print the text, with `?` for characters that the encoding lacks. Raise UsageError if it cannot be written."""
    with open_output(None) as output:
        output.write(text.encode(sys.stdout.encoding or "utf-8", "replace"))


def append_step_summary(render_markdown: Callable[[int], str]) -> str | None:
    """Append Markdown to the summary file of a GitHub workflow's step; return an error message, or None.

    $GITHUB_STEP_SUMMARY names the file. `render_markdown` gets the number of bytes that still fit into it.
    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#adding-a-job-summary
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return None
    try:
        with open(path, "ab") as file:
            markdown = render_markdown(_MOST_SUMMARY_BYTES - file.tell() - 1)
            file.write(f"\n{markdown}".encode("utf-8", "replace") if markdown else b"")
    except OSError as error:
        return f"{path}: {system_reason(error)}"
    return None


def _is_special(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _open_replacement(path: str) -> Iterator[BinaryIO]:
    import tempfile  # most answers go to standard output

    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.lexists(folder):
        raise UsageError(f"{path}: there is no folder {folder}; create it first")
    descriptor, temporary = tempfile.mkstemp(prefix=".noisewatch-", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.chmod(temporary, _target_mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _target_mode(path: str) -> int:
    """Return the mode of the replaced file, or the umask's default if there is none."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


@contextmanager
def _report_errors(path: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: {system_reason(error)}") from error


def width() -> int:
    """Return the number of columns at which to wrap text."""
    import shutil  # it imports modules for archives

    return shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 24)).columns


def height() -> int | None:
    """Return the number of rows of the terminal (or $LINES), or None if standard output is not a terminal."""
    import shutil  # it imports modules for archives

    return shutil.get_terminal_size((0, 0)).lines or None


def takes_colour(output: str | None, choice: str = AUTO) -> bool:
    """Return whether a text report has colours: a stream as `in_colour` decides, a file only with "always"."""
    return choice == ALWAYS or (output is None and in_colour(sys.stdout, choice))


def in_colour(stream: TextIO, choice: str = AUTO) -> bool:
    """Return whether text on the stream has colours, by --color, then the environment, then the kind of terminal.

    https://no-color.org and https://force-color.org; NO_COLOR has precedence, "0" forces nothing.
    """
    if choice != AUTO or os.environ.get("NO_COLOR"):
        return choice == ALWAYS
    if any(os.environ.get(name, "0") not in ("", "0") for name in _FORCING):
        return True
    return os.environ.get("TERM", "dumb") != "dumb" and stream.isatty()


def takes_unicode(output: str | None) -> bool:
    """Return whether a report may contain non-ASCII characters: always in a file, else if the encoding has them."""
    return output is not None or is_utf8(sys.stdout)


def encode_report(text: str, output: str | None) -> bytes:
    """Encode a text report: in UTF-8, or in ASCII for a terminal or pipe that takes nothing else."""
    if not takes_unicode(output):
        from noisewatch.surfaces.drawing.text_row import to_ascii  # most terminals take UTF-8

        text = to_ascii(text)
    return text.encode("utf-8", "replace")


def is_utf8(stream: TextIO) -> bool:
    return encoding_of(stream).lower().replace("-", "") == _UTF8


def encoding_of(stream: TextIO) -> str:
    """Return the stream's encoding, or ASCII if Python only assumes UTF-8 and the user's locale does not name it.

    Unless the user sets the encoding, Python also assumes UTF-8 in the locales C and POSIX, and in locales that are
    not installed (PEP 538, PEP 540).
    """
    locale = os.environ.get("LC_ALL") or os.environ.get("LANG") or "UTF-8"  # not LC_CTYPE, which Python itself may set
    is_python_sure = not sys.flags.utf8_mode or any(name in os.environ for name in ("PYTHONUTF8", "PYTHONIOENCODING"))
    return stream.encoding or "" if is_python_sure or _UTF8 in locale.lower().replace("-", "") else "ascii"


def can_move_cursor() -> bool:
    """Return whether a terminal of this type can move the cursor."""
    return os.environ.get("TERM", "dumb") not in ("dumb", "")


def is_interactive() -> bool:
    """Return whether a full screen can be drawn: Textual draws on standard error and reads keys from standard input.

    If standard output is redirected, as in `noisewatch | head`, its reader expects text.
    """
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return can_move_cursor() and all(stream is not None and stream.isatty() for stream in streams)
