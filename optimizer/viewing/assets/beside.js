"use strict";
(async () => {
  const { byId, row, say, show } = PAGE, { element } = LOOK;
  say("The runs are being compared …");
  const answer = await fetch(`/compare/data${location.search}`).catch(() => null);
  document.documentElement.dataset.ready = "yes";
  if (!answer?.ok) return say(answer ? await answer.text() : "No answer from the server.");
  const state = await answer.json();
  say("");
  byId("problems").append(...state.problems.map((line) => element("li", line, { class: "mild" })));
  const fill = (id, rows, heads) => {
    byId(id).hidden = !rows.length;
    byId(id).tBodies[0].append(...rows.map((cells) => row(cells, true)));
    if (!heads) return;
    const head = element("tr");
    head.append(element("th", "run", { scope: "col" }), ...heads.map((name) => element("th", name, { scope: "col" })));
    byId(id).tHead.append(head);
  };
  fill("rows", state.heads.length ? state.rows : [], state.heads);
  fill("correlations", state.correlations);
  show(document.querySelector('figure[data-chart="equity"]'), state.equity);
  show(document.querySelector('figure[data-chart="front"]'), state.front);
  byId("differs").hidden = !state.differs.length;
  for (const [run, ...lines] of state.differs) {
    const list = element("ul");
    list.append(...(lines.length ? lines : ["nothing that decides results"]).map((line) => element("li", line)));
    byId("differs").append(element("h3", run), list);
  }
})();
