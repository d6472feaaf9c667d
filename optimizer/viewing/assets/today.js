"use strict";
(async () => {
  const { element } = LOOK;
  const heads = [...document.querySelectorAll("#today thead th")].map((head) => head.textContent);

  function fill(body, state) {
    const first = body.rows[0], name = first.cells[0];
    first.querySelector(".reading").remove();
    if (state.problem) {
      first.append(element("td", state.problem, { colspan: String(heads.length - 1), class: "grave problem" }));
      return;
    }
    name.append(element("small", state.word, { "data-grade": state.grade }));
    state.rows.forEach((row, i) => {
      const line = i ? body.insertRow() : first;
      if (i) line.append(element("th"));
      line.append(...row.cells.map(([text, tone], k) => {
        const cell = element("td", text, { class: `${tone} ${text === "-" ? "none" : ""} of-${heads[k + 1].replaceAll(" ", "-")}`, "data-name": heads[k + 1] });
        if (heads[k + 1] !== "state" || !row.lines.length) return cell;
        const all = element("details");
        all.append(element("summary", text), ...row.lines.map((each) => element("p", each.trim())));
        cell.replaceChildren(all);
        return cell;
      }));
    });
  }

  for (const body of document.querySelectorAll("#today tbody")) {
    const answer = await fetch(`/today/${encodeURIComponent(body.dataset.run)}`).catch(() => null);
    fill(body, answer?.ok ? await answer.json() : { problem: answer ? await answer.text() : "No answer from the server." });
  }
  document.documentElement.dataset.ready = "yes";
})();
