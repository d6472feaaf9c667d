(async () => {
  const status = document.getElementById("status"), button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  let charts = {};

  function drawAll() {
    for (const [name, chart] of Object.entries(charts)) {
      const figure = document.querySelector(`figure[data-chart="${name}"]`);
      LOOK.draw(figure.querySelector(".plot"), chart, theme());
    }
  }

  dark.addEventListener("change", drawAll);
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    drawAll();
  });
  try {
    status.textContent = "Drawing the charts …";
    charts = await PACKED.readData();
    await PACKED.loadLibrary();
    for (const [name, chart] of Object.entries(charts)) {
      const figure = document.querySelector(`figure[data-chart="${name}"]`);
      figure.hidden = false;
      LOOK.frame(figure);
      LOOK.label(figure, chart);
    }
    button.hidden = false;
    drawAll();
    status.textContent = "";
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    status.textContent = `The charts could not be drawn: ${error.message}. A browser of 2023 or later is needed.`;
    throw error;
  }
})();
