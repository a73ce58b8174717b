from mmap import mmap

from noisewatch.machine.command.python_launching import Launched

def launch(
    paths: tuple[bytes, ...],
    argv: tuple[bytes, ...],
    environment: tuple[bytes, ...],
    cpus: tuple[int, ...],
    must_have_all: bool,
    nodes: tuple[int, ...],
    cgroup: int,
    has_user: bool,
    uid: int,
    gid: int,
    groups: tuple[int, ...],
    is_quiet: bool,
    blocked: int,
    ignored: int,
    layout: int,
    guarded: mmap,
) -> Launched: ...
def prctl(option: int, value: int) -> None: ...
def signalfd(numbers: int) -> int: ...
