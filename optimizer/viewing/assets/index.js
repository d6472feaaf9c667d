"use strict";
(() => {
  const { byId, watch } = PAGE, { element } = LOOK;
  const table = byId("runs"), body = table.tBodies[0], heads = [...table.tHead.querySelectorAll("th[data-column]")];
  const names = heads.map((head) => head.textContent);
  const most = Number(table.dataset.most), chosen = new Set();
  let rows = [], ledger = "", column = 0, isUp = false;

  // A number where the column has one, else the text; what has neither stands last.
  const compare = (a, b) => {
    const [x, y] = [a, b].map((row) => row.cells[column][1] ?? (row.cells[column][0] || null));
    if (x === null || y === null || x === "-" || y === "-") return (x === null || x === "-") - (y === null || y === "-");
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return isUp ? order : -order;
  };

  const fold = (text) => text.toLowerCase().replace(/[^a-z]/g, "");
  const folded = names.map(fold), numbers = heads.flatMap((head, i) => (head.classList.contains("number") ? [i] : []));

  // Comparisons such as "trades > 100, drawdown < 20%", and the first part that is none.
  function readWhere(text) {
    const tests = [], parts = text.split(",").filter((part) => part.trim());
    for (const part of parts) {
      const read = /^\s*([a-z][a-z ]*?)\s*(>=|<=|>|<)\s*(-?(?:\d+\.?\d*|\.\d+))\s*(%?)\s*$/i.exec(part);
      const place = read ? folded.indexOf(fold(read[1])) : -1;
      if (!numbers.includes(place)) return { tests, wrong: part.trim() };
      const least = Number(read[3]) / (read[4] ? 100 : 1), sign = read[2];
      tests.push(({ cells }) => {
        const value = cells[place][1];
        if (typeof value !== "number") return false;
        if (value === least) return sign.length === 2;
        return (value > least) === (sign[0] === ">");
      });
    }
    return { tests, wrong: "" };
  }

  function draw() {
    const { tests, wrong } = readWhere(byId("where").value);
    byId("where").setAttribute("aria-invalid", String(Boolean(wrong)));
    const wanted = byId("search").value.trim().toLowerCase().split(/\s+/), verdict = byId("verdict").value;
    const shown = rows.filter((row) => {
      const text = row.cells.map((cell) => cell[0]).join(" ").toLowerCase();
      return (!verdict || row.cells[1][0].replace(/ \d.*/, "") === verdict) && wanted.every((word) => text.includes(word)) && tests.every((test) => test(row));
    });
    const focused = document.activeElement?.dataset?.key;
    body.replaceChildren(...shown.sort(compare).map(line));
    if (focused) body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    const count = rows.length === 1 ? "1 run" : `${rows.length} runs`;
    const said = wrong ? `"${wrong}" is no comparison of ${numbers.map((i) => names[i]).join(", ")}. ` : "";
    byId("count").textContent = `${said}${shown.length === rows.length ? count : `${shown.length} of ${count}`}. ${ledger}`;
  }

  function line(run) {
    const made = element("tr"), box = element("input", undefined, { type: "checkbox", name: "run", value: run.id, form: "compare", "aria-label": `compare ${run.id}`, "data-key": `box ${run.id}` });
    box.checked = chosen.has(run.id);
    box.addEventListener("change", () => { chosen[box.checked ? "add" : "delete"](run.id); count(); });
    const cell = element("td");
    cell.append(box);
    made.append(cell, ...run.cells.map(([text], i) => {
      const isWord = ["note", "strategy", "symbols"].includes(names[i]);
      const td = element("td", undefined, { class: isWord ? `words of-${names[i]}` : heads[i].className });
      td.dataset.of = names[i];
      if (i) td.append(...text.split(/(?<=_)/).flatMap((part) => [part, element("wbr")]));
      else td.append(element("a", text, { href: `/run/${encodeURIComponent(run.id)}`, title: run.began, "data-key": run.id }));
      if (names[i] === "verdict") {
        if (run.grade) td.dataset.grade = run.grade; else td.dataset.status = run.status;
        if (run.problem) td.append(element("small", run.problem, { class: "problem" }));
      }
      return td;
    }));
    return made;
  }

  function count() {
    byId("compare").querySelector("button").disabled = chosen.size < 2 || chosen.size > most;
    byId("chosen").textContent = chosen.size ? `${chosen.size} chosen, 2 to ${most} can be compared.` : `Choose 2 to ${most} runs to compare.`;
  }

  function sort(head) {
    const next = Number(head.dataset.column);
    isUp = next === column ? !isUp : false;
    column = next;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
    draw();
  }

  // Runs that the filter hides are compared too.
  byId("compare").addEventListener("submit", (event) => {
    event.preventDefault();
    location.assign(`/compare?${new URLSearchParams([...chosen].map((id) => ["run", id]))}`);
  });
  for (const head of heads) head.querySelector("button").addEventListener("click", () => sort(head));
  for (const id of ["search", "verdict", "where"]) byId(id).addEventListener("input", draw);
  watch("/events", (state) => {
    rows = state.rows; ledger = state.ledger ?? "";
    const control = byId("verdict"), known = new Set([...control.options].map((one) => one.value));
    for (const word of new Set(rows.map((row) => row.cells[1][0].replace(/ \d.*/, "")))) if (word && !known.has(word)) control.append(element("option", word, { value: word }));
    for (const id of [...chosen]) if (!rows.some((row) => row.id === id)) chosen.delete(id);
    count();
    draw();
    if (state.problem) byId("count").textContent = state.problem;
    else if (!rows.length) byId("count").textContent = "There are no runs yet: python -m optimizer evolve begins one.";
    document.documentElement.dataset.ready = "yes";
  });
})();
