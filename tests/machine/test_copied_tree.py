"""A copied tree: what lies outside it is never read, and what is missing from it is unknown."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from noisewatch.errors import Absent, Unreadable, UsageError
from noisewatch.machine.copied import CopiedTree
from tests.written import write_tree

STAT = {"/proc/stat": "cpu 1 2 3 4\n", "/proc/uptime": "1 2\n", "/sys/kernel/x": "1\n"}


def _tree(root: Path) -> CopiedTree:
    return CopiedTree(str(write_tree(root / "copy", STAT)))


def _linked(root: Path, target: str) -> CopiedTree:
    """A tree whose /proc/link leads to `target`."""
    tree = _tree(root)
    os.symlink(target, root / "copy/proc/link")
    return tree


def _failure(ask: Callable[[], object]) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        ask()
    return caught.value


def test_a_file_of_the_tree_is_read_below_its_root(tmp_path: Path) -> None:
    assert _tree(tmp_path).read_bytes("/proc/stat") == b"cpu 1 2 3 4\n"


def test_names_are_sorted(tmp_path: Path) -> None:
    assert _tree(tmp_path).list_names("/proc") == ["stat", "uptime"]


def test_a_mode_is_that_of_the_copied_file(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    (tmp_path / "copy/proc/stat").chmod(0o444)
    assert tree.mode("/proc/stat") == 0o444


def test_a_tree_is_called_by_its_folder_and_is_not_this_host(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    assert (tree.name, tree.is_live, tree.own_pids) == ("copy", False, frozenset())


def test_a_link_within_the_tree_is_followed(tmp_path: Path) -> None:
    assert _linked(tmp_path, "stat").read_bytes("/proc/link") == b"cpu 1 2 3 4\n"


def test_a_file_below_a_link_within_the_tree_is_read_listed_and_told_of(tmp_path: Path) -> None:
    """/sys/devices/system/cpu/cpu0/cpufreq is such a link, to ../cpufreq/policy0; some links lead to other links."""
    tree = _linked(tmp_path, "../sys/also")
    os.symlink("kernel", tmp_path / "copy/sys/also")
    (tmp_path / "copy/sys/kernel/x").chmod(0o444)
    assert (tree.read_bytes("/proc/link/x"), tree.list_names("/proc/link")) == (b"1\n", ["x"])
    assert tree.mode("/proc/link/x") == 0o444


@pytest.mark.parametrize("name", ["secret", "nothing"])
def test_a_file_below_a_link_that_leaves_the_tree_is_refused_whether_it_is_there_or_not(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    tree = _linked(tmp_path, "../../outside")
    reasons = [_failure(lambda: tree.read_bytes(f"/proc/link/{name}")).reason for _ in range(2)]
    assert reasons == ["a link out of the copied tree"] * 2


def test_a_link_to_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    tree = _linked(tmp_path, "pipe")
    os.mkfifo(tmp_path / "copy/proc/pipe")
    assert _failure(lambda: tree.read_bytes("/proc/link")).reason == "not a regular file"


@pytest.mark.parametrize("path", ["/proc/link", "/proc/link/below"])
def test_a_link_to_nothing_is_unknown_and_not_known_to_be_absent(tmp_path: Path, path: str) -> None:
    tree = _linked(tmp_path, "nothing")
    errors = [_failure(lambda: tree.read_bytes(path)) for _ in range(2)]
    assert [(type(error), error.reason) for error in errors] == [(Unreadable, "no such file")] * 2


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "../../../../../../../../etc/passwd", "/"])
def test_a_link_that_leaves_the_tree_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "secret").write_text("secret")
    error = _failure(lambda: _linked(tmp_path, target).read_bytes("/proc/link"))
    assert error.reason == "a link out of the copied tree"


def test_a_folder_behind_a_link_that_leaves_the_tree_is_not_listed(tmp_path: Path) -> None:
    error = _failure(lambda: _linked(tmp_path, "/etc").list_names("/proc/link"))
    assert error.reason == "a link out of the copied tree"


def test_a_mode_behind_a_link_that_leaves_the_tree_is_not_told(tmp_path: Path) -> None:
    error = _failure(lambda: _linked(tmp_path, "/etc/passwd").mode("/proc/link"))
    assert error.reason == "a link out of the copied tree"


def test_a_neighbour_whose_name_begins_like_the_tree_is_outside_of_it(tmp_path: Path) -> None:
    (tmp_path / "copy-of-another").write_text("secret")
    error = _failure(lambda: _linked(tmp_path, "../../copy-of-another").read_bytes("/proc/link"))
    assert error.reason == "a link out of the copied tree"


def test_a_link_to_itself_is_unreadable_and_not_followed_for_ever(tmp_path: Path) -> None:
    assert not isinstance(_failure(lambda: _linked(tmp_path, "link").read_bytes("/proc/link")), Absent)


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    os.mkfifo(tmp_path / "copy/proc/pipe")
    error = _failure(lambda: tree.read_bytes("/proc/pipe"))
    assert error.reason == "not a regular file"


def test_a_refused_pipe_is_named_as_on_the_machine_that_was_copied(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    os.mkfifo(tmp_path / "copy/proc/pipe")
    assert _failure(lambda: tree.read_bytes("/proc/pipe")).path == "/proc/pipe"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert not isinstance(_failure(lambda: _tree(tmp_path).read_bytes("/proc")), Absent)


@pytest.mark.parametrize("path", ["/proc/schedstat", "/proc/stat/below", "/sys/devices/system/cpu/online"])
def test_a_file_missing_from_a_copy_is_unknown_and_not_known_to_be_absent(tmp_path: Path, path: str) -> None:
    error = _failure(lambda: _tree(tmp_path).read_bytes(path))
    assert not isinstance(error, Absent)
    assert (error.path, error.reason) == (path, "no such file")


def test_a_folder_missing_from_a_copy_is_unknown_and_not_known_to_be_absent(tmp_path: Path) -> None:
    assert not isinstance(_failure(lambda: _tree(tmp_path).list_names("/proc/irq")), Absent)


def test_a_copy_cannot_be_asked(tmp_path: Path) -> None:
    error = _failure(lambda: _tree(tmp_path).ask("devices by irq", dict))
    assert error.reason == "a copied tree cannot answer this"


def test_a_missing_folder_is_no_sysroot(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        CopiedTree(str(tmp_path / "nowhere"))


def test_a_file_is_no_sysroot(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="no such folder"):
        CopiedTree(str(tmp_path / "file"))


def test_a_folder_without_proc_and_sys_is_no_sysroot(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    with pytest.raises(UsageError, match="neither proc/ nor sys/"):
        CopiedTree(str(tmp_path))


@pytest.mark.parametrize("path", ["/proc/version", "/sys/kernel/x"])
def test_either_proc_or_sys_is_enough_for_a_sysroot(tmp_path: Path, path: str) -> None:
    assert CopiedTree(str(write_tree(tmp_path, {path: "text"}))).read_bytes(path) == b"text"


def test_a_sysroot_that_is_itself_a_link_is_followed(tmp_path: Path) -> None:
    write_tree(tmp_path / "copy", STAT)
    os.symlink(tmp_path / "copy", tmp_path / "link")
    assert CopiedTree(str(tmp_path / "link")).read_bytes("/proc/stat") == b"cpu 1 2 3 4\n"
