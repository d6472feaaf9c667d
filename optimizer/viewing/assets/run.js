"use strict";
(() => {
  const { byId, row, say, show, watch } = PAGE, { element } = LOOK;
  const { run, token, finished } = document.body.dataset;
  const base = `/run/${encodeURIComponent(run)}`;
  const find = (name) => document.querySelector(`figure[data-chart="${name}"]`);
  let keys = [], chosen = "";

  // The report, once there is one.
  function openReport(member) {
    document.documentElement.dataset.shown = "report";
    byId("theme").hidden = true;
    byId("live").hidden = true;
    byId("finished").hidden = false;
    byId("report").src = `${base}/report${member === undefined ? "" : `?member=${member}`}`;
  }
  byId("report").addEventListener("load", () => { document.documentElement.dataset.ready = "yes"; });
  byId("to-report").addEventListener("click", () => openReport());
  byId("member-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (byId("member").value) openReport(byId("member").value);
  });

  // A search as it grows.
  function choose(key) {
    if (!key) return;
    chosen = key;
    byId("candidate-said").textContent = "Its trades are being found …";
    byId("candidate").hidden = false;
    byId("candidate").src = `${base}/candidate/${key}`;
    mark();
  }
  byId("candidate").addEventListener("load", () => { byId("candidate-said").textContent = ""; });
  const mark = () => { for (const one of byId("members").tBodies[0].rows) one.setAttribute("aria-selected", String(one.dataset.key === chosen)); };

  function listMembers(columns, members) {
    const table = byId("members"), next = members.map((member) => member.key);
    if (next.join() === keys.join()) return;
    keys = next;
    const focused = document.activeElement?.closest?.("#members tr")?.dataset.key;
    table.tHead.rows[0].replaceChildren(...["bars", ...columns].map((name) => element("th", name, { scope: "col" })));
    table.tBodies[0].replaceChildren(...members.map((member, i) => {
      const made = row(["", ...member.cells]);
      made.dataset.key = member.key;
      made.cells[0].append(element("button", "trades", { type: "button", "aria-label": `trades of member ${i}` }));
      return made;
    }));
    mark();
    if (focused) table.querySelector(`tr[data-key="${focused}"] button`)?.focus();
  }
  byId("members").tBodies[0].addEventListener("click", (event) => choose(event.target.closest("tr")?.dataset.key));

  function take(state) {
    const isOver = state.phase === "finished";
    if (isOver && !chosen) {
      openReport();
      say(state.headline);
      return true;
    }
    // Who looks at a member's trades is not led away from them.
    byId("to-report").hidden = !isOver;
    byId("live").hidden = false;
    const answer = byId("answer");
    if (state.grade) answer.dataset.grade = state.grade;
    if (byId("headline").textContent !== state.headline) byId("headline").textContent = state.headline;
    byId("judging").replaceChildren(...(state.judging ?? []).map((line) => element("li", line)));
    document.documentElement.dataset.phase = state.phase;
    if (state.facts) {
      byId("facts").replaceChildren(...state.facts.map(([name, text]) => {
        const fact = element("div");
        fact.append(element("dt", name), element("dd", text));
        return fact;
      }));
      listMembers(state.columns, state.members);
      show(find("null"), state.null ?? null);
      show(find("front"), state.charts.front, (place) => choose(keys[place]));
      show(find("hypervolume"), state.charts.hypervolume);
      const place = byId("best");
      while (place.children.length < state.charts.best.length) place.append(element("figure"));
      state.charts.best.forEach((chart, i) => show(place.children[i], chart));
    }
    document.documentElement.dataset.ready = "yes";
    return isOver || state.phase === "gone";
  }
  if (finished) openReport();
  else watch(`${base}/events`, take);

  // Tags and note.
  byId("labels").querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const posted = { tags: byId("tags").value.split(/[\s,]+/).filter(Boolean), note: byId("note").value };
    const answer = await fetch(`${base}/labels`, { method: "POST", headers: { "content-type": "application/json", "x-optimizer-token": token }, body: JSON.stringify(posted) }).catch(() => null);
    byId("labels-said").textContent = answer?.ok ? "Kept." : answer ? await answer.text() : "No answer from the server.";
    if (!answer?.ok) return;
    const known = await answer.json();
    byId("labels-now").textContent = `${known.tags.join(", ")} ${known.note}`;
  });
})();
