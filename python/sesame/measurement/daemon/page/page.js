// The page of one daemon. It uses only the daemon's HTTP interface.
"use strict";

const LEVELS = ["off", "summary", "trace"];
const MOST_READINGS = 360;
const MOST_LINES = 7; // as many as there are distinct colours
const COLOURS = ["blue", "vermillion", "green", "purple", "orange", "sky", "ink"];
const SILENT = "The daemon does not answer. This page will try again.";
const shown = (id) => document.getElementById(id);

let token = sessionStorage.getItem("token") ?? "";
let destination = "";
let start = "";
let readings = [];

function say(text, isError = false) {
  shown("message").textContent = text;
  shown("message").classList.toggle("error", isError);
}

async function ask(method, path, body) {
  const answer = await fetch(path, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch(() => { throw new Error(SILENT); });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.hint ? `${content.error} (${content.hint})` : content.error);
  return content;
}

// ---- Switches ----

function levelOf(levels) {
  return levels.every((level) => level === levels[0]) ? levels[0] : null;
}

function setLevel(path, level) {
  attempt(async () => {
    const { refused } = await ask("PUT", `${path}/level`, { level });
    const names = Object.keys(refused);
    say(names.length ? `left out: ${names.join(", ")}` : "");
    await showState();
  });
}

function makeSwitch(name, title, path) {
  const set = document.createElement("fieldset");
  const legend = document.createElement("legend");
  legend.textContent = title;
  set.append(legend);
  for (const level of LEVELS) {
    const label = document.createElement("label");
    const button = document.createElement("input");
    Object.assign(button, { type: "radio", name, value: level });
    button.addEventListener("change", () => setLevel(path, level));
    label.append(button, ` ${level}`);
    set.append(label);
  }
  return set;
}

function addText(parent, kind, text) {
  const span = document.createElement("span");
  span.className = kind === "missing" ? "note missing" : "note meaning";
  span.textContent = text;
  parent.append(span);
}

function makeSubsystem(name, subsystem) {
  const path = `v1/subsystems/${name}`;
  const box = document.createElement("details");
  const head = document.createElement("summary");
  head.textContent = `${name}: ${subsystem.missing ?? subsystem.meaning}`;
  box.append(head);
  const points = document.createElement("div");
  points.className = "nested";
  for (const [point, one] of Object.entries(subsystem.points)) {
    const set = makeSwitch(`${name}.${point}`, point, `${path}/points/${point}`);
    addText(set, one.missing ? "missing" : "meaning", one.missing ?? one.meaning);
    set.disabled = Boolean(one.missing);
    points.append(set);
  }
  const whole = document.createElement("div");
  if (!subsystem.missing) whole.append(makeSwitch(name, `all of ${name}`, path));
  whole.append(box);
  box.append(points);
  return whole;
}

function makeSwitches(subsystems) {
  const all = makeSwitch("everything", "everything", "v1");
  const each = Object.entries(subsystems).map(([name, one]) => makeSubsystem(name, one));
  shown("switches").replaceChildren(all, ...each);
}

function check(name, level) {
  for (const button of document.getElementsByName(name)) button.checked = button.value === level;
}

function showLevels(subsystems) {
  const all = [];
  for (const [name, subsystem] of Object.entries(subsystems)) {
    const there = Object.entries(subsystem.points).filter(([, one]) => !one.missing);
    for (const [point, one] of there) check(`${name}.${point}`, one.level);
    const levels = there.map(([, one]) => one.level);
    if (levels.length) check(name, levelOf(levels));
    all.push(...levels);
  }
  check("everything", levelOf(all));
}

function showCards(cards) {
  shown("cards").replaceChildren(...cards.map(([name, value]) => {
    const card = make("div");
    card.append(make("dt", "", name), make("dd", "", value));
    return card;
  }));
}

async function showState() {
  const state = await ask("GET", "v1/state");
  if (state.start !== start) {
    start = state.start;
    readings = [];
    shown("node").textContent = state.node;
    document.title = `sesamed ${state.node}`;
    makeSwitches(state.subsystems);
    shown("interval").value = state.interval;
    shown("batch").value = state.batch;
    shown("destination").value = destination = state.destination;
    shown("destinations").replaceChildren(...state.destinations.map((name) => new Option(name)));
  }
  showLevels(state.subsystems);
  const { seen, lost } = state.events, way = state.delivery;
  showCards([
    ["events traced", seen.toLocaleString("en")],
    ["events lost", lost.toLocaleString("en")],
    ["reads delivered", way ? way.delivered.toLocaleString("en") : "no destination"],
    ["interval", `${state.interval} s`],
  ]);
  shown("delivery").textContent = way
    ? `${way.delivered} reads delivered, ${way.waiting} wait, ${way.dropped} dropped. ${way.trouble}`
    : "No destination is set: the last reads stay in the daemon's memory.";
  return state;
}

// ---- Plots ----

const QUANTITIES = {
  events: (sums, seconds) => sums.count / seconds,
  bytes: (sums, seconds) => sums.bytes / seconds,
  mean: (sums) => (sums.timed ? sums.duration / sums.timed / 1e3 : null),
  longest: (sums) => (sums.timed ? sums.longest / 1e3 : null),
};

function sumsByPoint(reading) {
  const points = new Map();
  for (const row of reading.summaries) {
    const name = `${row.subsystem}.${row.point}`;
    const sums = points.get(name) ?? { count: 0, bytes: 0, timed: 0, duration: 0, longest: 0 };
    sums.count += row.count;
    sums.bytes += row.bytes;
    sums.timed += row.timed;
    sums.duration += row.duration_ns;
    sums.longest = Math.max(sums.longest, row.max_duration_ns);
    points.set(name, sums);
  }
  return points;
}

// The value of a point: null if it was off, 0 if it was on without events.
function valueOf(quantity, reading, points, name, seconds) {
  const sums = points.get(name);
  if (sums) return QUANTITIES[quantity](sums, seconds);
  const isOn = (reading.costs[name.split(".")[0]]?.detail ?? 0) > 0;
  return isOn ? QUANTITIES[quantity]({ count: 0, bytes: 0, timed: 0 }, seconds) : null;
}

const axes = (title) => ({ height: 320, legend: true, x: { title: "seconds ago" }, y: { title, zero: true } });

function showPlots() {
  if (!readings.length) return;
  const last = readings.at(-1).end_ns;
  const ages = readings.map((reading) => (reading.end_ns - last) / 1e9);
  const seconds = readings.map((reading) => (reading.end_ns - reading.begin_ns) / 1e9);
  const sums = readings.map(sumsByPoint);
  const counts = new Map();
  for (const points of sums) for (const [name, one] of points) counts.set(name, (counts.get(name) ?? 0) + one.count);
  const names = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  const most = names.slice(0, MOST_LINES).sort();
  const quantity = shown("quantity").value;
  const line = (name, y, i) => ({ kind: "line", name, x: ages, y, colour: COLOURS[i], points: ages.length < 80 });
  const marks = most.map((name, i) => line(name, readings.map((reading, k) => valueOf(quantity, reading, sums[k], name, seconds[k])), i));
  drawChart(shown("rates"), { ...axes(shown("quantity").selectedOptions[0].textContent), marks });
  shown("left-out").textContent = names.length > most.length ? `The ${most.length} points with most events; the table has all.` : "";
  showLast(readings.at(-1), sums.at(-1), seconds.at(-1), names.sort());
  const share = (ns, i) => (100 * ns) / (1e9 * seconds[i]);
  const spent = readings.map((reading) => Object.values(reading.costs).reduce((a, b) => a + b.estimated_ns, 0));
  const both = [
    line("the daemon itself", readings.map((reading, i) => share(reading.cpu_ns, i)), 0),
    line("measuring, as estimated", spent.map(share), 1),
  ];
  drawChart(shown("cost"), { ...axes("% of one processor"), height: 260, marks: both });
}

function showLast(reading, points, seconds, names) {
  const head = make("tr"), table = shown("last");
  for (const title of ["point", "events/s", "bytes/s", "mean duration", "longest"]) {
    const cell = make("th", title === "point" ? "" : "n", title);
    cell.scope = "col";
    head.append(cell);
  }
  table.replaceChildren();
  table.createTHead().append(head);
  const body = table.createTBody(), micro = (v) => (v === null ? "not measured" : `${showNumber(v)} µs`);
  for (const name of names) {
    const one = points.get(name) ?? { count: 0, bytes: 0, timed: 0 }, row = body.insertRow();
    const of = (quantity) => valueOf(quantity, reading, points, name, seconds);
    row.insertCell().textContent = name;
    for (const text of [showNumber(of("events")), one.bytes ? showNumber(of("bytes")) : of("bytes") === null ? "not measured" : "none", micro(of("mean")), micro(of("longest"))]) {
      const cell = row.insertCell();
      cell.className = "n";
      cell.textContent = text;
    }
  }
}

async function fetchReadings() {
  const after = readings.length ? readings.at(-1).sequence : -1;
  const answer = await ask("GET", `v1/readings?after=${after}`);
  if (answer.start !== start) return;
  readings = [...readings, ...answer.readings].slice(-MOST_READINGS);
  if (answer.readings.length) showPlots();
}

// ---- Polling and input ----

async function attempt(action) {
  try {
    await action();
    return true;
  } catch (error) {
    say(error.message, true);
    return false;
  }
}

async function live() {
  let interval = 10;
  await attempt(async () => {
    const state = await showState();
    interval = state.interval;
    await fetchReadings();
    if (shown("message").textContent === SILENT) say("");
  });
  setTimeout(live, 1000 * Math.min(Math.max(interval, 1), 10));
}

async function enter() {
  const isIn = await attempt(showState);
  shown("login").hidden = isIn;
  for (const part of [shown("cards"), ...document.querySelectorAll(".logged-in")]) part.hidden = !isIn;
  if (!isIn) return;
  sessionStorage.setItem("token", token);
  say("");
  live();
}

shown("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = shown("token").value.trim();
  enter();
});
shown("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  const changes = {
    interval: Number(shown("interval").value),
    batch: Number(shown("batch").value),
  };
  const wanted = shown("destination").value;
  // Only an administrator may change it.
  if (wanted !== destination) changes.destination = wanted;
  attempt(async () => {
    ({ destination } = await ask("PUT", "v1/settings", changes));
    shown("destination").value = destination;
    say("settings changed");
  });
});
shown("reading").addEventListener("click", () => attempt(async () => {
  await ask("POST", "v1/read");
  await fetchReadings();
}));
shown("quantity").addEventListener("change", showPlots);
if (token) enter();
