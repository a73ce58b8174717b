"""Records: `dataclass` of the standard library, with methods that are compiled at their first call.

The library compiles six methods of every class by `exec`. For two hundred classes that takes longer than all reading
and judging of a preflight, and one run never creates or compares records of most classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn


def _dataclass(
    *, slots: bool, frozen: bool = False, eq: bool = True, kw_only: bool = False
) -> Callable[[type[Any]], type[Any]]:
    """Decorate a class as `dataclasses.dataclass` does. Its `fields`, `replace` and `asdict` accept the records."""
    declare = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)

    def decorate(plain: type[Any]) -> type[Any]:
        plain.__doc__ = plain.__doc__ or plain.__name__  # else the library asks `inspect` for a signature
        record: Any = declare(plain)
        record.__repr__ = _repr
        _compile_when_called(record, "__init__", lambda: _init_of(record, frozen))
        if frozen:
            record.__setattr__ = record.__delattr__ = _refuse
            record.__setstate__ = _restore
        if eq:
            record.__hash__ = None
            _compile_when_called(record, "__eq__", lambda: _eq_of(record))
        if eq and frozen:
            _compile_when_called(record, "__hash__", lambda: _hash_of(record))
        return record  # type: ignore[no-any-return]

    return decorate


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass


def _compile_when_called(record: type[Any], name: str, make: Callable[[], Callable[..., Any]]) -> None:
    def stub(self: object, *values: Any, **named: Any) -> Any:
        compiled = make()
        setattr(record, name, compiled)
        return compiled(self, *values, **named)

    setattr(record, name, stub)


def _init_of(record: type[Any], frozen: bool) -> Callable[..., Any]:
    """Compile `__init__`. That of a frozen record sets slots by their descriptors, which bypass `__setattr__`."""
    names: dict[str, Any] = {"missing": dataclasses.MISSING}
    positional, keywords, lines = ["self"], ["*"], []
    for each in dataclasses.fields(record):
        name, value, default = each.name, each.name, ""
        if each.default_factory is not dataclasses.MISSING:
            names[f"make_{name}"] = each.default_factory
            value = f"{name} if {name} is not missing else make_{name}()" if each.init else f"make_{name}()"
            default = "=missing"
        elif each.default is not dataclasses.MISSING:
            names[f"default_{name}"] = each.default
            default = f"=default_{name}"
        elif not each.init:
            continue  # __post_init__ sets it
        if each.init:
            (keywords if each.kw_only else positional).append(name + default)
        names[f"set_{name}"] = getattr(record, name).__set__
        lines.append(f"set_{name}(self, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(record, "__post_init__"):
        lines.append("self.__post_init__()")
    return _compiled("__init__", positional + keywords * (len(keywords) > 1), lines or ["pass"], names)


def _eq_of(record: type[Any]) -> Callable[..., Any]:
    lines = [
        "if other.__class__ is not self.__class__: return NotImplemented",
        f"return {_compared(record, 'self')} == {_compared(record, 'other')}",
    ]
    return _compiled("__eq__", ["self", "other"], lines, {})


def _hash_of(record: type[Any]) -> Callable[..., Any]:
    return _compiled("__hash__", ["self"], [f"return hash({_compared(record, 'self')})"], {})


def _compared(record: type[Any], name: str) -> str:
    return f"({''.join(f'{name}.{each.name}, ' for each in dataclasses.fields(record) if each.compare)})"


def _compiled(name: str, taken: Sequence[str], lines: Sequence[str], names: dict[str, Any]) -> Callable[..., Any]:
    exec(f"def {name}({', '.join(taken)}):\n " + "\n ".join(lines), names)
    return names[name]  # type: ignore[no-any-return]


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot set or delete {name!r}")


def _restore(self: object, state: tuple[None, dict[str, Any]]) -> None:
    """Set the state of a copied frozen record. Without this, copying would set attributes and be refused."""
    for name, value in state[1].items():
        object.__setattr__(self, name, value)
