"""The adaptive trend's layers on the device: what following sides earned, votes, the row.

An equity is a chain: it runs alone, one lane an equity, and leaves its state where each segment of
the series begins; from there sums and votes of all segments are made beside each other. All arrays
hold whole segments; what lies behind the last bar is not used. Same numbers as
`strategy.indicators.adaptive_trend`, bit for bit.
No branch inside a loop: see `engine.conditions.cuda.kernels.evaluate_formula`.
"""

import triton
import triton.language as tl


@triton.jit
def ahead(p_values, stride, first, COUNT: tl.constexpr):
    """Values of so many bars, loaded before a chain gets there; p_values: of bar 0."""
    p_value = p_values + tl.cast(first, tl.int64) * stride
    values = ()
    for _ in tl.static_range(COUNT):
        values = values + (tl.load(p_value),)  # type: ignore[assignment]  # noqa: RUF005
        p_value = p_value + stride
    return values


@triton.jit
def load_all(p_first, mask, other: tl.constexpr, COUNT: tl.constexpr):
    """So many values of each lane, which lie side by side."""
    values = ()
    for k in tl.static_range(COUNT):
        value = tl.load(p_first + k, mask=mask, other=other)
        values = values + (value,)  # type: ignore[assignment]  # noqa: RUF005
    return values


@triton.jit
def words_kernel(p_codes, p_places, p_cutout, p_words, n_families, n_bars, PER_ROW: tl.constexpr,
                 LENGTHS: tl.constexpr, TILE: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """The sides of a family's averages as one word a bar; grid (tiles, shares of families).

    p_places: [L, LENGTHS] rows of p_codes [A, n_bars]. p_cutout: [R], PER_ROW families each.
    p_words: [n_bars, L] int32, two bits a side. Before the cutout all are long, since a long
    multiplies an equity by 1 there, see `steps_kernel`.
    """
    t = (tl.program_id(0) * TILE + tl.arange(0, TILE)).to(tl.int64)[:, None]
    o_family = (tl.program_id(1) * LANES + tl.arange(0, LANES))[None, :]
    m_family = o_family < n_families
    m = (t < n_bars) & m_family
    is_early = t < tl.load(p_cutout + o_family // PER_ROW, mask=m_family, other=0)
    words = tl.zeros([TILE, LANES], tl.int32)
    for j in tl.static_range(LENGTHS):
        code_row = tl.load(p_places + o_family * LENGTHS + j, mask=m_family, other=0)
        code = tl.load(p_codes + code_row.to(tl.int64) * n_bars + t, mask=m, other=0)
        words = words | (tl.where(is_early, 2, code.to(tl.int32)) << (2 * j))
    tl.store(p_words + t * n_families + o_family, words, mask=m)


@triton.jit
def steps_kernel(p_close, p_growth, p_flat, p_cutout, p_taylor, p_steps, n_rows, n_series, n_bars,
                 TERMS: tl.constexpr, TILE: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Factors of an equity, of a long and of a short; grid (tiles, shares of rows).

    p_close: [S, n_bars]; row r is of series r % S. p_growth, p_flat, p_cutout: [R]. p_taylor:
    [TERMS]. p_steps: [n_bars, R, 2]; 1 at and before the cutout, where nothing is earned.
    """
    t = (tl.program_id(0) * TILE + tl.arange(0, TILE)).to(tl.int64)[:, None]
    o_row = (tl.program_id(1) * LANES + tl.arange(0, LANES))[None, :]
    m = (o_row < n_rows) & (t < n_bars)
    cutout = tl.load(p_cutout + o_row, mask=o_row < n_rows, other=0).to(tl.int64)
    growth = tl.load(p_growth + o_row, mask=o_row < n_rows, other=0).to(tl.int64)
    flat = tl.load(p_flat + o_row, mask=o_row < n_rows, other=1.0)
    m_step = m & (t > cutout)
    product = growth * (t - cutout)
    x = tl.where(product < 1000000, product.to(tl.float64) / 1000000.0, 1.0)
    g = tl.zeros([TILE, LANES], tl.float64) + tl.load(p_taylor + TERMS - 1)
    for k in tl.static_range(TERMS - 2, -1, -1):
        g = g * x + tl.load(p_taylor + k)
    p_price = p_close + o_row % n_series * n_bars + t
    price = tl.load(p_price, mask=m_step, other=1.0)
    before = tl.load(p_price - 1, mask=m_step, other=1.0)
    r = (price - before) / before * g
    up = tl.where(m_step, flat * (1.0 + r), 1.0)
    down = tl.where(m_step, flat * (1.0 - r), 1.0)
    o_step = (tl.program_id(1) * 2 * LANES + tl.arange(0, 2 * LANES))[None, :]
    tl.store(p_steps + t * 2 * n_rows + o_step, tl.interleave(up, down),
             mask=(o_step < 2 * n_rows) & (t < n_bars))  # fmt: skip


@triton.jit
def equities_kernel(p_votes, p_steps, p_flat, p_cutout, p_floor, p_starts, p_kept, p_repeated,
                    n_lanes, n_rows, n_segments, SIDES: tl.constexpr, PER_ROW: tl.constexpr,
                    REPEATS: tl.constexpr, SEGMENT: tl.constexpr, UNROLL: tl.constexpr,
                    LANES: tl.constexpr):  # fmt: skip
    """Equities before each segment, a lane each; grid (shares of lanes).

    p_votes: [T, n_lanes / SIDES], words of so many sides, or where that is 1 votes. p_steps: [T, R,
    2], PER_ROW lanes a row. p_floor: one number. p_starts: [n_lanes]. p_kept: [n_segments,
    n_lanes]. p_repeated: the same, the step before, which is REPEATed where there is no vote.
    """
    o_lane = tl.minimum(tl.program_id(0) * LANES + tl.arange(0, LANES), n_lanes - 1)
    o_row, n_words = o_lane // PER_ROW, n_lanes // SIDES
    long, short = 2 << 2 * (o_lane % SIDES), 1 << 2 * (o_lane % SIDES)
    p_up, p_votes = p_steps + 2 * o_row, p_votes + o_lane // SIDES
    cutout = tl.load(p_cutout + o_row)
    still = tl.load(p_flat + o_row)
    floor = tl.load(p_floor)
    equity = tl.load(p_starts + o_lane)
    step = still
    # Nothing is earned at bar 0, where a long multiplies by 1.
    vote = tl.zeros([LANES], tl.int32) + long
    ups, downs = ahead(p_up, 2 * n_rows, 0, UNROLL), ahead(p_up + 1, 2 * n_rows, 0, UNROLL)
    words = ahead(p_votes, n_words, 0, UNROLL)
    for segment in range(n_segments):
        at = tl.cast(segment, tl.int64) * n_lanes + o_lane
        tl.store(p_kept + at, equity)
        if REPEATS:
            tl.store(p_repeated + at, step)
        for block in range(SEGMENT // UNROLL):
            first = segment * SEGMENT + block * UNROLL
            after = tl.minimum(first + UNROLL, n_segments * SEGMENT - UNROLL)
            ups2 = ahead(p_up, 2 * n_rows, after, UNROLL)
            downs2 = ahead(p_up + 1, 2 * n_rows, after, UNROLL)
            words2 = ahead(p_votes, n_words, after, UNROLL)
            for i in tl.static_range(UNROLL):
                if SIDES == 1:
                    is_long, is_short = vote > 0, vote < 0
                else:
                    is_long, is_short = (vote & long) != 0, (vote & short) != 0
                if REPEATS:
                    # A vote before the cutout is no step.
                    is_later = cutout < first + i
                    step = choose_step(
                        is_later & is_long, is_later & is_short, ups[i], downs[i], step
                    )
                    taken = tl.where(is_later, step, 1.0)
                else:
                    taken = choose_step(is_long, is_short, ups[i], downs[i], still)
                equity = grow_equity(equity, taken, floor)
                vote = words[i].to(tl.int32)
            ups, downs, words = ups2, downs2, words2


@triton.jit
def choose_step(is_long, is_short, up, down, flat):
    """The step of a side."""
    return tl.where(is_long, up, tl.where(is_short, down, flat))


@triton.jit
def grow_equity(equity, step, floor):
    """An equity after a step; the floor is no constant, or the compiler makes a slower maximum."""
    after = equity * step
    return tl.where(after > floor, after, floor)


@triton.jit
def advance_equity(equity, held, j: tl.constexpr, up, down, flat, floor):
    """An equity after a step with the side j of a word that was held."""
    is_long, is_short = (held & (2 << 2 * j)) != 0, (held & (1 << 2 * j)) != 0
    return grow_equity(equity, choose_step(is_long, is_short, up, down, flat), floor)


@triton.jit
def add_vote(num, den, equity, word, j: tl.constexpr):
    """Sums of an average's vote, and of its equity."""
    is_long, is_short = (word & (2 << 2 * j)) != 0, (word & (1 << 2 * j)) != 0
    return num + tl.where(is_long, equity, tl.where(is_short, -equity, 0.0)), den + equity


@triton.jit
def votes_kernel(p_words, p_steps, p_flat, p_cutout, p_floor, p_kept, p_votes, n_families, n_rows,
                 PER_ROW: tl.constexpr, SEGMENT: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Votes of families in whole hundredths, a lane a family; grid (segments, shares of families).

    p_kept: [segments, 9 * L] equities before each segment. p_votes: [T, L] int8; long before the
    cutout, as words are.
    """
    o_family = tl.program_id(1) * LANES + tl.arange(0, LANES)
    m = o_family < n_families
    o_row = o_family // PER_ROW
    cutout = tl.load(p_cutout + o_row, mask=m, other=0)
    still = tl.load(p_flat + o_row, mask=m, other=1.0)
    begin = tl.zeros([LANES], tl.int64) + tl.program_id(0)
    equities = load_all(p_kept + (begin * n_families + o_family) * 9, m, 1.0, 9)
    floor = tl.load(p_floor)
    zero = tl.zeros([LANES], tl.float64)
    held = tl.load(p_words + (begin * SEGMENT - 1) * n_families + o_family, mask=m & (begin > 0),
                   other=0x2AAAA)  # fmt: skip
    first = tl.program_id(0) * SEGMENT
    for i in range(SEGMENT):
        t = first + i
        at = tl.cast(t, tl.int64)
        here = tl.load(p_words + at * n_families + o_family, mask=m, other=0)
        p_step = p_steps + 2 * (at * n_rows + o_row)
        up, down = tl.load(p_step, mask=m, other=1.0), tl.load(p_step + 1, mask=m, other=1.0)
        num, den, grown = zero, zero, ()
        for j in tl.static_range(9):
            equity = advance_equity(equities[j], held, j, up, down, still, floor)
            num, den = add_vote(num, den, equity, here, j)
            grown = grown + (equity,)  # type: ignore[assignment]  # noqa: RUF005
        equities = grown
        is_finite = den < float("inf")
        share = tl.where(is_finite, num, 0.0) / den * 100.0
        vote = tl.where(share >= 0.0, share + 0.5, share - 0.5).to(tl.int32)
        vote = tl.where(cutout <= t, tl.where(is_finite, vote, 0), 1)
        tl.store(p_votes + at * n_families + o_family, vote.to(tl.int8), mask=m)
        held = here


@triton.jit
def follow(equity, step, vote, is_later, up, down, flat, floor, REPEATS: tl.constexpr):
    """A family's equity after a step with the vote of the bar before, and that step."""
    if REPEATS:
        step = choose_step(is_later & (vote > 0), is_later & (vote < 0), up, down, step)
        return grow_equity(equity, tl.where(is_later, step, 1.0), floor), step
    return grow_equity(equity, choose_step(vote > 0, vote < 0, up, down, flat), floor), step


@triton.jit
def cast_vote(num, den, equity, vote, most, least):
    """Sums of a family's vote, and of its equity."""
    side = tl.where(vote > most, 1.0, tl.where(vote < least, -1.0, 0.0))
    return num + side * equity, den + equity


@triton.jit
def row_kernel(p_votes, p_steps, p_flat, p_settings, p_floor, p_kept, p_repeated, p_out, n_rows,
               REPEATS: tl.constexpr, SEGMENT: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Rows from votes, a lane a row; grid (segments, shares of rows).

    p_votes: [T, 6 * R]. p_settings: [3, R] int32: cutout, and the hundredths above and below which
    a family votes. p_kept, p_repeated: [segments, 6 * R] equities and steps before each segment.
    p_out: [T, R], NaN before the cutout.
    """
    o_row = tl.program_id(1) * LANES + tl.arange(0, LANES)
    m = o_row < n_rows
    cutout = tl.load(p_settings + o_row, mask=m, other=0)
    most = tl.load(p_settings + n_rows + o_row, mask=m, other=0)
    least = tl.load(p_settings + 2 * n_rows + o_row, mask=m, other=0)
    still = tl.load(p_flat + o_row, mask=m, other=1.0)
    begin = tl.zeros([LANES], tl.int64) + tl.program_id(0)
    equities = load_all(p_kept + (begin * n_rows + o_row) * 6, m, 1.0, 6)
    steps = equities
    if REPEATS:
        steps = load_all(p_repeated + (begin * n_rows + o_row) * 6, m, 1.0, 6)
    p_before = p_votes + ((begin * SEGMENT - 1) * n_rows + o_row) * 6
    votes = load_all(p_before, m & (begin > 0), 1, 6)
    floor = tl.load(p_floor)
    zero = tl.zeros([LANES], tl.float64)
    first = tl.program_id(0) * SEGMENT
    for i in range(SEGMENT):
        t = first + i
        at = tl.cast(t, tl.int64)
        p_step = p_steps + 2 * (at * n_rows + o_row)
        up, down = tl.load(p_step, mask=m, other=1.0), tl.load(p_step + 1, mask=m, other=1.0)
        is_later = cutout < t
        here = load_all(p_votes + (at * n_rows + o_row) * 6, m, 0, 6)
        num, den, grown, taken = zero, zero, (), ()
        for k in tl.static_range(6):
            equity, step = follow(equities[k], steps[k], votes[k], is_later, up, down, still,
                                  floor, REPEATS)  # fmt: skip
            num, den = cast_vote(num, den, equity, here[k], most, least)
            grown = grown + (equity,)  # type: ignore[assignment]  # noqa: RUF005
            taken = taken + (step,)  # type: ignore[assignment]  # noqa: RUF005
        equities, steps, votes = grown, taken, here
        is_finite = den < float("inf")
        value = tl.where(is_finite, tl.where(is_finite, num, 0.0) / den + 0.0, 0.0)
        value = tl.where(cutout <= t, value, float("nan"))
        tl.store(p_out + at * n_rows + o_row, value, mask=m)
