"""Figures by interval over the last hour, and values that seldom change."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Generic, TypeVar

CAPACITY = 3600  # one hour, at one interval per second

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
N = TypeVar("N", int, float)


class Ring(Generic[N]):
    """One figure of each of the last `capacity` intervals, numbered from 0.

    An interval without a kept figure has the value `nothing`. `code` is the type code of an array. A ring that is added
    later begins with `count` intervals of `nothing`.
    """

    def __init__(self, code: str, nothing: N, capacity: int = CAPACITY, count: int = 0) -> None:
        self.capacity = capacity
        self.count = count
        self._nothing: N = nothing
        self._values: array[N] = array(code, [nothing]) * min(count, capacity)

    @property
    def first(self) -> int:
        """The number of the oldest kept interval."""
        return max(self.count - self.capacity, 0)

    @property
    def kept(self) -> range:
        """The range of all kept intervals."""
        return range(self.first, self.count)

    def add(self, value: N) -> None:
        """Append the figure of the next interval."""
        at = self.count % self.capacity
        if at < len(self._values):
            self._values[at] = value
        else:
            self._values.append(value)
        self.count += 1

    def at(self, number: int) -> N:
        """Return the figure of an interval."""
        return self._values[number % self.capacity] if self.first <= number < self.count else self._nothing

    def read(self, numbers: Iterable[int]) -> Sequence[N]:
        """Return the figure of each of the intervals."""
        first, count, capacity = self.first, self.count, self.capacity
        if isinstance(numbers, range) and numbers.step == 1 and first <= numbers.start < numbers.stop <= count:
            begin, end = numbers.start % capacity, (numbers.stop - 1) % capacity + 1
            return self._values[begin:end] if begin < end else self._values[begin:] + self._values[:end]
        return [self._values[number % capacity] if first <= number < count else self._nothing for number in numbers]


class Rings(Generic[K, N]):
    """A ring for each key, such as a CPU, with `nothing` for intervals in which the key has no figure."""

    def __init__(self, code: str, nothing: N, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self.count = 0
        self.by_key: dict[K, Ring[N]] = {}
        self._code = code
        self._nothing: N = nothing

    def add(self, value_by_key: Mapping[K, N]) -> None:
        """Append the figures of the next interval."""
        for key in value_by_key.keys() - self.by_key.keys():
            self.by_key[key] = Ring(self._code, self._nothing, self.capacity, self.count)
        for key, ring in self.by_key.items():
            ring.add(value_by_key.get(key, self._nothing))
        self.count += 1

    def at(self, key: K, number: int) -> N:
        """Return the key's figure of an interval."""
        return self.by_key[key].at(number) if key in self.by_key else self._nothing

    def read(self, key: K, numbers: Iterable[int]) -> Sequence[N]:
        """Return the key's figure of each of the intervals."""
        ring = self.by_key.get(key)
        return ring.read(numbers) if ring is not None else [self._nothing for _ in numbers]


class Changes(Generic[T]):
    """Values that seldom change, each with the interval number or time from which it holds."""

    def __init__(self, capacity: int | None = None) -> None:
        self._changes: deque[tuple[int, T]] = deque(maxlen=capacity)

    @property
    def last(self) -> T | None:
        """The value that holds now, or None before the first value."""
        return self._changes[-1][1] if self._changes else None

    def add(self, since: int, value: T) -> None:
        """Append a value that holds from `since` on."""
        self._changes.append((since, value))

    def forget(self, before: int) -> None:
        """Drop the values that held only before that number."""
        while len(self._changes) > 1 and self._changes[1][0] <= before:
            self._changes.popleft()

    def at(self, number: int) -> tuple[int, T]:
        """Return when the value at `number` began to hold, and the value; before the first value, return the first.

        Raise IndexError if there is no value.
        """
        return self._changes[max(bisect_right(self._changes, number, key=itemgetter(0)) - 1, 0)]
