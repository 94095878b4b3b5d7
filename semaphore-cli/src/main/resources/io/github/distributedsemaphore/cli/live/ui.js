"use strict";
// Whatever comes from the backend goes into the page as text, never as markup.
const WINDOW = 600_000;
const SVG = "http://www.w3.org/2000/svg";
const SIGNS = { "taken": "+", "freed": "−", "passed on": "›", "expired": "×", "retired": "~", "limit": "=", "appeared": "*", "gone": "!" };
const BAD = ["expired", "gone", "no answer"];
const byId = id => document.getElementById(id);

const times = []; // of readings, oldest first: {reading, at}
const past = new Map(); // by name: how many slots were in use, by reading; null where nobody knows
const open = new Set();
let seen = 0;
let data = null;
let lastAnswer = Date.now();
let paused = false;

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function age(millis) {
  const s = Math.max(0, Math.floor(millis / 1000));
  const two = n => String(n).padStart(2, "0");
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " m " + two(s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + two(Math.floor(s % 3600 / 60)) + " m";
  return Math.floor(s / 86400) + " d " + two(Math.floor(s % 86400 / 3600)) + " h";
}

function remember(answer) {
  if (answer.reading < seen) { // the command was started again at the same port
    times.length = 0;
    past.clear();
  }
  const at = Date.parse(answer.at);
  const first = answer.reading - answer.ages.length + 1;
  answer.ages.forEach((before, i) => times.push({ reading: first + i, at: at - before }));
  const names = new Set();
  for (const semaphore of answer.semaphores) {
    names.add(semaphore.name);
    const use = past.get(semaphore.name) || new Map();
    semaphore.past.forEach((held, i) => use.set(first + i, held < 0 ? null : held));
    past.set(semaphore.name, use);
  }
  for (const name of past.keys()) if (!names.has(name)) past.delete(name);
  while (times.length && times[0].at < at - WINDOW) {
    const old = times.shift().reading;
    for (const use of past.values()) use.delete(old);
  }
  seen = answer.reading;
}

/** A step for each reading, up to the next one; hatched where there was no answer, empty before the first reading. */
function strip(semaphore, end) {
  const width = 600, height = 32;
  const use = past.get(semaphore.name) || new Map();
  const most = Math.max(1, semaphore.limit || 0, ...[...use.values()].map(held => held || 0));
  const x = at => Math.max(0, width * (1 - (end - at) / WINDOW));
  const svg = drawn("svg", { class: "strip", viewBox: "0 0 " + width + " " + height, preserveAspectRatio: "none", role: "img",
    "aria-label": "slots of " + semaphore.name + " in use over the last ten minutes, at most " + most });
  let steps = "", gaps = "";
  times.forEach((time, i) => {
    const from = x(time.at).toFixed(1);
    const to = (i + 1 < times.length ? x(times[i + 1].at) : width).toFixed(1);
    const held = use.get(time.reading);
    if (held === null || held === undefined) gaps += `M${from} 0H${to}V${height}H${from}Z`;
    else if (held > 0) steps += `M${from} ${height}V${(height * (1 - held / most)).toFixed(1)}H${to}V${height}Z`;
  });
  svg.append(drawn("path", { d: steps }), hatch(), drawn("path", { d: gaps, class: "gap" }));
  return svg;
}

function hatch() {
  const defs = drawn("defs", {});
  const pattern = drawn("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(drawn("rect", { width: 2, height: 6, fill: "#8a949e" }));
  defs.append(pattern);
  return defs;
}

function bar(semaphore) {
  const use = element("div", semaphore.free === 0 ? "use full" : "use");
  const frame = element("div", "bar");
  const svg = drawn("svg", { viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(drawn("rect", { width: 100 * semaphore.held / semaphore.limit, height: 1 }));
  frame.append(svg);
  use.append(frame, element("span", "", semaphore.held + " of " + semaphore.limit));
  return use;
}

function cell(className, ...content) {
  const made = element("td", className);
  made.append(...content);
  return made;
}

function marks(semaphore) {
  const news = data.changes.filter(change => change.reading === data.reading && change.name === semaphore.name);
  const counts = new Map();
  news.forEach(change => counts.set(change.kind, (counts.get(change.kind) || 0) + 1));
  const text = [...counts].map(([kind, count]) => SIGNS[kind] + count).join(" ");
  return element("span", news.some(change => BAD.includes(change.kind)) ? "mark bad" : "mark", text);
}

function row(semaphore, end) {
  const made = element("tr");
  const name = element("button", "", semaphore.name);
  name.type = "button";
  name.dataset.name = semaphore.name;
  name.setAttribute("aria-expanded", open.has(semaphore.name));
  made.append(cell("name", name, marks(semaphore)));
  if (semaphore.problem) {
    const problem = cell("bad", semaphore.problem);
    problem.colSpan = 6;
    made.append(problem);
    return made;
  }
  made.append(
    cell("", bar(semaphore)), cell("number", String(semaphore.free)), cell("number", String(semaphore.retired || "–")),
    cell(semaphore.expired ? "number bad" : "number", String(semaphore.expired || "–")),
    cell("number", semaphore.oldest ? age(end - Date.parse(semaphore.oldest)) : "–"), cell("", strip(semaphore, end)));
  return made;
}

function holders(semaphore, end) {
  const table = element("table");
  const head = element("tr");
  ["Slot", "Host", "Process", "Label", "Held for", "State"].forEach(title => head.append(element("th", "", title)));
  table.append(head);
  for (const holder of semaphore.holders) {
    const line = element("tr");
    [holder.slot, holder.host || "unknown", holder.pid || "–", holder.label || "–",
      holder.since ? age(end - Date.parse(holder.since)) : "–", holder.state]
      .forEach(text => line.append(element("td", holder.state === "expired" ? "bad" : "", String(text))));
    table.append(line);
  }
  const made = element("tr", "holders");
  const all = cell("", semaphore.holders.length ? table : element("span", "faint", "nobody holds a slot"));
  all.colSpan = 7;
  made.append(all);
  return made;
}

function show() {
  const end = Date.parse(data.at);
  const wanted = byId("filter").value.toLowerCase();
  const focused = document.activeElement.dataset.name;
  const shown = data.semaphores.filter(semaphore => semaphore.name.toLowerCase().includes(wanted));
  byId("source").textContent = data.address + " · slots of dead holders are free within " + age(data.detectionMillis);
  const held = data.semaphores.reduce((sum, semaphore) => sum + (semaphore.held || 0), 0);
  const limit = data.semaphores.reduce((sum, semaphore) => sum + (semaphore.limit || 0), 0);
  byId("state").textContent = data.reading === 0 ? "asking for the first time"
    : `${data.semaphores.length} semaphores, ${held} of ${limit} slots held; a reading every `
      + `${((data.tookMillis + data.pauseMillis) / 1000).toFixed(1)} s takes ${data.tookMillis} ms`;
  byId("rows").replaceChildren(...shown.flatMap(semaphore =>
    open.has(semaphore.name) && semaphore.holders ? [row(semaphore, end), holders(semaphore, end)] : [row(semaphore, end)]));
  for (const button of document.querySelectorAll("button[data-name]")) if (button.dataset.name === focused) button.focus();
  byId("changes").replaceChildren(...[...data.changes].reverse().map(change => {
    const line = element("li", BAD.includes(change.kind) ? "bad" : "");
    line.append(element("time", "", new Date(change.at).toLocaleTimeString()), element("b", "", change.name),
      change.kind + " " + change.detail);
    return line;
  }));
  if (!data.changes.length) byId("changes").append(element("li", "faint", "none since the command was started"));
}

function complain(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
  document.body.classList.toggle("stale", Boolean(text));
}

async function ask() {
  try {
    const response = await fetch("data?seen=" + seen, { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (!response.ok) throw new Error(response.statusText);
    const answer = await response.json();
    lastAnswer = Date.now();
    remember(answer);
    if (!paused) {
      data = answer;
      show();
    }
    complain(answer.trouble && `The backend has not answered for ${age(answer.silenceMillis)}; shown is the last answer. ${answer.trouble}`);
  } catch (failure) {
    complain(`The command 'semaphore ui' has not answered for ${age(Date.now() - lastAnswer)}; it may have ended. Shown is what it said last.`);
  }
  setTimeout(ask, 1000);
}

byId("filter").addEventListener("input", () => data && show());
byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", paused);
  byId("pause").textContent = paused ? "Paused" : "Pause";
});
byId("rows").addEventListener("click", event => {
  const name = event.target.closest("tr")?.querySelector("button[data-name]")?.dataset.name;
  if (name === undefined) return;
  open.has(name) ? open.delete(name) : open.add(name);
  show();
});
ask();
