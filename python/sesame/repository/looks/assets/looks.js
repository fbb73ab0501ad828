// The page of quick looks: draws what view.json says, and puts what is zoomed into the address, which
// is the state. Charts are those of chart.js; small pictures have a canvas each.
"use strict";

(() => {
  const WAIT = 350; // ms after the last change of a range until it is loaded
  const NAMES = { rate: { x: ["from", "to"] }, level: { x: ["from", "to"] }, pair: { x: ["xmin", "xmax"], y: ["ymin", "ymax"] }, record: { x: ["xmin", "xmax"], y: ["ymin", "ymax"] } };
  const KEPT = ["v", "look", "type", "from", "to"];
  const at = (name) => document.querySelector(`[data-part="${name}"]`);
  const root = at("look");
  let state = new URLSearchParams(location.search);
  let number = 0; // of the last request

  // ---- The address ----

  function query() {
    const kept = new URLSearchParams(state);
    kept.delete("v");
    return kept.toString();
  }

  function changed(setting) {
    const found = new URLSearchParams(state);
    for (const [name, value] of new URLSearchParams(setting)) {
      if (value) found.set(name, value);
      else found.delete(name);
    }
    return `${location.pathname}?${found}`;
  }

  function remember() {
    const address = `${location.pathname}?${state}`;
    if (address !== `${location.pathname}${location.search}`) history.pushState(null, "", address);
    follow();
  }

  // Links, downloads and the form say what is shown now.
  function follow() {
    for (const link of document.querySelectorAll("a[data-set]")) link.href = changed(link.dataset.set);
    for (const link of document.querySelectorAll("a[data-download]")) link.href = `${link.dataset.download}?${query()}`;
    for (const link of document.querySelectorAll("a[data-discuss]")) {
      link.href = `${link.dataset.discuss}?about=${encodeURIComponent(`${location.pathname}?${state}`)}`;
    }
    for (const name of ["from", "to", "xmin", "xmax", "ymin", "ymax"]) {
      const input = at("form").elements[name];
      if (input) input.value = state.get(name) ?? "";
    }
  }

  // ---- Zoom ----

  const isNear = (a, b, span) => Math.abs(a - b) < span * 1e-6;

  // The parameters of what is seen of an axis: none where it is the end of all.
  function take(names, seen, whole) {
    if (!names) return;
    const span = whole[1] - whole[0];
    names.forEach((name, i) => {
      if (isNear(seen[i], whole[i], span)) state.delete(name);
      else state.set(name, String(Number(seen[i].toPrecision(9))));
    });
  }

  function zoomed(figure) {
    clearTimeout(figure.timer);
    figure.timer = setTimeout(() => {
      const { plot, whole } = figure.chart, names = NAMES[state.get("look") ?? "rate"];
      const { x, y } = plot.scales, before = state.toString();
      if (isSame(x, figure.seen.x) && isSame(y, figure.seen.y)) return;
      if (!isSame(x, figure.seen.x)) take(names.x, [x.min, x.max], whole.x);
      if (!isSame(y, figure.seen.y)) take(names.y, [y.min, y.max], whole.y);
      if (state.toString() === before) return;
      remember();
      load().catch(fail);
    }, WAIT);
  }

  function isSame(scale, [low, high]) {
    return isNear(scale.min, low, high - low) && isNear(scale.max, high, high - low);
  }

  function drawn(figure, chart) {
    drawChart(figure, chart);
    const { whole } = figure.chart;
    figure.seen = { x: chart.x.shown ?? whole.x, y: chart.y.shown ?? whole.y };
  }

  // ---- Drawing ----

  function figuresFor(charts) {
    const box = at("charts");
    while (box.children.length > charts.length) box.lastChild.remove();
    charts.forEach(({ label }, i) => {
      if (box.children[i]) return;
      const figure = document.createElement("figure");
      figure.className = "chart";
      figure.dataset.label = label;
      figure.addEventListener("range", () => zoomed(figure));
      box.append(figure);
    });
    return [...box.children];
  }

  function drawSmall(canvas, values, most) {
    const ratio = devicePixelRatio || 1, wide = canvas.clientWidth, high = canvas.clientHeight;
    canvas.width = wide * ratio;
    canvas.height = high * ratio;
    const context = canvas.getContext("2d"), step = canvas.width / values.length;
    const isLog = state.get("yscale") === "log", bend = (v) => (isLog ? Math.log1p(v) : v);
    const scale = (canvas.height - 2 * ratio) / (bend(most) || 1);
    context.fillStyle = paintOf("blue");
    values.forEach((value, i) => {
      if (!(value > 0)) return;
      const height = Math.max(bend(value) * scale, ratio);
      context.fillRect(i * step, canvas.height - height, Math.max(step, ratio), height);
    });
    context.fillStyle = paintOf("line");
    context.fillRect(0, canvas.height - ratio, canvas.width, ratio);
  }

  let small = null;
  const coming = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting && small) {
      coming.unobserve(target);
      const i = Number(target.dataset.number);
      drawSmall(target, small.values.subarray(i * small.bins, (i + 1) * small.bins), small.most);
    }
  }, { rootMargin: "400px" });

  function listSmall(found) {
    small = found && { ...found, values: unpack(found.values) };
    at("small").hidden = !small;
    coming.disconnect();
    at("nodes").replaceChildren(...(small ? small.keys.map((key, i) => smallPicture(key, i)) : []));
    for (const canvas of at("nodes").querySelectorAll("canvas")) coming.observe(canvas);
  }

  function smallPicture(key, i) {
    const item = document.createElement("li"), link = document.createElement("a");
    const canvas = document.createElement("canvas"), name = document.createElement("b"), said = document.createElement("small");
    canvas.dataset.number = String(i);
    name.textContent = small.names[i];
    said.textContent = small.said[i];
    link.dataset.set = `node=${encodeURIComponent(key)}&first=`;
    link.href = changed(link.dataset.set);
    link.append(canvas, name, said);
    item.append(link);
    return item;
  }

  // ---- Loading ----

  async function load() {
    const mine = ++number;
    at("message").textContent = "Loading …";
    at("message").className = "";
    const answer = await fetch(`${root.dataset.view}?${query()}`, { headers: { accept: "application/json" } });
    if (mine !== number) return;
    if (!answer.ok) throw new Error(await reasonOf(answer));
    const shown = await answer.json();
    if (mine !== number) return;
    at("title").textContent = shown.title;
    at("about").textContent = shown.about;
    figuresFor(shown.charts).forEach((figure, i) => {
      figure.dataset.label = shown.charts[i].label;
      drawn(figure, shown.charts[i].chart);
    });
    listSmall(shown.small);
    at("message").textContent = "";
    root.dataset.ready = state.toString();
  }

  // The words of an error page.
  async function reasonOf(answer) {
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    return found.querySelector("h1")?.textContent || `The server answered ${answer.status}.`;
  }

  function fail(error) {
    at("message").textContent = error.message;
    at("message").className = "error";
  }

  // Fields, nodes and values are those of a record type: another one is shown as at first.
  at("form").addEventListener("formdata", ({ formData }) => {
    if (formData.get("type") === state.get("type")) return;
    for (const name of [...formData.keys()]) if (!KEPT.includes(name)) formData.delete(name);
  });
  addEventListener("popstate", () => {
    state = new URLSearchParams(location.search);
    follow();
    load().catch(fail);
  });
  darkness.addEventListener("change", () => { if (small) for (const canvas of at("nodes").querySelectorAll("canvas")) coming.observe(canvas); });
  follow();
  load().catch(fail);
})();
