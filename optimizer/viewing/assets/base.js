"use strict";
// What all pages share: charts in their frames, light and dark, and events of the server.
const PAGE = (() => {
  const byId = (id) => document.getElementById(id);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();
  const theme = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const say = (text) => { byId("status").textContent = text; };

  // Draws a chart in its place, which is hidden without one; a click gives the number of a point.
  function show(figure, chart, onchosen) {
    figure.hidden = !chart;
    if (!chart) return;
    if (!figure.querySelector(".plot")) LOOK.frame(figure);
    LOOK.label(figure, chart);
    const plot = figure.querySelector(".plot"), isFirst = !drawn.has(figure);
    drawn.set(figure, chart);
    // What a person has zoomed into stays when the next state comes.
    chart.layout.uirevision = "kept";
    LOOK.draw(plot, chart, theme());
    if (isFirst && onchosen) plot.on("plotly_click", (event) => onchosen(event.points[0].customdata));
  }

  function redraw() {
    for (const [figure, chart] of drawn) LOOK.draw(figure.querySelector(".plot"), chart, theme());
  }

  function row(cells, head) {
    const made = LOOK.element("tr");
    made.append(...cells.map((cell, i) => (i === 0 && head ? LOOK.element("th", cell, { scope: "row" }) : LOOK.element("td", cell))));
    return made;
  }

  // Hands on states until `take` gives true; a page that nobody sees holds no connection.
  function watch(address, take) {
    let source = null, isOver = false;
    const close = () => { source?.close(); source = null; };
    const open = () => {
      if (source || isOver || document.hidden) return;
      source = new EventSource(address);
      source.onopen = () => say("");
      source.onmessage = (event) => {
        isOver = take(JSON.parse(event.data)) === true;
        if (isOver) close();
      };
      source.onerror = () => {
        say("No answer from the server. Where it was begun anew, open the address that it printed: this page then goes on.");
        if (source?.readyState === EventSource.CLOSED) { close(); setTimeout(open, 3000); }
      };
    };
    document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
    open();
  }

  dark.addEventListener("change", redraw);
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    redraw();
  });
  return { byId, say, show, row, watch };
})();
