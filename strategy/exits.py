"""Stops, targets and session exits as plain data; `engine/README.md` says what each of them does."""

from dataclasses import dataclass
from typing import ClassVar

from strategy.clock import Offset, check_offset
from strategy.errors import StrategyError
from strategy.expressions import Expression, Number, Setting, check_setting
from strategy.indicators import ABOVE_ZERO, Parameter
from strategy.nodes import Node

MULTIPLE = Parameter("multiple", least=ABOVE_ZERO, is_whole=False)
FRACTION = Parameter("fraction", least=ABOVE_ZERO, is_whole=False)
AFTER = Parameter("after", least=0, is_whole=False)
MINUTE = Parameter("minute", least=1, most=1440)


class ExitForm(Node):
    """A way to say where a price lies."""

    written: ClassVar[str] = ""


@dataclass(frozen=True)
class BeyondBar(ExitForm):
    """A stop at a distance beyond the signal bar: below its low, above its high for a short."""

    distance: Expression
    written: ClassVar[str] = "beyond_bar"


@dataclass(frozen=True)
class FromEntry(ExitForm):
    """A price at a distance from the entry."""

    distance: Expression
    written: ClassVar[str] = "from_entry"


@dataclass(frozen=True)
class Share(ExitForm):
    """A price at a fraction of the entry from it."""

    fraction: Setting
    written: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        check_setting("share", FRACTION, self.fraction)


@dataclass(frozen=True)
class Level(ExitForm):
    """A price that a row says at the signal bar."""

    price: Expression
    written: ClassVar[str] = "level"


@dataclass(frozen=True)
class RMultiple(ExitForm):
    """A target at a multiple of the risk."""

    multiple: Setting
    written: ClassVar[str] = "r_multiple"

    def __post_init__(self) -> None:
        check_setting("r_multiple", MULTIPLE, self.multiple)


@dataclass(frozen=True)
class Trail(Node):
    """A stop that follows the best price.

    Args:
        form: `FromEntry` or `Share`: how far behind.
        after: It begins once the best price is so many times the risk from the entry.
    """

    form: FromEntry | Share
    after: Setting = Number(0.0)

    def __post_init__(self) -> None:
        check_form("trail", self.form, (FromEntry, Share))
        check_setting("trail", AFTER, self.after)


@dataclass(frozen=True)
class BySide(Node):
    """One form for longs, another one for shorts."""

    long: Node
    short: Node


@dataclass(frozen=True)
class SessionExit(Node):
    """Out at a minute of the local day, and at the open of another session.

    Args:
        minute: 1 to 1,440; the bar that reaches it is the last.
        offset: Minutes added to UTC, or a zone's name.
    """

    minute: Setting = Number(1440.0)
    offset: Offset = 0

    def __post_init__(self) -> None:
        check_setting("session_exit", MINUTE, self.minute)
        check_offset(self.offset)


STOPS = (BeyondBar, FromEntry, Share, Level)
TARGETS = (RMultiple, FromEntry, Share, Level)


def check_form(name: str, form: object, legal: tuple[type, ...]) -> None:
    """Refuse what is none of the legal forms, for either side."""
    for one in (form.long, form.short) if isinstance(form, BySide) else (form,):
        if not isinstance(one, legal):
            wanted = ", ".join(str(kind.written) for kind in legal if issubclass(kind, ExitForm))
            given = one.written if isinstance(one, ExitForm) else type(one).__name__
            raise StrategyError(f"{name} takes one of {wanted or 'trail'}, or by_side; got {given}")
