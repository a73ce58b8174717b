"""A copied tree: files outside are never read, and missing files are unknown."""

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


def _tree_with_link(root: Path, target: str) -> CopiedTree:
    """Return a tree whose /proc/link leads to `target`."""
    tree = _tree(root)
    os.symlink(target, root / "copy/proc/link")
    return tree


def _failure(ask: Callable[[], object]) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        ask()
    return caught.value


def test_file_is_read_below_the_root(tmp_path: Path) -> None:
    assert _tree(tmp_path).read_bytes("/proc/stat") == b"cpu 1 2 3 4\n"


def test_names_are_sorted(tmp_path: Path) -> None:
    assert _tree(tmp_path).list_names("/proc") == ["stat", "uptime"]


def test_mode_is_that_of_the_copied_file(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    (tmp_path / "copy/proc/stat").chmod(0o444)
    assert tree.mode("/proc/stat") == 0o444


def test_tree_is_named_after_its_folder_and_is_not_this_host(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    assert (tree.name, tree.is_live, tree.own_pids) == ("copy", False, frozenset())


def test_link_within_the_tree_is_followed(tmp_path: Path) -> None:
    assert _tree_with_link(tmp_path, "stat").read_bytes("/proc/link") == b"cpu 1 2 3 4\n"


def test_file_below_a_link_within_the_tree_is_accessible(tmp_path: Path) -> None:
    """/sys/devices/system/cpu/cpu0/cpufreq is such a link, to ../cpufreq/policy0; some links lead to other links."""
    tree = _tree_with_link(tmp_path, "../sys/also")
    os.symlink("kernel", tmp_path / "copy/sys/also")
    (tmp_path / "copy/sys/kernel/x").chmod(0o444)
    assert (tree.read_bytes("/proc/link/x"), tree.list_names("/proc/link")) == (b"1\n", ["x"])
    assert tree.mode("/proc/link/x") == 0o444


@pytest.mark.parametrize("name", ["secret", "nothing"])
def test_file_below_a_link_out_of_the_tree_is_refused_whether_it_exists_or_not(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    tree = _tree_with_link(tmp_path, "../../outside")
    reasons = [_failure(lambda: tree.read_bytes(f"/proc/link/{name}")).reason for _ in range(2)]
    assert reasons == ["a link out of the copied tree"] * 2


def test_pipe_and_link_to_a_pipe_are_refused_without_waiting(tmp_path: Path) -> None:
    tree = _tree_with_link(tmp_path, "pipe")
    os.mkfifo(tmp_path / "copy/proc/pipe")
    for path in ("/proc/pipe", "/proc/link"):
        error = _failure(lambda path=path: tree.read_bytes(path))  # type: ignore[misc]
        assert (error.path, error.reason) == (path, "not a regular file")


@pytest.mark.parametrize("path", ["/proc/link", "/proc/link/below"])
def test_link_to_nothing_is_unknown_and_not_absent(tmp_path: Path, path: str) -> None:
    tree = _tree_with_link(tmp_path, "nothing")
    errors = [_failure(lambda: tree.read_bytes(path)) for _ in range(2)]
    assert [(type(error), error.reason) for error in errors] == [(Unreadable, "no such file")] * 2


_OUTSIDE = ("/etc", "/etc/passwd", "../../secret", "../../../../../../../../etc/passwd", "/", "../../copy-of-another")


@pytest.mark.parametrize("ask", [CopiedTree.read_bytes, CopiedTree.list_names, CopiedTree.mode])
@pytest.mark.parametrize("target", _OUTSIDE)
def test_target_of_a_link_out_of_the_tree_is_not_accessible(
    tmp_path: Path, ask: Callable[[CopiedTree, str], object], target: str
) -> None:
    for name in ("secret", "copy-of-another"):  # the second name begins like the tree's
        (tmp_path / name).write_text("secret")
    assert (
        _failure(lambda: ask(_tree_with_link(tmp_path, target), "/proc/link")).reason == "a link out of the copied tree"
    )


def test_circular_link_folder_and_missing_folder_are_unreadable_and_not_absent(tmp_path: Path) -> None:
    tree = _tree_with_link(tmp_path, "link")
    for ask in (
        lambda: tree.read_bytes("/proc/link"),
        lambda: tree.read_bytes("/proc"),
        lambda: tree.list_names("/proc/irq"),
    ):
        assert not isinstance(_failure(ask), Absent)


@pytest.mark.parametrize("path", ["/proc/schedstat", "/proc/stat/below", "/sys/devices/system/cpu/online"])
def test_missing_file_is_unknown_and_not_absent(tmp_path: Path, path: str) -> None:
    error = _failure(lambda: _tree(tmp_path).read_bytes(path))
    assert not isinstance(error, Absent)
    assert (error.path, error.reason) == (path, "no such file")


def test_copy_cannot_answer_questions(tmp_path: Path) -> None:
    error = _failure(lambda: _tree(tmp_path).ask("devices by irq", dict))
    assert error.reason == "not available in a copied tree"


@pytest.mark.parametrize(
    ("name", "words"), [("missing", "no such folder"), ("file", "no such folder"), ("folder", "neither proc/ nor sys/")]
)
def test_sysroot_needs_proc_or_sys(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder/etc").mkdir(parents=True)
    with pytest.raises(UsageError, match=words):
        CopiedTree(str(tmp_path / name))


@pytest.mark.parametrize("path", ["/proc/version", "/sys/kernel/x"])
def test_either_proc_or_sys_is_enough_for_a_sysroot(tmp_path: Path, path: str) -> None:
    assert CopiedTree(str(write_tree(tmp_path, {path: "text"}))).read_bytes(path) == b"text"


def test_linked_sysroot_is_followed(tmp_path: Path) -> None:
    write_tree(tmp_path / "copy", STAT)
    os.symlink(tmp_path / "copy", tmp_path / "link")
    assert CopiedTree(str(tmp_path / "link")).read_bytes("/proc/stat") == b"cpu 1 2 3 4\n"
