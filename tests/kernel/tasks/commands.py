"""Files of commands, and looks at their threads."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.kernel.tasks.command_threads import ThreadLook

MS = 1_000_000


def thread_files(
    pid: int,
    tid: int | None = None,
    *,
    cpu: int = 2,
    ran_ns: int = 0,
    waited_ns: int = 0,
    state: str = "S",
    threads: int = 1,
    children: str = "",
    migrations: int | None = None,
    name: str = "bench",
) -> dict[str, str]:
    """Return the files of one thread, below its process."""
    tid = pid if tid is None else tid
    folder = f"/proc/{pid}/task/{tid}"
    fields = [state, 1, pid, pid, 0, -1, 0, 0, 0, 0, 0, ran_ns // 10_000_000, 0, 0, 0, 20, 0, threads, 0, 100 + tid]
    fields += [0] * 16 + [cpu, 0, 0, 0, 0]
    files = {
        f"{folder}/stat": f"{tid} ({name}) {' '.join(map(str, fields))}\n",
        f"{folder}/schedstat": f"{ran_ns} {waited_ns} 7\n",
        f"{folder}/children": children,
    }
    if migrations is not None:
        files[f"{folder}/sched"] = f"{name} ({tid}, #threads: 1)\nse.nr_migrations     :   {migrations}\n"
    return files


def thread_look(
    tid: int,
    cpu: int = 2,
    ran_ns: int = 0,
    *,
    state: str = "S",
    waited_ns: int | None = 0,
    started_ticks: int = 100,
    migrations: int | None = None,
    name: str = "bench",
) -> ThreadLook:
    """Return a thread of process 9."""
    return ThreadLook(
        tid=tid,
        pid=9,
        name=name,
        state=state,
        cpu=cpu,
        ran_ns=ran_ns,
        waited_ns=waited_ns,
        started_ticks=started_ticks,
        thread_count=1,
        migrations=migrations,
    )


def by_tid(*threads: ThreadLook) -> Mapping[int, ThreadLook]:
    """Return the threads by number, as a look contains them."""
    return {thread.tid: thread for thread in threads}
