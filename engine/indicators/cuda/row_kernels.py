"""Steps that make rows on the device, each in tiles of time.

A step fills rows from others, its operands. Its table is int64, a column a row that is filled (a
job), and its lines are where bar 0 of the row lies, the first bar that is made and one past the
last, two whole numbers that the step takes, which operands are numbers, a bit each, and where bar 0
of each operand lies. Places are counted in values from `p_rows` on. What lies before bar 0 is NaN.
Same numbers as `strategy.indicators`, bit for bit: the order of every sum is that of its loop. No
branch inside a loop: see `engine.conditions.cuda.kernels.evaluate_formula`.
"""

import triton
import triton.language as tl

NUMBERS, LINES = 5, 6
"""Line of a table that says which operands are numbers, and lines before those of operands."""

OUT, FROM, BARS, WHOLE, ALSO, IS_NUMBER, OPERANDS = map(tl.constexpr, range(LINES + 1))


@triton.jit
def at_line(p_table, line, n_jobs, job):
    """Entries of a table for jobs."""
    return tl.load(p_table + line * n_jobs + job)


@triton.jit
def read(p_values, t, m):
    """Values at bars t where m; NaN elsewhere, and before bar 0."""
    return tl.load(p_values + t, mask=m & (t >= 0), other=float("nan"))


@triton.jit
def read_operand(p_rows, p_table, n_jobs, job, k: tl.constexpr, t, m):
    """Operand k at bars t: a row, or a number."""
    is_number = (at_line(p_table, IS_NUMBER, n_jobs, job) >> k) & 1
    place = at_line(p_table, OPERANDS + k, n_jobs, job)
    return tl.load(p_rows + place + t * (1 - is_number), mask=m, other=float("nan"))


@triton.jit
def larger(x, y):
    """The larger of two numbers; NaN where one of them is."""
    return tl.where((x > y) | (x != x), x, y)


@triton.jit
def where_known(is_known, value):
    """A value if known, else NaN."""
    return tl.where(is_known, value, float("nan"))


@triton.jit
def one_operand(p_a, a, t, m, n, FORM: tl.constexpr):
    """A bar of a row that is made of one other."""
    if FORM == "copy":
        return a
    elif FORM == "abs":
        return tl.abs(a)
    elif FORM == "negated":
        return -a
    elif FORM == "later":
        return where_known(t > 0, a)
    elif (FORM == "step") | (FORM == "rise") | (FORM == "fall"):
        d = a - read(p_a, t - 1, m)
        if FORM == "step":
            return tl.where(t > 0, tl.abs(d), 0.0)
        d = d if FORM == "rise" else -d
        return where_known(d == d, tl.where(d > 0.0, d, 0.0))
    else:
        before = read(p_a, t - n, m)
        if FORM == "lag":
            return before
        elif FORM == "roc":
            return where_known(before != 0.0, (a - before) / before)
        elif FORM == "larger":
            return larger(a, before)
        else:
            tl.static_assert(FORM == "smaller")
            return tl.where((a < before) | (a != a), a, before)


@triton.jit
def two_operands(p_a, p_b, a, b, t, m, n, also, FORM: tl.constexpr):
    """A bar of a row that is made of two others."""
    if FORM == "+":
        return a + b
    elif FORM == "-":
        return a - b
    elif FORM == "*":
        return a * b
    elif FORM == "/":
        return a / b
    elif FORM == "minimum":
        return tl.where((a < b) | (a != a), a, b)
    elif FORM == "maximum":
        return larger(a, b)
    elif FORM == "hl2":
        return (a + b) / 2.0
    elif FORM == "doubled":
        return 2.0 * a - b
    elif FORM == "share":
        return where_known(b > 0.0, 100.0 * (a / b))
    elif FORM == "part":
        return where_known(a + b > 0.0, 100.0 * (a / (a + b)))
    elif FORM == "apart":
        return where_known(a + b > 0.0, 100.0 * (tl.abs(a - b) / (a + b)))
    elif FORM == "confirmed":
        # A confirmed high is known so many bars late, and stands at that later bar.
        value = read(p_a, t - n, m)
        return tl.where((t >= 2 * n) & (value == b), value, float("-inf"))
    elif FORM == "swing":
        swing = read(p_a, t - 1, m)
        plain = read(p_b, t - n - 1, m)
        return where_known(t >= also, tl.where(swing > float("-inf"), swing, plain))
    elif (FORM == "rising") | (FORM == "falling"):
        before = read(p_a, t - 1, m)
        money = a * b
        is_moved = a > before if FORM == "rising" else a < before
        return where_known(t > 0, tl.where(is_moved, money, 0.0))
    else:
        tl.static_assert((FORM == "up") | (FORM == "down"))
        up = a - read(p_a, t - 1, m)
        down = read(p_b, t - 1, m) - b
        if FORM == "down":
            up, down = down, up
        return where_known(t > 0, tl.where((up > down) & (up > 0.0), up, 0.0))


@triton.jit
def several_operands(p_a, p_c, a, b, c, d, t, m, n, FORM: tl.constexpr):
    """A bar of a row that is made of three or four others."""
    if FORM == "true_range":
        before = read(p_c, t - 1, m)
        widest = a - b
        above, below = tl.abs(a - before), tl.abs(b - before)
        widest = tl.where(above > widest, above, widest)
        return tl.where(below > widest, below, widest)
    elif FORM == "close_location":
        return where_known(a != b, (c - b) / (a - b))
    elif FORM == "hlc3":
        return ((a + b) + c) / 3.0
    elif FORM == "ohlc4":
        return (((a + b) + c) + d) / 4.0
    elif FORM == "place":
        return where_known(b > c, 100.0 * ((a - c) / (b - c)))
    elif FORM == "factor":
        before = read(p_a, t - n, m)
        is_way = (b > 0.0) & (before == before)
        share = tl.where(is_way, tl.abs(a - before) / tl.where(is_way, b, 1.0), 0.0)
        factor = share * c + d
        return factor * factor
    else:
        tl.static_assert(FORM == "deviation")
        total = tl.zeros(t.shape, tl.float64)
        for k in range(n):
            total = total + tl.abs(read(p_a, t - n + 1 + k, m) - b)
        return where_known(total > 0.0, (a - b) / (c * (total / n.to(tl.float64))))


@triton.jit(do_not_specialize=["n_jobs"])
def bar_kernel(p_rows, p_table, n_jobs, FORM: tl.constexpr, COUNT: tl.constexpr,
               FINITE: tl.constexpr, TILE: tl.constexpr):  # fmt: skip
    """Rows with each bar made by itself; grid (jobs, tiles).

    COUNT: of operands. FINITE: infinite values are NaN.
    """
    job = tl.program_id(0)
    first = at_line(p_table, FROM, n_jobs, job)
    t = first + tl.program_id(1).to(tl.int64) * TILE + tl.arange(0, TILE)
    m = t < at_line(p_table, BARS, n_jobs, job)
    n, also = at_line(p_table, WHOLE, n_jobs, job), at_line(p_table, ALSO, n_jobs, job)
    p_a = p_rows + at_line(p_table, OPERANDS, n_jobs, job)
    a = read_operand(p_rows, p_table, n_jobs, job, 0, t, m)
    if COUNT == 1:
        value = one_operand(p_a, a, t, m, n, FORM)
    else:
        b = read_operand(p_rows, p_table, n_jobs, job, 1, t, m)
        if COUNT == 2:
            p_b = p_rows + at_line(p_table, OPERANDS + 1, n_jobs, job)
            value = two_operands(p_a, p_b, a, b, t, m, n, also, FORM)
        else:
            p_c = p_rows + at_line(p_table, OPERANDS + 2, n_jobs, job)
            c = read_operand(p_rows, p_table, n_jobs, job, 2, t, m)
            d = c
            if COUNT == 4:
                d = read_operand(p_rows, p_table, n_jobs, job, 3, t, m)
            value = several_operands(p_a, p_c, a, b, c, d, t, m, n, FORM)
    is_known = tl.abs(value) < float("inf") if FINITE else value == value
    tl.store(p_rows + at_line(p_table, OUT, n_jobs, job) + t, where_known(is_known, value + 0.0),
             mask=m)  # fmt: skip


@triton.jit
def eight(p_values, count):
    """Eight values in a row of `count`; NaN behind them."""
    values = ()
    for i in tl.static_range(8):
        values = values + (tl.load(p_values + i, mask=count > i, other=float("nan")),)  # noqa: RUF005
    return values


@triton.jit
def join_columns(x):
    """Eight columns [L] as one [L, 8]."""
    even = tl.join(tl.join(x[0], x[4]), tl.join(x[2], x[6]))
    odd = tl.join(tl.join(x[1], x[5]), tl.join(x[3], x[7]))
    return tl.reshape(tl.join(even, odd), (x[0].shape[0], 8))


@triton.jit
def differences(p_values, anchor, count):
    """Distances of eight values from the anchor, 0 from the count-th on."""
    values = eight(p_values, count)
    parts = ()
    for i in tl.static_range(8):
        parts = parts + (tl.where(count > i, values[i] - anchor, 0.0),)  # noqa: RUF005
    return parts


@triton.jit
def add_left(left1, left2, d, FORM: tl.constexpr):
    """Sums of a window's left part with one value more, the one before."""
    left1 = left1 + d
    if (FORM == "wma") | (FORM == "lsma"):
        left2 = left2 + left1
    elif (FORM == "zscore") | (FORM == "std"):
        left2 = left2 + d * d
    return left1, left2


@triton.jit
def add_right(right1, right2, d, k, FORM: tl.constexpr):
    """Sums of a window's right part with one value more, which is the k-th of its block."""
    right1 = right1 + d
    if (FORM == "wma") | (FORM == "lsma"):
        right2 = right2 + (k + 1).to(tl.float64) * d
    elif (FORM == "zscore") | (FORM == "std"):
        right2 = right2 + d * d
    return right1, right2


@triton.jit
def finish_window(x, anchor, left1, left2, right1, right2, w, k, FORM: tl.constexpr):
    """Value of a window, of the sums of its parts; its last bar is the k-th of a block."""
    width, total = w.to(tl.float64), left1 + right1
    if FORM == "sum":
        return total
    elif FORM == "sma":
        return anchor + total / width
    elif (FORM == "wma") | (FORM == "lsma"):
        weighted = (left2 + (w - 1 - k).to(tl.float64) * right1) + right2
        weights = (w * (w + 1) // 2).to(tl.float64)
        if FORM == "wma":
            return anchor + weighted / weights
        return anchor + (3.0 * (weighted / weights) - 2.0 * (total / width))
    else:
        variance = ((left2 + right2) - total * total / width) / width
        is_spread = variance > 0.0
        deviation = tl.sqrt(tl.where(is_spread, variance, 1.0))
        if FORM == "std":
            return tl.where(is_spread, deviation, tl.where(variance == variance, 0.0, variance))
        return where_known(is_spread, (x - (anchor + total / width)) / deviation)


@triton.jit(do_not_specialize=["n_jobs", "n_tails"])
def window_kernel(p_rows, p_table, p_tails, n_jobs, n_tails, FORM: tl.constexpr,
                  LANES: tl.constexpr):  # fmt: skip
    """Windows by two-block sums; grid (jobs by groups of blocks, shares of a block).

    A lane carries the sums of a block, eight bars at a time. They start from 0, which is the same
    as from their first term, because no sum of theirs is ever -0. The sums of the left block's
    tail, which run backwards, are needed from their last to their first: a first pass keeps every
    eighth of them, and the last goes on from there. Divisions and roots are most of the work:
    where blocks are few, several programs each sum a block up and finish a share of its bars.

    A job's numbers are its window, and in how many shares blocks are finished. p_tails: [n, 2,
    n_tails] for the sums that are kept, those of a block at its begin over eight.
    """
    job = tl.program_id(0) % n_jobs
    w, shares = at_line(p_table, WHOLE, n_jobs, job), 8 * at_line(p_table, ALSO, n_jobs, job)
    k_begin = tl.program_id(1) * ((w + shares - 1) // shares * 8)
    k_end = tl.minimum(k_begin + (w + shares - 1) // shares * 8, w)
    whole = w * 0
    first, bars = at_line(p_table, FROM, n_jobs, job), at_line(p_table, BARS, n_jobs, job)
    block = first // w + tl.program_id(0) // n_jobs * LANES
    begin = (block + tl.arange(0, LANES)) * w
    m_block = begin < bars
    if (block * w >= bars) | (k_begin >= w):
        return
    begin = tl.where(m_block, begin, 0)
    p_values = p_rows + at_line(p_table, OPERANDS, n_jobs, job) + begin
    anchor = tl.zeros([LANES], tl.float64)
    if FORM != "sum":
        anchor = tl.load(p_values)
    # A block may begin before the first bar.
    p_tail1 = p_tails + job.to(tl.int64) * 2 * n_tails + 1 + ((begin - first) >> 3)
    p_tail2 = p_tail1 + n_tails
    # The window that ends at begin + k needs the tail that starts at begin + k + 1 - w.
    n_left = tl.where(begin > 0, w - 1, 0)
    last = (w + 6) // 8 - 1
    left1 = tl.zeros([LANES], tl.float64)
    left2 = tl.zeros([LANES], tl.float64)
    for back in range(last - k_begin // 8):
        k = 8 * (last - back)
        d = differences(p_values + (k + 1 - w), anchor, n_left - k)
        for i in tl.static_range(8):
            left1, left2 = add_left(left1, left2, d[7 - i], FORM)
        m_tail = (tl.where(k - 8 < k_end, k, w) < n_left) & (begin + k - 8 < bars)
        m_tail = m_tail & (begin + k > first)
        tl.store(p_tail1 + (last - back - 1), left1, mask=m_tail)
        tl.store(p_tail2 + (last - back - 1), left2, mask=m_tail)
    # Other threads may have written the values read back below.
    tl.debug_barrier()
    right1 = tl.zeros([LANES], tl.float64)
    right2 = tl.zeros([LANES], tl.float64)
    for k in range(0, k_begin, 8):
        d = differences(p_values + k, anchor, bars - begin - k)
        for i in tl.static_range(8):
            right1, right2 = add_right(right1, right2, d[i], whole + (k + i), FORM)
    o_eight = tl.arange(0, 8)[None, :]
    p_out = p_rows + at_line(p_table, OUT, n_jobs, job)
    for k in range(k_begin, k_end, 8):
        m_tail = (k + 8 < n_left) & (begin + k < bars) & (begin + k + 8 > first)
        left1 = tl.load(p_tail1 + k // 8, mask=m_tail, other=0.0)
        left2 = tl.load(p_tail2 + k // 8, mask=m_tail, other=0.0)
        d = differences(p_values + (k + 1 - w), anchor, n_left - k)
        lefts1, lefts2 = (), ()
        for i in tl.static_range(8):
            left1, left2 = add_left(left1, left2, d[7 - i], FORM)
            lefts1 = lefts1 + (left1,)  # type: ignore[assignment]  # noqa: RUF005
            lefts2 = lefts2 + (left2,)  # type: ignore[assignment]  # noqa: RUF005
        x = eight(p_values + k, bars - begin - k)
        values = ()
        for i in tl.static_range(8):
            right1, right2 = add_right(right1, right2, x[i] - anchor, whole + (k + i), FORM)
            value = finish_window(
                x[i], anchor, lefts1[7 - i], lefts2[7 - i], right1, right2, w, whole + (k + i), FORM
            )
            values = values + (value,)  # type: ignore[assignment]  # noqa: RUF005
        t = begin[:, None] + k + o_eight
        m_bar = m_block[:, None] & (k + o_eight < w) & (t >= first) & (t < bars)
        tile = join_columns(values)
        is_known = (t >= w - 1) & (tile == tile)
        tl.store(p_out + t, where_known(is_known, tile + 0.0), mask=m_bar)


@triton.jit(do_not_specialize=["n_jobs"])
def first_kernel(p_rows, p_table, p_first, p_seed, n_jobs, TILE: tl.constexpr):
    """The first bar at which a chain's seeds are known, and the seed; grid (jobs).

    It is one past the last where none is.
    """
    job = tl.program_id(0)
    bars = at_line(p_table, BARS, n_jobs, job)
    p_values = p_rows + at_line(p_table, OPERANDS + 1, n_jobs, job)
    o_tile = tl.arange(0, TILE)
    first = bars
    t = bars * 0
    while t < tl.minimum(first, bars):
        value = read(p_values, t + o_tile, t + o_tile < bars)
        first = tl.minimum(first, tl.min(tl.where(value == value, t + o_tile, bars), 0))
        t += TILE
    tl.store(p_first + job, first)
    tl.store(p_seed + job, tl.load(p_values + first, mask=first < bars, other=0.0))


@triton.jit
def advance(y, x, weight, moves):
    """An average after a value that moves it."""
    return tl.where(moves & (x == x), y + weight * (x - y), y)


@triton.jit
def eight_weights(p_weights, weight, count, WEIGHED: tl.constexpr):
    """Weights of eight values: a row's, or one number."""
    if WEIGHED:
        return eight(p_weights, count)
    return (weight, weight, weight, weight, weight, weight, weight, weight)


@triton.jit(do_not_specialize=["n_jobs", "width"])
def chain_kernel(p_rows, p_table, p_cut, p_first, p_seed, p_states, n_jobs, width,
                 WEIGHED: tl.constexpr, JOBS: tl.constexpr):  # fmt: skip
    """Averages that move with each value, in segments, a lane a job; grid (groups, segments).

    y[t] = y[t-1] + weight * (x[t] - y[t-1]) from a seed on; a value that is not known leaves the
    average as it was. The segment that holds the seed is as the law says. Every later one begins
    `early` bars before its own first bar with the bare value found there: two such averages of the
    same values come to agree in every bit, nearly always before the segment begins. `mend_kernel`
    sees to the rest. A chain of dependent operations a bar is what this costs. Values are read
    eight bars ahead, so that the chain does not wait for them.

    Operands are values, seeds and the weight, a row where WEIGHED, else a number. A job's numbers
    are bars from the seed to the first value that moves it, and to the first bar that is shown.
    p_cut: [2, n] bars of a segment and early bars, multiples of eight that a group's jobs share.
    p_states: [2, n, width] receives the average before each segment, and at its end.
    """
    job = tl.program_id(0) * JOBS + tl.arange(0, JOBS)
    m_job = job < n_jobs
    job = tl.where(m_job, job, n_jobs - 1)
    segment = tl.load(p_cut + tl.program_id(0) * JOBS)
    early = tl.load(p_cut + n_jobs + tl.program_id(0) * JOBS)
    # From here on bars are counted from the first that is made.
    origin = at_line(p_table, FROM, n_jobs, job)
    bars = at_line(p_table, BARS, n_jobs, job) - origin
    begin = tl.program_id(1) * segment
    stop = tl.minimum(begin + segment, tl.max(bars, 0))
    if begin >= stop:
        return
    from_bar = tl.maximum(begin - early, 0)
    first = tl.load(p_first + job) - origin
    start = first + at_line(p_table, WHOLE, n_jobs, job)
    shown = first + at_line(p_table, ALSO, n_jobs, job)
    p_values = p_rows + at_line(p_table, OPERANDS, n_jobs, job) + origin
    p_weights = p_rows + at_line(p_table, OPERANDS + 2, n_jobs, job)
    weight = tl.zeros([JOBS], tl.float64)
    if WEIGHED:
        p_weights = p_weights + origin
    else:
        weight = tl.load(p_weights)
    p_state = p_states + job.to(tl.int64) * width + tl.program_id(1)
    p_end = p_state + n_jobs.to(tl.int64) * width
    bare = tl.load(p_values + from_bar, mask=from_bar < bars, other=0.0)
    y = tl.where(start > from_bar, tl.load(p_seed + job), tl.where(bare == bare, bare, 0.0))
    x = eight(p_values + from_bar, bars - from_bar)
    weights = eight_weights(p_weights + from_bar, weight, bars - from_bar, WEIGHED)
    for t in range(from_bar, begin, 8):
        x2 = eight(p_values + t + 8, bars - t - 8)
        weights2 = eight_weights(p_weights + t + 8, weight, bars - t - 8, WEIGHED)
        for i in tl.static_range(8):
            y = advance(y, x[i], weights[i], start <= t + i)
        x, weights = x2, weights2
    tl.store(p_state, y, mask=m_job)
    o_eight = tl.arange(0, 8)[None, :]
    p_out = p_rows + (at_line(p_table, OUT, n_jobs, job) + origin)[:, None]
    for t in range(begin, stop, 8):
        x2 = eight(p_values + t + 8, bars - t - 8)
        weights2 = eight_weights(p_weights + t + 8, weight, bars - t - 8, WEIGHED)
        values = ()
        for i in tl.static_range(8):
            y = advance(y, x[i], weights[i], start <= t + i)
            value = where_known((x[i] == x[i]) & (shown <= t + i) & (y == y), y + 0.0)
            values = values + (value,)  # type: ignore[assignment]  # noqa: RUF005
        o_bar = t + o_eight
        m_bar = m_job[:, None] & (o_bar < tl.minimum(bars, stop)[:, None])
        tl.store(p_out + o_bar, join_columns(values), mask=m_bar)
        x, weights = x2, weights2
    tl.store(p_end, y, mask=m_job)


@triton.jit(do_not_specialize=["n_jobs", "width"])
def mend_kernel(p_rows, p_table, p_cut, p_first, p_states, n_jobs, width, WEIGHED: tl.constexpr,
                TILE: tl.constexpr):  # fmt: skip
    """Make averages in segments equal to one chain; grid (jobs), a warp each.

    A segment that began with the average at the end of the one before, in every bit, is right if
    that one is. Any other is computed again. Arguments as of `chain_kernel`; segments are multiples
    of TILE.
    """
    job = tl.program_id(0)
    bars = at_line(p_table, BARS, n_jobs, job)
    segment = tl.load(p_cut + job)
    first = tl.load(p_first + job)
    start = first + at_line(p_table, WHOLE, n_jobs, job)
    shown = first + at_line(p_table, ALSO, n_jobs, job)
    p_values = p_rows + at_line(p_table, OPERANDS, n_jobs, job)
    p_weights = p_rows + at_line(p_table, OPERANDS + 2, n_jobs, job)
    p_out = p_rows + at_line(p_table, OUT, n_jobs, job)
    weight = tl.load(p_weights)
    o_tile = tl.arange(0, TILE)
    p_before = p_states + job.to(tl.int64) * width
    p_after = p_before + n_jobs.to(tl.int64) * width
    y = tl.load(p_after)
    for j in range(1, (bars + segment - 1) // segment):
        before = tl.load(p_before + j)
        is_apart = y.to(tl.int64, bitcast=True) != before.to(tl.int64, bitcast=True)
        t = j * segment
        stop = tl.where(is_apart, tl.minimum(t + segment, bars), t)
        y = tl.where(is_apart, y, tl.load(p_after + j))
        while t < stop:
            kept = tl.zeros([TILE], tl.float64)
            for i in tl.static_range(TILE):
                x = tl.load(p_values + t + i, mask=t + i < bars, other=float("nan"))
                if WEIGHED:
                    weight = tl.load(p_weights + t + i, mask=t + i < bars, other=0.0)
                y = advance(y, x, weight, start <= t + i)
                is_shown = (x == x) & (shown <= t + i) & (y == y)
                kept = tl.where(o_tile == i, where_known(is_shown, y + 0.0), kept)
            tl.store(p_out + t + o_tile, kept, mask=t + o_tile < stop)
            t += TILE


@triton.jit(do_not_specialize=["n_jobs", "longest"])
def session_kernel(p_rows, p_table, n_jobs, longest, FORM: tl.constexpr,
                   JOBS: tl.constexpr):  # fmt: skip
    """Rows that begin anew with each session, of up to `longest` bars; a lane, and a job, each.

    Of typical prices and volumes their mean, of prices the largest or smallest of the first bars. A
    job's numbers are one past the last of these, and the first bar that is known.
    """
    job = tl.program_id(0) * JOBS + tl.arange(0, JOBS)
    m_job = job < n_jobs
    job = tl.where(m_job, job, n_jobs - 1)
    first, bars = at_line(p_table, FROM, n_jobs, job), at_line(p_table, BARS, n_jobs, job)
    counted, known = at_line(p_table, WHOLE, n_jobs, job), at_line(p_table, ALSO, n_jobs, job)
    p_prices = p_rows + at_line(p_table, OPERANDS, n_jobs, job)
    p_out = p_rows + at_line(p_table, OUT, n_jobs, job)
    total = tl.zeros([JOBS], tl.float64)
    units = total
    if FORM == "opening_high":
        total = total - float("inf")
    elif FORM == "opening_low":
        total = total + float("inf")
    for k in range(longest):
        t = first + k
        m = m_job & (t < bars)
        price = tl.load(p_prices + t, mask=m, other=0.0)
        is_known = m & (t >= known)
        value = total
        if FORM == "vwap":
            p_units = p_rows + at_line(p_table, OPERANDS + 1, n_jobs, job)
            volume = tl.load(p_units + t, mask=m, other=0.0)
            total = total + price * volume
            units = units + volume
            value = total / units
            is_known = is_known & (units != 0.0)
        else:
            is_beyond = price > total if FORM == "opening_high" else price < total
            total = tl.where((t < counted) & is_beyond, price, total)
            value = total
        tl.store(p_out + t, where_known(is_known, value + 0.0), mask=m)
