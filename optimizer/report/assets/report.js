(async () => {
  const ROWS = 10, FIRST_METRICS = 16;
  const { THEMES, element, plain, time } = LOOK;
  const byId = (id) => document.getElementById(id);
  const drawn = new Map();
  let data, seen, isIdle = false, theme = "", member = -1, seriesShown = 0;
  let columns = [], trades = [], page = 0, chosenTrade = -1;

  // Trades travel as steps; this gives the columns back, each number as it was.
  function unroll(t) {
    if (t.exit_ms) return t;
    const n = t.r.length;
    const sum = (steps, into) => { let at = 0; for (let i = 0; i < n; i++) into[i] = at += steps[i]; return into; };
    t.entry_bar = sum(t.entry_bar, new Int32Array(n));
    t.entry_ms = sum(t.entry_ms, new Float64Array(n));
    t.exit_bar = t.entry_bar.map((bar, i) => bar + t.bars_later[i]);
    t.exit_ms = t.entry_ms.map((ms, i) => ms + t.held_ms[i]);
    t.side = new Int8Array(n).fill(1);
    for (const k of t.shorts) t.side[k] = -1;
    t.last_stop = t.stop.slice();
    t.moved.forEach((k, i) => { t.last_stop[k] = t.moved_to[i]; });
    t.exit = t.exit.map((price, i) => [price, t.last_stop[i], t.target[i]][t.level[i]]);
    t.cost_r = t.costs ?? t.entry.map((price, i) => data.costPerSide * (price + t.exit[i]) / (t.side[i] * (price - t.stop[i])));
    t.signal_bar = t.entry_bar.map((bar, i) => bar - (t.signal_before[i] ?? t.signal_before));
    t.mfe = Float64Array.from(t.mfe, (value) => value / 1000);
    t.mae = Float64Array.from(t.mae, (value) => value / 1000);
    t.detail = Object.fromEntries(t.details.map(({ name, values }) => [name, values]));
    return t;
  }

  // Charts.
  function show(figure, chart) {
    if (!figure) return;
    figure.hidden = !chart;
    if (!chart) return;
    if (!figure.querySelector(".plot")) LOOK.frame(figure);
    LOOK.label(figure, chart);
    if (drawn.has(figure)) draw(figure); else seen.observe(figure);
  }

  function draw(figure) {
    const plot = figure.querySelector(".plot");
    const first = !drawn.has(figure);
    drawn.set(figure, true);
    LOOK.draw(plot, figure.chart, theme);
    if (first && figure.onclicked) plot.on("plotly_click", (event) => figure.onclicked(event.points[0]));
    if (figure.ondrawn) figure.ondrawn(plot);
  }

  // What nobody has scrolled to is drawn when nothing else is to do, three dimensions last.
  const idle = (then) => (window.requestIdleCallback ? requestIdleCallback(then, { timeout: 500 }) : setTimeout(then, 50));
  function drawLater() {
    const left = [...document.querySelectorAll("figure:not([hidden])")].filter((one) => one.chart && !drawn.has(one) && one.getClientRects().length);
    const next = left.find((one) => one.dataset.chart !== "front3d") ?? left[0];
    if (isIdle || !next) return;
    isIdle = true;
    idle(() => {
      isIdle = false;
      if (next.chart && !drawn.has(next)) { seen.unobserve(next); draw(next); }
      drawLater();
    });
  }

  function drawAll() {
    for (const figure of document.querySelectorAll("figure")) if (figure.chart && !figure.hidden) draw(figure);
  }

  // The front.
  function merged(shared, own) {
    if (!shared && !own) return null;
    const base = shared ?? own;
    const notes = [own?.alt, shared?.alt].filter(Boolean);
    return {
      title: own?.title ?? base.title, alt: [...new Set(notes)].join("; "),
      data: [...(shared?.data ?? []), ...(own?.data ?? [])], layout: { ...base.layout, ...(own?.layout ?? {}) },
    };
  }

  function drawFront() {
    const find = (name) => document.querySelector(`figure[data-chart="${name}"]`);
    const front = find("front");
    if (!front) return;
    const choose = (point) => select(typeof point.customdata === "number" ? point.customdata : point.customdata?.[0]);
    for (const name of ["front", "front3d", "parallel"]) {
      find(name).onclicked = choose;
      find(name).ondrawn = () => highlight();
      show(find(name), data.shared[name]);
    }
    if (data.shared.front3d && !hasWebGl()) {
      const figure = find("front3d");
      seen.unobserve(figure);
      figure.chart = null;
      figure.querySelector(".plot").replaceChildren(element("p", "This browser draws no three dimensions. The other chart and the table show the same members.", { class: "note" }));
    }
    const x = byId("axis-x"), y = byId("axis-y");
    for (const [control, start] of [[x, data.axes.x], [y, data.axes.y]]) {
      for (const name of Object.keys(data.columns)) control.append(element("option", data.columns[name].title, { value: name }));
      control.value = start;
      control.addEventListener("change", () => {
        const chart = data.shared.front, at = data.columns[x.value], up = data.columns[y.value];
        chart.title = `${up.title} against ${at.title}`;
        chart.alt = "";
        Object.assign(chart.data[0], { x: at.values, y: up.values });
        chart.layout = { ...chart.layout, xaxis: at.axis, yaxis: up.axis };
        show(front, chart);
      });
    }
    document.querySelector("[data-needs-script]").hidden = false;
  }

  function hasWebGl() {
    const context = document.createElement("canvas").getContext("webgl");
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return Boolean(context);
  }

  function highlight() {
    for (const name of ["front", "front3d", "parallel"]) {
      const figure = document.querySelector(`figure[data-chart="${name}"]`);
      if (!figure || !drawn.has(figure) || !figure.chart || member < 0) continue;
      const plot = figure.querySelector(".plot");
      if (name === "front") {
        const line = Array.from(figure.chart.data[0].x, (_, i) => (i === member ? 3 : 1));
        const size = line.map((width) => (width === 3 ? 18 : 10));
        Plotly.restyle(plot, { "marker.size": [size], "marker.line.width": [line], "marker.line.color": THEMES[theme].ink }, [0]);
      } else if (name === "front3d") {
        const size = Array.from(figure.chart.data[0].x, (_, i) => (i === member ? 14 : 5));
        Plotly.restyle(plot, { "marker.size": [size] }, [0]);
      } else {
        const own = figure.chart.data.map((trace) => trace.meta.member === member);
        Plotly.restyle(plot, { "line.width": own.map((is) => (is ? 5 : 1.2)), opacity: own.map((is) => (is ? 1 : 0.6)) });
      }
    }
  }

  function makeFrontTable() {
    const table = byId("front-table");
    if (!table) return;
    table.tBodies[0].addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (row) select(Number(row.dataset.member), true);
    });
    table.tBodies[0].addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); select(Number(event.target.dataset.member), true); }
    });
    for (const head of table.tHead.querySelectorAll("th")) {
      head.querySelector("button").addEventListener("click", () => sortFront(table, head));
    }
  }

  function sortFront(table, head) {
    const column = Number(head.dataset.column);
    const up = head.getAttribute("aria-sort") === "descending";
    for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => Number(row.cells[column].dataset.value);
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const [left, right] = [value(a), value(b)];
      if (Number.isNaN(left) || Number.isNaN(right)) return Number.isNaN(left) - Number.isNaN(right);
      return up ? left - right : right - left;
    });
    table.tBodies[0].append(...rows);
  }

  // The candidate.
  function select(number, follow = false) {
    member = number;
    if (!(number in data.members)) return showAbsent(number);
    const one = data.members[number], detail = data.details[number];
    byId("chosen").textContent = byId("front-table") ? `Member ${number}${one.role ? `: ${one.role}` : ""}` : "";
    for (const row of byId("front-table")?.tBodies[0].rows ?? []) row.setAttribute("aria-selected", String(Number(row.dataset.member) === number));
    const metrics = one.metrics.map(([name, ...texts]) => [name, texts]);
    pairs("metrics", metrics.slice(0, FIRST_METRICS));
    pairs("other-metrics", metrics.slice(FIRST_METRICS));
    pairs("genes", one.genes.map(([name, text, share]) => [name, [text], share]));
    byId("detail").hidden = !detail;
    const missing = data.hasBars ? `The page carries no trades of this member. To see them: ${data.command}${number}` : "Without the bars of the run there are no trades to show.";
    byId("detail-note").textContent = detail ? "" : missing;
    highlight();
    if (detail) showDetail(detail);
    if (follow) byId("candidate").scrollIntoView();
    history.replaceState(null, "", `#member=${number}`);
    drawLater();
  }

  // A member that the page does not hold, or that there is not.
  function showAbsent(number) {
    const held = Object.keys(data.members).length.toLocaleString("en"), count = data.count.toLocaleString("en");
    byId("chosen").textContent = number < data.count
      ? `Member ${number} is not on this page, which holds ${held} of ${count} members. To see it: ${data.command}${number}`
      : `There is no member ${number}: the front has members 0 to ${data.count - 1}.`;
    for (const row of byId("front-table")?.tBodies[0].rows ?? []) row.setAttribute("aria-selected", "false");
    for (const id of ["metrics", "other-metrics", "genes"]) pairs(id, []);
    byId("detail").hidden = true;
    byId("detail-note").textContent = "";
    highlight();
    byId("candidate").scrollIntoView();
    history.replaceState(null, "", `#member=${number}`);
  }

  function pairs(id, rows) {
    const body = byId(id).tBodies[0];
    body.replaceChildren(...rows.map(([name, texts, share]) => {
      const row = element("tr");
      const meaning = data.meanings[name];
      const head = element("th", meaning ? "" : name, meaning ? { scope: "row", title: meaning } : { scope: "row" });
      if (meaning) head.append(element("a", name, { href: `#term-${name.replaceAll(" ", "-")}` }));
      row.append(head, ...texts.map((text) => element("td", text)));
      if (share !== undefined) {
        const cell = element("td"), bar = element("span", undefined, { class: "range", "aria-hidden": "true" });
        if (share !== null) { const mark = element("i"); mark.style.left = `${100 * share}%`; bar.append(mark); cell.append(bar); }
        row.append(cell);
      }
      return row;
    }));
  }

  function showDetail(detail) {
    const find = (name) => document.querySelector(`figure[data-chart="${name}"]`);
    for (const name of ["month", "sharpe", "distribution", "reason", "weekday", "hour", "symbol", "side", "costs"]) {
      show(find(name), merged(data.shared[name], detail.charts[name]));
    }
    showEquity();
    showPrice();
    const fillRows = (id, rows, isText) => byId(id).tBodies[0].replaceChildren(...rows.map((cells) => {
      const row = element("tr");
      row.append(...cells.map((cell, i) => element("td", cell, { class: isText(i) ? "text" : "" })));
      return row;
    }));
    fillRows("drawdowns", detail.drawdowns, (i) => i % 4);
    fillRows("regimes", detail.regimes, (i) => i < 2);
    fillRows("sides", detail.sides, (i) => i < 1);
    unroll(detail.trades);
    showExcursions(detail.trades);
    trades = Array.from({ length: detail.trades.r.length }, (_, i) => i);
    chosenTrade = -1;
    filterTrades();
    showTrade(trades.length ? trades[0] : -1);
  }

  function showExcursions({ r, mfe, mae }) {
    const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : 0).toFixed(2);
    const alt = `${r.length.toLocaleString("en")} trades; on average ${mean(mfe)} R for it, ${mean(mae)} R against it`;
    const [best, worst] = data.shared.excursions.data, customdata = Array.from(r, (_, i) => i);
    const traces = [{ ...best, x: r, y: mfe, customdata }, { ...worst, x: r, y: mae, customdata }];
    const figure = document.querySelector('figure[data-chart="excursions"]');
    figure.onclicked = (point) => showTrade(point.customdata);
    show(figure, { ...data.shared.excursions, alt, data: traces });
  }

  function showEquity() {
    const chart = merged(data.shared.equity, data.details[member].charts.equity);
    const isHold = (trace) => trace.name?.startsWith("buy and hold"), scale = data.details[member].holdScale;
    if (!byId("hold").checked || scale === null) chart.data = chart.data.filter((trace) => !isHold(trace));
    chart.data = chart.data.map((trace) => (isHold(trace) ? scaleHold(trace, chart.data.find(isHold).y, scale) : trace));
    const isLog = byId("log").checked;
    // A mark at each digit of a wide range would cover the next one.
    const dtick = isLog && reach(chart.data) > 3 ? "D2" : undefined;
    chart.layout.yaxis = { ...chart.layout.yaxis, type: isLog ? "log" : "linear", dtick };
    show(document.querySelector('figure[data-chart="equity"]'), chart);
  }

  // Holding with so much of the account in it that its days vary as the member's; or how far that fell.
  function scaleHold(trace, whole, scale) {
    let value = 1, peak = 1;
    const y = Array.from(whole, (now, i) => {
      if (i) value *= Math.max(1 + scale * (now / whole[i - 1] - 1), 0);
      peak = Math.max(peak, value);
      return trace.yaxis === "y2" ? value / peak - 1 : value;
    });
    return { ...trace, y };
  }

  function reach(traces) {
    let low = Infinity, high = 0;
    for (const trace of traces) {
      if (trace.yaxis === "y2") continue;
      for (const value of trace.y) if (value > 0) { low = Math.min(low, value); high = Math.max(high, value); }
    }
    return high / low;
  }

  function showPrice() {
    const figure = document.querySelector('figure[data-chart="price"]');
    const detail = data.details[member];
    figure.onclicked = (point) => { if (typeof point.customdata === "number") showTrade(point.customdata); };
    const at = String(data.shownSeries[seriesShown]?.series);
    show(figure, merged(data.shared.price[at], detail.charts.price[at]));
  }

  function fill(place, charts) {
    while (place.children.length < charts.length) place.append(element("figure"));
    [...place.children].forEach((figure, i) => show(figure, charts[i] ?? null));
  }

  // Trades.
  const windowOf = (t, i) => data.windows[t.window[i]];
  const aim = (t, i) => aims(t, i).map(({ share, price }) => (share === 1 ? plain(price) : `${plain(price)} (${plain(100 * share)}%)`)).join(", ") || "none";
  const COLUMNS = [
    ["#", (t, i) => i], ["symbol", (t, i) => windowOf(t, i).label, "text"],
    ["sample", (t, i) => windowOf(t, i).sample, "text"],
    ["entered", (t, i) => time(t.entry_ms[i]), "text"], ["exited", (t, i) => time(t.exit_ms[i]), "text"],
    ["bars", (t, i) => t.bars_held[i]], ["ended by", (t, i) => data.reasons[t.reason[i]], "text"],
    ["side", (t, i) => (t.side[i] < 0 ? "short" : "long"), "text"],
    ["entry", (t, i) => plain(t.entry[i])], ["stop", (t, i) => plain(t.stop[i])], ["target", (t, i) => aim(t, i)],
    ["exit", (t, i) => plain(t.exit[i])], ["R", (t, i) => t.r[i].toFixed(3)],
    ["MFE in R", (t, i) => t.mfe[i].toFixed(2)], ["MAE in R", (t, i) => t.mae[i].toFixed(2)], ["cost in R", (t, i) => t.cost_r[i].toFixed(3)],
    ["partial exits", (t, i) => partial(t, i).map(({ share, price }) => `${plain(100 * share)}% at ${plain(price)}`).join(", "), "text"],
    ["funding in R", (t, i) => t.detail.funding_r[i].toFixed(3)], ["borrowing in R", (t, i) => t.detail.borrow_r[i].toFixed(3)],
    ["size", (t, i) => plain(t.detail.size[i])], ["leverage", (t, i) => t.detail.leverage[i].toFixed(2)],
  ];
  const NEEDS = { "partial exits": "leg1_bar", "funding in R": "funding_r", "borrowing in R": "borrow_r", size: "size", leverage: "leverage" };

  const legs = () => data.extras.filter((name) => name.endsWith("_bar")).map((name) => name.slice(0, -4));

  // Targets, reached or not, each for as long as it stood.
  function aims(t, i) {
    const all = legs().map((leg) => ({ price: t.detail[`${leg}_target`][i], share: t.detail[`${leg}_share`][i], ms: t.detail[`${leg}_time`][i] }));
    return (all.length ? all : [{ price: t.target[i], share: 1 }]).filter(({ price }) => Number.isFinite(price));
  }

  // Targets that were reached, without one with which the trade ended.
  function partial(t, i) {
    return legs().map((leg) => ({
      bar: t.detail[`${leg}_bar`][i], ms: t.detail[`${leg}_time`][i], price: t.detail[`${leg}_price`][i], share: t.detail[`${leg}_share`][i],
    })).filter(({ bar, price }) => bar >= 0 && !(bar === t.exit_bar[i] && price === t.exit[i]));
  }

  function makeTradeTable() {
    if (!byId("trade-table")) return;
    const head = element("tr");
    const labels = [...new Set(data.windows.map((one) => one.label))];
    const unused = [...(data.hasHeldOut ? [] : ["sample"]), ...(labels.length > 1 ? [] : ["symbol"]), ...(data.hasShorts ? [] : ["side"]),
      ...Object.keys(NEEDS).filter((title) => !data.extras.includes(NEEDS[title]))];
    columns = COLUMNS.filter(([title]) => !unused.includes(title));
    for (const [title, , kind] of columns) head.append(element("th", title === "symbol" ? data.noun : title, { scope: "col", class: kind ?? "" }));
    byId("trade-table").tHead.replaceChildren(head);
    for (const reason of data.reasons) byId("f-reason").append(element("option", reason, { value: reason }));
    for (const label of labels) byId("f-symbol").append(element("option", label, { value: label }));
    byId("f-symbol-label").firstChild.data = `${data.noun} `;
    byId("f-symbol-label").hidden = labels.length < 2;
    byId("f-sample-label").hidden = !data.hasHeldOut;
    for (const id of ["f-reason", "f-result", "f-symbol", "f-sample", "f-time"]) byId(id).addEventListener("input", filterTrades);
    byId("earlier").addEventListener("click", () => { page -= 1; fillTrades(); });
    byId("later").addEventListener("click", () => { page += 1; fillTrades(); });
    for (const id of ["log", "hold"]) byId(id).addEventListener("change", showEquity);
    byId("csv").addEventListener("click", () => {
      const file = new Blob([ledger(data.details[member].trades)], { type: "text/csv" });
      element("a", undefined, { href: URL.createObjectURL(file), download: `trades-${(data.called || `member ${member}`).replaceAll(" ", "-")}.csv` }).click();
    });
    const body = byId("trade-table").tBodies[0];
    const chosen = (event) => { const row = event.target.closest("tr"); if (row) showTrade(Number(row.dataset.trade)); };
    body.addEventListener("click", chosen);
    body.addEventListener("keydown", (event) => { if (event.key === "Enter") chosen(event); });
    const control = byId("series");
    data.shownSeries.forEach((one) => control.append(element("option", one.name)));
    byId("series-control").hidden = data.shownSeries.length < 2;
    control.addEventListener("change", () => { seriesShown = control.selectedIndex; showPrice(); });
  }

  // All trades as `backtest --trades` writes them, byte for byte.
  function ledger(t) {
    const text = (cell) => {
      const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
      return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const whose = data.windows.length === 1 ? [] : data.noun === "window" ? ["symbol", "label", "sample"] : ["symbol", "sample"];
    const second = (ms) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
    const CELLS = { bar: (bar) => (bar < 0 ? "" : bar), time: (ms) => (Number.isFinite(ms) ? second(ms) : ""), number: float };
    const named = [
      ...whose.map((name) => [name, (i) => text(windowOf(t, i)[name])]),
      ["signal_bar", (i) => t.signal_bar[i]], ["entry_bar", (i) => t.entry_bar[i]], ["exit_bar", (i) => t.exit_bar[i]],
      ["reason", (i) => data.reasons[t.reason[i]].replaceAll(" ", "_")],
      ...["entry", "stop", "target", "exit", "r"].map((name) => [name, (i) => float(t[name][i])]),
      ["side", (i) => t.side[i]], ["last_stop", (i) => float(t.last_stop[i])],
      ["held", (i) => t.bars_held[i]],
      ...t.details.map(({ name, kind, values }) => [name, (i) => CELLS[kind](values[i])]),
      ["entry_time", (i) => second(t.entry_ms[i])], ["exit_time", (i) => second(t.exit_ms[i])],
    ];
    const lines = Array.from(t.r, (_, i) => named.map(([, cell]) => cell(i)).join(","));
    return [named.map(([name]) => name).join(","), ...lines, ""].join("\n");
  }

  // A float as Python writes it: the same digits, another form of very great and very small ones.
  function float(value) {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "" : value > 0 ? "inf" : "-inf";
    const size = Math.abs(value);
    if (size && (size < 1e-4 || size >= 1e16)) return value.toExponential().replace(/e(.)(\d)$/, (_, sign, digit) => `e${sign}0${digit}`);
    return `${Object.is(value, -0) ? "-0" : value}${Number.isInteger(value) ? ".0" : ""}`;
  }

  function filterTrades() {
    const t = data.details[member].trades;
    const [reason, result, symbol, sample, when] = ["f-reason", "f-result", "f-symbol", "f-sample", "f-time"].map((id) => byId(id).value);
    trades = [];
    for (let i = 0; i < t.r.length; i++) {
      if (reason && data.reasons[t.reason[i]] !== reason) continue;
      if (result && (t.r[i] > 0) !== (result === "gain")) continue;
      if (symbol && windowOf(t, i).label !== symbol) continue;
      if (sample && windowOf(t, i).sample !== sample) continue;
      if (when && !time(t.entry_ms[i]).startsWith(when.trim())) continue;
      trades.push(i);
    }
    page = 0;
    fillTrades();
  }

  function fillTrades() {
    const t = data.details[member].trades;
    const pages = Math.max(Math.ceil(trades.length / ROWS), 1);
    page = Math.min(Math.max(page, 0), pages - 1);
    const body = byId("trade-table").tBodies[0];
    body.replaceChildren(...trades.slice(page * ROWS, (page + 1) * ROWS).map((i) => {
      const row = element("tr", undefined, { "data-trade": i, tabindex: 0, "aria-selected": i === chosenTrade });
      row.append(...columns.map(([, value, kind]) => element("td", value(t, i), { class: kind ?? "" })));
      return row;
    }));
    let sum = 0;
    for (const i of trades) sum += t.r[i];
    const counted = `${trades.length.toLocaleString("en")} of ${t.r.length.toLocaleString("en")} trades`;
    byId("trade-count").textContent = trades.length ? `${counted}, ${sum.toFixed(2)} R` : counted;
    byId("page-number").textContent = `${page + 1} of ${pages.toLocaleString("en")}`;
    byId("earlier").disabled = page === 0;
    byId("later").disabled = page === pages - 1;
    byId("pages").hidden = pages === 1;
  }

  function showTrade(k) {
    const figure = document.querySelector('figure[data-chart="trade"]');
    const t = data.details[member].trades;
    chosenTrade = k;
    for (const row of byId("trade-table").tBodies[0].rows) row.setAttribute("aria-selected", String(Number(row.dataset.trade) === k));
    if (k < 0) return show(figure, null);
    const bars = whole(data.bars[windowOf(t, k).series]);
    const around = bars ? near(bars, t.signal_bar[k] - data.around, t.exit_bar[k] + data.around) : null;
    const [candles, stop, target, way, ...marks] = data.shared.trade.data.map((trace) => ({ ...trace }));
    const held = [t.entry_ms[k], t.exit_ms[k]];
    Object.assign(candles, around ?? { x: [], open: [], high: [], low: [], close: [] });
    const levels = (prices) => ({
      x: prices.flatMap(({ ms }) => [held[0], Number.isFinite(ms) ? ms : held[1], null]), y: prices.flatMap(({ price }) => [price, price, null]),
    });
    Object.assign(stop, levels([...new Set([t.stop[k], t.last_stop[k]])].map((price) => ({ price }))));
    Object.assign(target, levels(aims(t, k)));
    Object.assign(way, { x: held, y: [t.entry[k], t.exit[k]] });
    if (t.side[k] < 0) way.marker = { ...way.marker, symbol: ["triangle-down", "x"] };
    const own = around && member === data.rows.member ? whole(data.rows.of[windowOf(t, k).series]) : undefined;
    const rows = own?.rows ?? [], cutRow = own && cutter(own.number, t.signal_bar[k] - data.around, t.exit_bar[k] + data.around);
    const lines = rows.map(({ name, isPrice, values }, nth) => ({
      type: "scatter", mode: "lines", name, x: around.x, y: cutRow(values),
      line: { color: data.rows.colours[nth % data.rows.colours.length], width: 1.5 },
      ...(isPrice ? {} : { yaxis: "y2", visible: rows.findIndex((row) => !row.isPrice) === nth ? true : "legendonly" }),
    }));
    const { layout } = data.shared.trade, isBelow = rows.some((row) => !row.isPrice);
    const below = isBelow ? {
      xaxis: { ...layout.xaxis, anchor: "y2" }, yaxis: { ...layout.yaxis, domain: [0.32, 1] },
      yaxis2: { title: { text: "row" }, domain: [0, 0.26], automargin: true }, height: 520,
    } : {};
    const exits = partial(t, k);
    for (const trace of marks) Object.assign(trace, { x: exits.map(({ ms }) => ms), y: exits.map(({ price }) => price) });
    const parts = exits.map(({ share, price }) => `${plain(100 * share)}% out at ${plain(price)}, `).join("");
    const moved = t.last_stop[k] === t.stop[k] ? "" : ` moved to ${plain(t.last_stop[k])}`;
    const told = `${t.side[k] < 0 ? "sold short" : "entered"} ${time(held[0])} at ${plain(t.entry[k])}, stop ${plain(t.stop[k])}${moved}, target ${aim(t, k)}, `
      + `${parts}${exits.length ? "the rest " : ""}out ${time(held[1])} at ${plain(t.exit[k])} by ${data.reasons[t.reason[k]]}: ${t.r[k].toFixed(3)} R`;
    const alt = around ? told : `${told}; its bars are not in this page`;
    show(figure, { ...data.shared.trade, title: `Trade ${k} of ${data.called || `member ${member}`}`, alt, layout: { ...layout, ...below }, data: [candles, stop, target, way, ...marks, ...lines] });
  }

  // Numbers and times of bars travel as steps.
  function whole(bars) {
    if (!bars || bars.isWhole) return bars;
    for (const name of ["number", "time"]) {
      const column = bars[name]?.slice();
      for (let i = 1; i < column?.length; i++) column[i] += column[i - 1];
      bars[name] = column;
    }
    return Object.assign(bars, { isWhole: true });
  }

  // Cuts columns that stand at numbers of bars to those from one bar to another; null where they are not there.
  function cutter(numbers, first, last) {
    const find = (number) => {
      let low = 0, high = numbers.length;
      while (low < high) { const middle = (low + high) >> 1; if (numbers[middle] < number) low = middle + 1; else high = middle; }
      return low;
    };
    const [from, to] = [find(first), find(last + 1)];
    return to <= from || numbers[to - 1] < last - 2 * data.around ? null : (column) => column.subarray(from, to);
  }

  function near(bars, first, last) {
    const cut = cutter(bars.number, first, last);
    return cut && { x: cut(bars.time), open: cut(bars.open), high: cut(bars.high), low: cut(bars.low), close: cut(bars.close) };
  }

  // Light and dark, screen and paper.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // What a link leads to is shown, and so is all that is printed.
  const unfold = () => {
    if (location.hash.startsWith("#term-")) document.querySelector(location.hash)?.closest("details")?.setAttribute("open", "");
  };
  const findNamed = () => { const found = /^#member=(\d+)$/.exec(location.hash); return found && Number(found[1]); };
  addEventListener("hashchange", () => {
    unfold();
    if (data?.count && findNamed() !== null) select(findNamed(), true);
  });
  const setTheme = (name) => {
    if (theme === name) return;
    theme = name;
    for (const figure of drawn.keys()) if (figure.chart) draw(figure);
  };
  const wanted = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  theme = wanted();
  dark.addEventListener("change", () => setTheme(wanted()));
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = theme === "dark" ? "light" : "dark";
    setTheme(wanted());
  });
  addEventListener("beforeprint", () => {
    theme = "light";
    for (const more of document.querySelectorAll("details.more")) more.open = true;
    drawAll();
    // Paper is as wide as it is: a chart that was drawn for another width is scaled, and keeps its form.
    for (const svg of document.querySelectorAll("svg.main-svg")) {
      svg.setAttribute("viewBox", `0 0 ${svg.width.baseVal.value} ${svg.height.baseVal.value}`);
    }
    for (const box of document.querySelectorAll(".svg-container")) {
      const width = box.clientWidth, height = box.clientHeight;
      box.style.aspectRatio = `${width} / ${height}`;
      for (const { style } of box.querySelectorAll(".gl-container > div")) {
        for (const side of ["left", "width"]) style[side] = `${100 * parseFloat(style[side]) / width}%`;
        for (const side of ["top", "height"]) style[side] = `${100 * parseFloat(style[side]) / height}%`;
      }
    }
  });
  addEventListener("afterprint", () => {
    for (const svg of document.querySelectorAll("svg.main-svg")) svg.removeAttribute("viewBox");
    for (const box of document.querySelectorAll(".svg-container")) box.style.aspectRatio = "";
    setTheme(wanted());
  });

  // A frame that is still being written keeps the page from being loaded, and so from being printed.
  const waiting = element("iframe", undefined, { hidden: "" });
  document.body.append(waiting);
  waiting.contentDocument.open();
  try {
    byId("status").textContent = "Drawing the charts …";
    data = await PACKED.readData();
    await PACKED.loadLibrary();
    seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting && target.chart) { seen.unobserve(target); draw(target); }
      }
    }, { rootMargin: "400px" });
    byId("theme").hidden = false;
    makeFrontTable();
    makeTradeTable();
    drawFront();
    for (const name of ["answer", "step_genes", "stitched", "null", "power", "at_costs", "heatmap"]) show(document.querySelector(`figure[data-chart="${name}"]`), data.shared[name]);
    if (byId("search")) {
      fill(byId("convergence"), data.shared.convergence);
      fill(byId("gene-fans"), data.shared.genes);
    }
    if (data.count) select(findNamed() ?? data.first);
    byId("status").textContent = "";
    document.documentElement.dataset.ready = "yes";
    drawLater();
  } catch (error) {
    byId("status").textContent = `The charts could not be drawn: ${error.message}. A browser of 2023 or later is needed.`;
    throw error;
  } finally {
    waiting.remove();
  }
})();
