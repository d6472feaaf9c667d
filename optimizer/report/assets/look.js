"use strict";
// The look of charts, light and dark, for every page that draws them.
const LOOK = (() => {
  const THEMES = {
    light: { ink: "#1b1f24", grid: "#dfe3e8", line: "#a9b1ba", box: "#ffffff", neutral: "#e6e6e6" },
    dark: { ink: "#e8eaed", grid: "#333a43", line: "#59636e", box: "#1d2127", neutral: "#3c434c" },
  };
  const ROWS = 500;
  const CONFIG = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d"] };

  // Everything that comes from data becomes text, never markup.
  function element(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function themed(layout, theme) {
    const { ink, grid, line, box } = THEMES[theme];
    const axis = { gridcolor: grid, linecolor: line, zerolinecolor: line, tickcolor: line };
    const deep = { ...axis, gridcolor: line, showbackground: false };
    const hover = { bgcolor: box, bordercolor: line, font: { color: ink } };
    return {
      margin: { l: 50, r: 16, t: 16, b: 40 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      ...layout,
      template: { layout: {
        font: { color: ink, size: 12 }, hoverlabel: hover, xaxis: axis, yaxis: axis,
        scene: { xaxis: deep, yaxis: deep, zaxis: deep },
      } },
    };
  }

  // What is neither good nor bad shall not shine on black.
  const toned = (theme) => ([at, colour]) => [at, colour === THEMES.light.neutral ? THEMES[theme].neutral : colour];

  function draw(plot, chart, theme) {
    const traces = chart.data.map((trace) => ({ ...trace, ...(trace.colorscale && { colorscale: trace.colorscale.map(toned(theme)) }) }));
    Plotly.react(plot, traces, themed({ ...chart.layout }, theme), CONFIG);
  }

  // A chart's place: its title, what is to be seen in it, where it is drawn, and its numbers.
  function frame(figure) {
    const caption = element("figcaption", ""), numbers = element("details");
    caption.append(element("span", ""), element("small", ""));
    numbers.append(element("summary", "as a table"));
    numbers.addEventListener("toggle", () => fillTable(figure));
    figure.append(caption, element("div", undefined, { class: "plot", role: "group" }), numbers);
  }

  function label(figure, chart) {
    const title = chart.title.charAt(0).toUpperCase() + chart.title.slice(1);
    figure.chart = chart;
    figure.querySelector("figcaption span").textContent = title;
    figure.querySelector("figcaption small").textContent = chart.alt;
    const plot = figure.querySelector(".plot"), height = chart.layout?.height;
    plot.setAttribute("aria-label", `${chart.title}: ${chart.alt}`);
    // Room for what is drawn later, so that nothing moves under a reader's pointer.
    plot.style.minHeight = height ? `${height}px` : "";
    fillTable(figure);
  }

  // Numbers of a chart, while somebody looks at them.
  function fillTable(figure) {
    const details = figure.querySelector("details"), { title, data, layout } = figure.chart;
    details.querySelector("table")?.remove();
    if (!details.open) return;
    const table = element("table", undefined, { "aria-label": title }), head = element("tr"), body = element("tbody");
    const when = layout?.xaxis?.type === "date";
    const isGrid = (trace) => trace?.z?.[0]?.forEach, isOne = data.every((trace) => !trace.yaxis || trace.yaxis === "y");
    const [x, y, z] = ["x", "y", "z"].map((axis) => (isOne && (layout?.scene ?? layout)?.[`${axis}axis`]?.title?.text) || (axis === "x" && when ? "time, UTC" : axis));
    const names = isGrid(data[0]) ? [y, x, "value"] : ["series", x, y, ...(data[0]?.z ? [z] : [])];
    head.append(...names.map((name) => element("th", name, { scope: "col" })));
    let isCut = false;
    for (const trace of data) {
      const rows = isGrid(trace)
        ? Array.from(trace.z).flatMap((row, i) => Array.from(row, (value, j) => [trace.y[i], trace.x[j], value]).filter(([, , value]) => Number.isFinite(value)))
        : Array.from(trace.y ?? trace.close ?? [], (value, i) => [trace.name ?? "", when ? time(trace.x?.[i]) : trace.x?.[i], value, ...(trace.z ? [trace.z[i]] : [])]);
      body.append(...rows.slice(0, ROWS).map(tableRow));
      isCut ||= rows.length > ROWS;
    }
    const shown = element("thead");
    shown.append(head);
    table.append(shown, body);
    if (isCut) table.prepend(element("caption", `the first ${ROWS} rows of each series`));
    details.append(table);
  }

  function tableRow(cells) {
    const row = element("tr");
    row.append(...cells.map((cell) => element("td", plain(cell))));
    return row;
  }

  // Words.
  function plain(value) {
    if (typeof value !== "number") return String(value ?? "");
    return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : "-";
  }
  const time = (ms) => (Number.isFinite(ms) ? new Date(ms).toISOString().slice(0, 16).replace("T", " ") : "");

  return { THEMES, element, draw, frame, label, plain, time };
})();
