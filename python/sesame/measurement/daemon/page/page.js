// The page of one daemon: everything goes through the same HTTP interface that programs use.

const LEVELS = ["off", "summary", "trace"];
const MOST_PULLS = 360;
const shown = (id) => document.getElementById(id);

let token = sessionStorage.getItem("token") ?? "";
let start = "";
let pulls = [];

function say(text, isError = false) {
  shown("message").textContent = text;
  shown("message").classList.toggle("error", isError);
}

async function ask(method, path, body) {
  const answer = await fetch(path, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
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
  span.className = kind;
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
  points.className = "points";
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

async function showState() {
  const state = await ask("GET", "v1/state");
  if (state.start !== start) {
    start = state.start;
    pulls = [];
    shown("node").textContent = state.node;
    document.title = `sesamed ${state.node}`;
    makeSwitches(state.subsystems);
    shown("interval").value = state.interval;
    shown("together").value = state.together;
    shown("destination").value = state.destination;
  }
  showLevels(state.subsystems);
  const { seen, lost } = state.events;
  shown("events").textContent = `Traced events: ${seen} seen, ${lost} lost.`;
  const way = state.delivery;
  shown("delivery").textContent = way
    ? `${way.delivered} pulls delivered, ${way.waiting} wait, ${way.dropped} dropped. ${way.trouble}`
    : "Pulls go nowhere.";
  return state;
}

// ---- Plots ----

const QUANTITIES = {
  events: (sums, seconds) => sums.count / seconds,
  bytes: (sums, seconds) => sums.bytes / seconds,
  mean: (sums) => (sums.timed ? sums.duration / sums.timed / 1e3 : null),
  longest: (sums) => (sums.timed ? sums.longest / 1e3 : null),
};

function sumsByPoint(pull) {
  const points = new Map();
  for (const row of pull.summaries) {
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

const layout = (title, kind) => ({
  margin: { l: 60, r: 10, t: 10, b: 40 },
  xaxis: { title: { text: "seconds ago" } },
  yaxis: { title: { text: title }, type: kind, rangemode: "tozero" },
  paper_bgcolor: "transparent",
  plot_bgcolor: "transparent",
});

function showPlots() {
  if (!pulls.length) return;
  const last = pulls.at(-1).end_ns;
  const ages = pulls.map((pull) => (pull.end_ns - last) / 1e9);
  const seconds = pulls.map((pull) => (pull.end_ns - pull.begin_ns) / 1e9);
  const sums = pulls.map(sumsByPoint);
  const names = [...new Set(sums.flatMap((points) => [...points.keys()]))].sort();
  const quantity = shown("quantity").value;
  const nothing = { count: 0, bytes: 0, timed: 0 };
  const value = (points, i, name) => QUANTITIES[quantity](points.get(name) ?? nothing, seconds[i]);
  const lines = names.map((name) => ({
    name,
    x: ages,
    y: sums.map((points, i) => value(points, i, name)),
    mode: "lines+markers",
  }));
  const title = shown("quantity").selectedOptions[0].textContent;
  Plotly.react("rates", lines, layout(title, "linear"), { responsive: true });
  const cost = pulls.map((pull, i) => (100 * pull.cpu_ns) / (1e9 * seconds[i]));
  const spent = pulls.map((pull) => Object.values(pull.costs).reduce((a, b) => a + b.estimated_ns, 0));
  const both = [
    { x: ages, y: cost, mode: "lines+markers", name: "the daemon itself" },
    {
      x: ages,
      y: spent.map((ns, i) => (100 * ns) / (1e9 * seconds[i])),
      mode: "lines+markers",
      name: "measuring, as estimated",
    },
  ];
  Plotly.react("cost", both, layout("% of one processor", "linear"), { responsive: true });
}

async function fetchPulls() {
  const after = pulls.length ? pulls.at(-1).sequence : -1;
  const answer = await ask("GET", `v1/pulls?after=${after}`);
  if (answer.start !== start) return;
  pulls = [...pulls, ...answer.pulls].slice(-MOST_PULLS);
  if (answer.pulls.length) showPlots();
}

// ---- Life ----

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
    await fetchPulls();
    if (shown("message").textContent.startsWith("Failed")) say("");
  });
  setTimeout(live, 1000 * Math.min(Math.max(interval, 1), 10));
}

async function enter() {
  const isIn = await attempt(showState);
  shown("login").hidden = isIn;
  shown("content").hidden = !isIn;
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
    together: Number(shown("together").value),
    destination: shown("destination").value,
  };
  attempt(async () => {
    await ask("PUT", "v1/settings", changes);
    say("set");
  });
});
shown("pull").addEventListener("click", () => attempt(async () => {
  await ask("POST", "v1/pull");
  await fetchPulls();
}));
shown("quantity").addEventListener("change", showPlots);
if (token) enter();
