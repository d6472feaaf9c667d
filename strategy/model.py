"""A strategy as plain data: both sides, their conditions, stops and exits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, cast

from strategy.conditions import Condition, settle_switches
from strategy.custom_indicator import OwnIndicator
from strategy.errors import GeneError, StrategyError, unknown
from strategy.expressions import (
    Call,
    Choose,
    Column,
    Expression,
    GeneValue,
    Number,
    Setting,
    check_settings,
)
from strategy.forms import (
    MARGINAL,
    AccountOf,
    AfterLeg,
    Funding,
    MarketFacts,
    PaymentsOf,
    SessionExit,
    follows_level,
    positive_genes,
    split_sides,
)
from strategy.genes import Floats, GenomeLayout, LessThan
from strategy.indicator_registry import KINDS
from strategy.nodes import Node, Numbers, Parameter, check_extent, transform_nodes, walk
from strategy.parts import PARTS, check_parts
from strategy.records import (
    decode_node,
    describe_gene,
    encode_node,
    hash_description,
    read_genes,
    refuse_others,
)
from strategy.rows import Genes, count_warm_up, resolve_value
from strategy.source_location import StrategySource

_UNSET = GenomeLayout(())

REASONS = (
    "stop_gap", "stop", "target", "time", "end", "signal", "session", "reverse", "trail",
    "break_even", "margin",
)  # fmt: skip
"""Names of the reasons for which trades end."""

ALWAYS = {"stop_gap", "stop", "end"}
"""Reasons of every strategy; others are those of its parts."""


@dataclass(frozen=True)
class Strategy(Node):
    """Plain data of a strategy: all that an engine needs, part by part of `strategy.parts.PARTS`.

    Args:
        name: For people.
        summary: One sentence for people.
        less_than: Names of whole genes, the first of each pair below the second.
        timeframe_s: Seconds of the bars that lengths were chosen for; None where they count bars
            whatever a bar lasts.
        order: Genes that stand first in the genome; all others follow as they occur.
        version: Raised whenever the same genes would trade differently.
        layout: The genes as they stand now; left out, as they were written.
        source: The file that it came from.
        place: File and line that made it.

    Raises:
        StrategyError: Naming what is missing or not legal.
    """

    name: str
    summary: str
    long: Condition | None = None
    short: Condition | None = None
    exit_long: Condition | None = None
    exit_short: Condition | None = None
    entry: Node | None = None
    cancel: Node | None = None
    stop: Node | None = None
    target: Node | None = None
    targets: Node | None = None
    trail: Node | None = None
    break_even: Setting | None = None
    after_leg: AfterLeg | None = None
    max_hold: Setting | None = None
    session: SessionExit | None = None
    delay: Setting = field(default_factory=lambda: Number(0.0))
    reverse: bool | None = None
    market: MarketFacts | None = None
    slippage: Node | None = None
    funding: Funding | None = None
    borrow: Node | None = None
    account: AccountOf | None = None
    cooldown: Setting | None = None
    even_offset: Node | None = None
    named_stops: bool | None = None
    exit_bounds: Node | None = None
    less_than: tuple[tuple[str, str], ...] = ()
    timeframe_s: float | None = None
    order: tuple[str, ...] = ()
    version: int = 1
    layout: GenomeLayout = _UNSET
    source: StrategySource | None = field(default=None, compare=False, repr=False)
    place: str = field(default="", compare=False, repr=False)
    written: ClassVar[str] = "strategy"
    numbers: ClassVar[Numbers] = {
        name: part.takes for name, part in PARTS.items() if isinstance(part.takes, Parameter)
    }

    def __post_init__(self) -> None:
        check_parts(self)
        check_extent(self)
        values = self._gene_values()
        if self.layout is _UNSET:
            object.__setattr__(self, "layout", self._written_layout(values))
        if set(self.layout.names) != set(values):
            raise StrategyError(f"the layout's genes are not those of strategy '{self.name}'")
        genes = {gene.name: gene for gene in self.layout.genes}
        for node in walk(self):
            check_settings(node, genes)
            self._check_pair(node)
        # A record could not keep two of one name apart.
        _ = self.own

    @property
    def goes_short(self) -> bool:
        """True if it can be short."""
        return self.short is not None

    @property
    def has_orders(self) -> bool:
        """True if it is walked as orders are: it has orders, ladders, money or later exits."""
        is_later = any(
            part.is_later and getattr(self, name) is not None for name, part in PARTS.items()
        )
        return is_later or follows_level(self.trail)

    @property
    def longest_hold(self) -> int | None:
        """Longest time that a trade may take within the bounds, bars; None for no limit."""
        if self.max_hold is None:
            return None
        if isinstance(self.max_hold, GeneValue):
            return int(self.layout.gene(self.max_hold.gene.name).high)
        return int(self.max_hold.value)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names of the reasons for which its trades may end."""
        given = {part.reason for name, part in PARTS.items() if getattr(self, name) is not None}
        if self.named_stops is None:
            given -= {"trail", "break_even"}
        if self.account is None or not isinstance(self.account.stake, MARGINAL):
            given -= {"margin"}
        return tuple(name for name in REASONS if name in given | ALWAYS)

    @property
    def cancels(self) -> tuple[Condition | None, Condition | None]:
        """Conditions that end resting orders of longs, and of shorts."""
        long, short = split_sides(self.cancel)
        return cast(Condition | None, long), cast(Condition | None, short)

    @cached_property
    def expressions(self) -> tuple[Expression, ...]:
        """Every expression that a comparison or an exit reads, each once, in order."""
        return tuple(dict.fromkeys(_top_expressions(self)))

    @cached_property
    def row_genes(self) -> frozenset[str]:
        """Names of the genes that parameters of rows and conditions take."""
        owners = [node for node in walk(self) if isinstance(node, Expression | Condition)]
        settings = [setting for node in owners for _, setting in node.settings]
        return frozenset(value.gene.name for value in settings if isinstance(value, GeneValue))

    @cached_property
    def own(self) -> dict[str, OwnIndicator]:
        """A person's own indicators that it reads, by name."""
        indicators: dict[str, OwnIndicator] = {}
        for node in walk(self):
            kind = getattr(node, "indicator", None)
            if isinstance(kind, OwnIndicator) and indicators.setdefault(kind.name, kind) != kind:
                raise StrategyError(f"two own indicators are named '{kind.name}'")
        return indicators

    @cached_property
    def extra_columns(self) -> tuple[str, ...]:
        """Names of the extra columns that it reads or pays by, ascending."""
        columns = {node.name for node in walk(self) if isinstance(node, Column) and node.is_extra}
        return tuple(sorted(columns | set(self.paid_columns)))

    @cached_property
    def paid_columns(self) -> tuple[str, ...]:
        """Names of the columns with payments."""
        return tuple(node.name for node in walk(self.funding) if isinstance(node, PaymentsOf))

    @cached_property
    def zones(self) -> tuple[str, ...]:
        """Names of the zones that it reads the time of, ascending."""
        offsets = {getattr(node, "offset", None) for node in walk(self)}
        return tuple(sorted(offset for offset in offsets if isinstance(offset, str)))

    @cached_property
    def least(self) -> Floats:
        """Lower limit of genomes, for their genes' sake or their rows', [G]."""
        least = self.layout.least.copy()
        for column, parameter in self._limits():
            least[column] = max(least[column], parameter.least)
        return least

    @cached_property
    def most(self) -> Floats:
        """Upper limit of genomes, for their genes' sake or their rows', [G]."""
        most = self.layout.most.copy()
        for column, parameter in self._limits():
            most[column] = min(most[column], parameter.most)
        return most

    @cached_property
    def described(self) -> dict[str, object]:
        """Fields that decide a genome's trades and the set of genomes, ready for JSON.

        Neither names of variables nor words for people: `from_described` reads it back.
        """
        return {
            "version": self.version,
            "timeframe_s": self.timeframe_s,
            "genes": [describe_gene(gene) for gene in self.layout.genes],
            "constraints": sorted([pair.left, pair.right] for pair in self.layout.constraints),
            **{
                name: encode_node(getattr(self, name))
                for name, part in PARTS.items()
                if not part.is_later or getattr(self, name) is not None
            },
            "warm_up_bars": self.warm_up(self.layout.decode(self.layout.defaults)),
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256, hexadecimal, of `described` as canonical JSON."""
        return hash_description(self.described)

    def for_timeframe(self, timeframe_s: float) -> "Strategy":
        """The strategy for bars of so many seconds.

        Its lengths cover the same time if it states the bars that they were chosen for.
        """
        if self.timeframe_s is None:
            return self
        return replace(self, layout=self.layout.scaled(self.timeframe_s / timeframe_s))

    def with_bounds(self, bounds: Mapping[str, tuple[float | str, float | str]]) -> "Strategy":
        """The strategy with other bounds; see `GenomeLayout.with_bounds`."""
        return replace(self, layout=self.layout.with_bounds(bounds))

    def warm_up(self, genes: Mapping[str, float]) -> int:
        """First bar that may signal, given the value of each gene by name."""
        return max((count_warm_up(part, genes) for part in self._parts()), default=0)

    def longest_reach(self, timeframe_ns: int) -> int:
        """Bars before one that any of its rows may depend on within bounds."""
        rest, reaches = self.layout.decode(self.layout.defaults), [0]
        for part in self._parts():
            used = {node.gene.name for node in walk(part) if isinstance(node, GeneValue)}
            for corner in self.layout.corners(sorted(used & self.row_genes)):
                reaches.append(count_warm_up(part, {**rest, **corner}, timeframe_ns))
        return max(reaches)

    def place_of(self, *genes: str) -> str:
        """End of a message about some genes, or about none: ``(FILE:LINE)``.

        It is where the first of them is written that is, else the strategy; a blank stands before
        it. Empty for a strategy that is in no file.
        """
        values = [node for node in walk(self) if isinstance(node, GeneValue)]
        candidates = (node.place for node in values if node.gene.name in genes)
        location = next(candidates, "") or self.place
        return f" ({location})" if location else ""

    def check_genomes(self, genomes: Floats) -> None:
        """Refuse genomes [P, G] that no engine may run; bounds are the search's concern.

        Raises:
            GeneError: Naming the first individual that is not legal, and its gene.
        """
        self.layout.check(genomes, self.least, self.most)

    def _parts(self) -> Iterator[Node]:
        for name in PARTS:
            sides = dict.fromkeys(split_sides(getattr(self, name)))
            yield from (side for side in sides if isinstance(side, Node))

    def _gene_values(self) -> dict[str, GeneValue]:
        """The genes by name, in the order in which they first occur."""
        by_name: dict[str, GeneValue] = {}
        for node in walk(self):
            if not isinstance(node, GeneValue):
                continue
            first = by_name.setdefault(node.gene.name, node)
            if first.gene != node.gene:
                raise StrategyError(
                    f"two different genes are named '{node.gene.name}': {_format_gene(first)} and "
                    f"{_format_gene(node)}; equal ones are one gene, others need names of their own"
                )
        both = set(self.extra_columns) & set(by_name)
        if both:
            raise StrategyError(f"gene and column are both named '{min(both)}'")
        return by_name

    def _written_layout(self, values: Mapping[str, GeneValue]) -> GenomeLayout:
        for name in (*self.order, *(name for pair in self.less_than for name in pair)):
            if name not in values:
                raise StrategyError(unknown("gene", name, list(values)))
        positive = positive_genes(self)
        genes = {
            name: replace(value.gene, positive=value.gene.positive or name in positive)
            for name, value in values.items()
        }
        names = dict.fromkeys((*self.order, *genes))
        pairs = tuple(LessThan(left, right) for left, right in self.less_than)
        layout = GenomeLayout(tuple(genes[name] for name in names), pairs)
        try:
            layout.encode({})
        except GeneError as error:
            raise GeneError(f"by their defaults {error}") from None
        return layout

    def _check_pair(self, node: Node) -> None:
        """Two genes, one above the other, need a constraint between them."""
        if not isinstance(node, Call) or not isinstance(node.indicator, str):
            return
        for upper, lower, _ in KINDS[node.indicator].above:
            above, below = node.parameters[upper], node.parameters[lower]
            if not (isinstance(above, GeneValue) and isinstance(below, GeneValue)):
                continue
            pair = LessThan(below.gene.name, above.gene.name)
            if pair not in self.layout.constraints:
                raise StrategyError(
                    f"{node.label} needs '{pair.left}' below '{pair.right}': give the strategy "
                    f"less_than=[('{pair.left}', '{pair.right}')]"
                )

    def _limits(self) -> Iterator[tuple[int, Parameter]]:
        for node in walk(self):
            for parameter, setting in node.settings:
                if isinstance(setting, GeneValue):
                    yield self.layout.index(setting.gene.name), parameter


def from_described(
    described: Mapping[str, object],
    name: str = "",
    summary: str = "",
    own: Mapping[str, OwnIndicator] | None = None,
) -> Strategy:
    """The strategy that `Strategy.described` wrote down; its digest is the same.

    Raises:
        StrategyError: When it names an own indicator that is not given, or of another text, or is
            no strategy at all: a record may come from anywhere.
    """
    with refuse_others(f"what is recorded of '{name}'"):
        record: Any = described
        genes = read_genes(record)
        pairs = tuple(LessThan(left, right) for left, right in record["constraints"])
        parts: Any = {
            part.name: decode_node(
                record.get(part.name) if part.is_later else record[part.name], genes, own
            )
            for part in PARTS.values()
        }
        return Strategy(
            name,
            summary,
            **parts,
            timeframe_s=record["timeframe_s"],
            version=record["version"],
            layout=GenomeLayout(tuple(genes.values()), pairs),
        )


def _top_expressions(node: Node) -> Iterator[Expression]:
    """The expressions below a node that are no part of another one."""
    if isinstance(node, Expression):
        yield node
        return
    settings = [setting for _, setting in node.settings]
    for part in node.parts:
        if not any(part is setting for setting in settings):
            yield from _top_expressions(part)


def _format_gene(value: GeneValue) -> str:
    gene = value.gene
    where = f" ({value.place})" if value.place else ""
    return f"{gene.kind} {gene.default:g}, {gene.low:g} .. {gene.high:g}{where}"


def resolve_options(strategy: Strategy, genes: Genes) -> Strategy:
    """The strategy of one value of each gene with options; all other genes stay.

    Raises:
        StrategyError: When its switches leave no entry.
    """
    if not strategy.layout.is_category.any():
        return strategy
    parts: dict[str, Any] = {name: _resolve_part(getattr(strategy, name), genes) for name in PARTS}
    for side in ("long", "short"):
        if parts[side] is None:
            parts[f"exit_{side}"] = parts["reverse"] = None
    read = {leaf.gene.name for part in parts.values() for leaf in _list_genes(part)}
    layout = strategy.layout
    kept = GenomeLayout(
        tuple(gene for gene in layout.genes if gene.name in read),
        tuple(pair for pair in layout.constraints if {pair.left, pair.right} <= read),
    )
    return replace(strategy, **parts, layout=kept)


def _resolve_part(part: Node | bool | None, genes: Genes) -> Node | bool | None:
    if not isinstance(part, Node):
        return part
    left = settle_switches(part, genes) if isinstance(part, Condition) else part

    def pick(node: Node) -> Node:
        return node.pick(resolve_value(node.gene, genes)) if isinstance(node, Choose) else node

    return None if left is None else transform_nodes(left, pick)


def _list_genes(part: Node | bool | None) -> list[GeneValue]:
    if not isinstance(part, Node):
        return []
    return [node for node in walk(part) if isinstance(node, GeneValue)]
