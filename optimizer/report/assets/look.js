"use strict";
// The look of charts, light and dark, for every page that draws them.
const LOOK = (() => {
  const THEMES = {
    light: { ink: "#1b1f24", grid: "#dfe3e8", line: "#a9b1ba", box: "#ffffff", neutral: "#e6e6e6" },
    dark: { ink: "#e8eaed", grid: "#333a43", line: "#59636e", box: "#1d2127", neutral: "#3c434c" },
  };
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

  // A chart's place: its title, what is to be seen in it, and where it is drawn.
  function frame(figure, ...more) {
    const caption = element("figcaption", "");
    caption.append(element("span", ""), element("small", ""));
    figure.append(caption, element("div", undefined, { class: "plot", role: "group" }), ...more);
  }

  function label(figure, chart) {
    const title = chart.title.charAt(0).toUpperCase() + chart.title.slice(1);
    figure.querySelector("figcaption span").textContent = title;
    figure.querySelector("figcaption small").textContent = chart.alt;
    figure.querySelector(".plot").setAttribute("aria-label", `${chart.title}: ${chart.alt}`);
  }

  return { THEMES, element, draw, frame, label };
})();
