"""What the osnoise tracer tells when it is over: the time was taken for that of whoever was interrupted."""

from __future__ import annotations


def take_back(pieces: list[int], number: int, ns: int, end_ns: int, giver: int | None, since_ns: int) -> int:
    """Gives the time before `end_ns` to the source, as much as it took, and returns how much there was.

    It comes from idleness, and from the giver. What others had in between has interrupted it in turn, and stays theirs.
    """
    later: list[tuple[int, int, int]] = []
    rest = ns
    while rest > 0 and end_ns > since_ns:
        free_from = max(pieces[-2], since_ns) if pieces else since_ns
        if free_from < end_ns:
            taken = min(end_ns - free_from, rest)
        elif pieces[-1] == giver:
            taken = min(end_ns - max(pieces[-3], since_ns), rest)
            pieces[-2] -= taken
            if pieces[-2] == pieces[-3]:
                del pieces[-3:]
        else:
            later.append((pieces[-3], pieces[-2], pieces[-1]))
            end_ns = pieces[-3]
            del pieces[-3:]
            continue
        later.append((end_ns - taken, end_ns, number))
        end_ns -= taken
        rest -= taken
    for piece in reversed(later):
        pieces += piece
    return ns - rest
