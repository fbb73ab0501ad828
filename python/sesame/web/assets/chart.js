// Draws the charts of a page: uPlot has scales, axes, zoom and cursor; marks.js paints on its canvas.
//
// A chart is <figure class="chart"> with its description as JSON in a script element (chart.py writes
// it). drawChart(figure, description) draws another one there; what was hidden stays hidden.
// The figure has the event "range" when what is seen of it changes. A pointer or the keyboard zooms
// and says what is under it; "Values" shows the numbers as a table.
"use strict";

const ARRAYS = { i1: Int8Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
const darkness = matchMedia("(prefers-color-scheme: dark)");

function unpack(value) {
  if (Array.isArray(value)) return value.map(unpack);
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if ("base64" in value) {
    const text = atob(value.base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new ARRAYS[value.type](bytes.buffer);
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, unpack(one)]));
}

function make(tag, name, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
}

// ---- Colours ----

const paints = new Map();
function paintOf(name) { // a name of style.css, or a colour
  const key = `${darkness.matches} ${name}`;
  if (!paints.has(key)) paints.set(key, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || name);
  return paints.get(key);
}

function rgbOf(name) {
  const context = make("canvas").getContext("2d", { willReadFrequently: true });
  context.fillStyle = paintOf(name);
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
}

// ---- Scales and axes ----

function extentOf(description) {
  const both = [[Infinity, -Infinity], [Infinity, -Infinity]];
  for (const mark of description.marks)
    MARKS[mark.kind].extent(mark).forEach(([least, most], i) => {
      both[i][0] = Math.min(both[i][0], least);
      both[i][1] = Math.max(both[i][1], most);
    });
  return both;
}

function rangeOf(axis, [least, most], isY) {
  if (axis.range) return axis.range;
  if (axis.names && !axis.free) return [-0.6, axis.names.length - 0.4];
  if (!(least <= most)) return axis.log ? [1, 10] : [0, 1];
  if (axis.log) {
    const pad = Math.max((most / least) ** 0.06, 1.08);
    return [least / pad, most * pad];
  }
  if (axis.zero) [least, most] = [Math.min(least, 0), Math.max(most, 0)];
  if (axis.whole && least === most && !axis.zero && !axis.tight) return [least - 0.4, most + 0.4];
  if (least === most) [least, most] = least === 0 ? [0, 1] : [least - Math.abs(least) / 2, most + Math.abs(most) / 2];
  const part = (most - least) * (isY ? 0.06 : 0.02);
  const pad = axis.whole ? Math.min(part, 0.4) : part; // no tick at a whole number that there is not
  return axis.tight ? [least, most] : [axis.zero && least === 0 ? 0 : least - pad, axis.zero && most === 0 ? 0 : most + pad];
}

const PREFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]];
function tickText(values, axis) {
  const largest = Math.max(...values.map((v) => Math.abs(v ?? 0)));
  const steps = values.slice(1).map((v, i) => Math.abs(v - values[i])).filter((step) => step > 0);
  const one = (v, scale) => {
    if (v === null || v === undefined) return "";
    if (v === 0) return "0";
    if (axis.seconds) return showSeconds(v);
    const [from, prefix] = PREFIXES.find(([least]) => scale >= least) ?? [1, ""];
    const factor = prefix === "k" ? 1e3 : from;
    const step = axis.log ? Math.abs(v) : Math.min(...steps, largest || 1);
    if (step / factor < 1e-6) return v.toExponential(0);
    let digits = 0;
    while (digits < 8 && Math.abs(step / factor * 10 ** digits - Math.round(step / factor * 10 ** digits)) > 1e-6) digits++;
    return (v / factor).toFixed(digits) + prefix;
  };
  return values.map((v) => one(v, axis.log ? Math.abs(v ?? 0) : largest));
}

function sizeText(size) {
  const power = Math.min(Math.max(Math.floor(Math.log2(size) / 10), 0), 4);
  return `${Number((size / 1024 ** power).toPrecision(3))} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

// Powers of ten, with steps between where there are few; of sizes powers of two.
function logSplits(axis, { min, max }, most) {
  const base = axis.bytes ? 2 : 10, log = (v) => Math.log(v) / Math.log(base);
  const first = Math.floor(log(min)), last = Math.ceil(log(max)), count = log(max) - log(min);
  const steps = axis.bytes || count > 2.5 ? [1] : count > 1 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const stride = Math.max(Math.ceil(count / Math.max(most, 2)), 1), splits = [];
  for (let k = Math.ceil(first / stride) * stride - stride; k <= last; k += stride) for (const step of steps) splits.push(step * base ** k);
  return splits.filter((v) => v >= min && v <= max);
}

const FONT = 12;
const measure = make("canvas").getContext("2d");
function widthOf(text) {
  measure.font = `${FONT}px system-ui, sans-serif`;
  return measure.measureText(text).width;
}

function shortened(text, space) {
  if (widthOf(text) <= space) return text;
  let kept = text;
  while (kept && widthOf(`${kept}…`) > space) kept = kept.slice(0, -1);
  return `${kept}…`;
}

// Labels that would run into each other are left out.
function thinned(plot, labels, splits) {
  let end = -Infinity;
  return labels.map((label, i) => {
    if (!label) return "";
    const half = widthOf(label) / 2, at = plot.valToPos(splits[i], "x");
    if (at - half < end + 6) return "";
    end = at + half;
    return label;
  });
}

function axisFor(axis, isX, space) {
  const grid = axis.grid === false ? { show: false } : { stroke: () => paintOf("grid"), width: 1 };
  const made = { scale: isX ? "x" : "y", stroke: () => paintOf("ink"), font: `${FONT}px system-ui, sans-serif`, grid, ticks: { stroke: () => paintOf("grid"), size: 5, width: 1 }, gap: 4 };
  const named = axis.names ?? null;
  const most = Math.max(space * (isX ? 1 : 0.4), 40);
  if (axis.log && !axis.ticks) {
    Object.assign(made, { splits: (plot) => logSplits(axis, plot.scales[made.scale], isX ? space / 60 : 10), filter: (_, splits) => splits, values: (_, splits) => axis.bytes ? splits.map(sizeText) : tickText(splits, axis) });
  } else if (axis.ticks) {
    const label = new Map(axis.ticks);
    const inside = (plot) => axis.ticks.map(([at]) => at).filter((at) => at >= plot.scales[made.scale].min && at <= plot.scales[made.scale].max);
    Object.assign(made, { splits: inside, filter: (_, splits) => splits, values: (_, splits) => splits.map((v) => label.get(v)) });
  } else if (named) {
    const inside = (plot) => {
      const { min, max } = plot.scales[made.scale], step = isX ? 1 : Math.ceil((max - min) / Math.max(plot.height / 16, 2));
      return [...named.keys()].filter((i) => i >= min && i <= max && i % step === 0);
    };
    Object.assign(made, { splits: inside, values: (_, splits) => splits.map((i) => shortened(named[i], most)) });
  } else {
    if (axis.whole) made.incrs = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6];
    made.values = (_, splits) => tickText(splits, axis);
    if (isX) made.space = 60;
  }
  const values = made.values;
  if (isX) {
    const longest = named ? Math.max(...named.map(widthOf)) : 0;
    const isTilted = named && longest * named.length > space * 0.85;
    if (isTilted) {
      const shown = Math.min(longest, 110);
      Object.assign(made, { rotate: 50, size: shown * 0.77 + 26, values: (_, splits) => {
        const every = Math.ceil(splits.length * 1.3 * FONT / space); // so that lines of text do not overlap
        return splits.map((i, place) => place % every ? "" : shortened(named[i], shown));
      } });
    } else {
      made.size = 30;
      made.values = (plot, splits) => thinned(plot, values(plot, splits), splits);
    }
  } else made.size = (_, labels) => Math.ceil(Math.max(24, ...(labels ?? []).map((label) => widthOf(label ?? "") + 14)));
  return made;
}

// ---- Drawing ----

function affine(plot, scale, axis) { // a value as a canvas pixel
  const { min, max } = plot.scales[scale], at = (v) => plot.valToPos(v, scale, true);
  const bend = axis.log ? Math.log10 : (v) => v;
  const slope = (at(max) - at(min)) / (bend(max) - bend(min)), start = at(min) - slope * bend(min);
  return axis.log ? (v) => start + slope * Math.log10(v > 0 ? v : min / 1e3) : (v) => start + slope * v;
}

function viewOf(plot, description) {
  const { left, top, width, height } = plot.bbox;
  return {
    context: plot.ctx, axes: description, ratio: devicePixelRatio || 1, left, top, width, height, dark: darkness.matches,
    x: affine(plot, "x", description.x), y: affine(plot, "y", description.y), colour: paintOf, rgb: rgbOf,
    valueX: (px) => plot.posToVal(px, "x", true), valueY: (py) => plot.posToVal(py, "y", true),
  };
}

function isShown(chart, mark) {
  return !chart.hidden.has(mark.name ?? "");
}

// Makes what is painted so far paler.
function veil(view) {
  const { context } = view;
  context.globalAlpha = 0.55;
  context.fillStyle = view.colour("card");
  context.fillRect(view.left, view.top, view.width, view.height);
  context.globalAlpha = 1;
}

function paint(chart) {
  const { plot, description } = chart, view = viewOf(plot, description), { context } = view;
  context.save();
  context.beginPath();
  context.rect(view.left, view.top, view.width, view.height);
  context.clip();
  for (const mark of description.marks) {
    if (!isShown(chart, mark)) continue;
    if (mark.kind === "line" && description.dimBelowLines) veil(view);
    MARKS[mark.kind].paint(view, mark);
  }
  context.restore();
}

function scaleFor(axis, range) {
  const log = axis.log ? { distr: 3 } : {};
  return { time: false, auto: false, min: range[0], max: range[1], dir: axis.reversed ? -1 : 1, range: (_, least, most) => [least, most], ...log };
}

// Ranges that are larger on one axis, so that a unit of both axes is as many pixels long.
function withEqualUnits({ x, y }, { width, height }) {
  const unit = Math.max((x[1] - x[0]) / width, (y[1] - y[0]) / height);
  const around = ([least, most], pixels) => [(least + most - unit * pixels) / 2, (least + most + unit * pixels) / 2];
  return { x: around(x, width), y: around(y, height) };
}

function setRange(chart, x, y) {
  chart.plot.batch(() => {
    chart.plot.setScale("x", { min: x[0], max: x[1] });
    if (y) chart.plot.setScale("y", { min: y[0], max: y[1] });
  });
}

function optionsFor(chart, width) {
  const { description, whole } = chart;
  const height = description.square ? Math.min(description.height, Math.max(width, 240)) : description.height;
  return {
    width, height, padding: [10, 14, 0, 0], legend: { show: false },
    scales: { x: scaleFor(description.x, whole.x), y: scaleFor(description.y, whole.y) },
    series: [{}, { scale: "y", paths: () => null, points: { show: false } }],
    axes: [axisFor(description.x, true, width - 60), axisFor(description.y, false, width)],
    cursor: {
      points: { show: false }, x: description.crosshair !== false, y: false,
      drag: { x: true, y: description.zoomY === true, uni: 30, setScale: true },
      bind: { dblclick: () => () => setRange(chart, whole.x, whole.y) },
    },
    hooks: { draw: [() => paint(chart)], setScale: [() => chart.figure.dispatchEvent(new Event("range"))] },
  };
}

// ---- What is under the pointer ----

function foundAt(chart, clientX, clientY) {
  const { plot, description } = chart, box = plot.over.getBoundingClientRect(), view = viewOf(plot, description);
  const px = (clientX - box.left) * view.ratio + view.left, py = (clientY - box.top) * view.ratio + view.top;
  let best = null;
  for (const mark of description.marks.toReversed()) {
    const found = isShown(chart, mark) ? MARKS[mark.kind].find(view, mark, px, py) : null;
    if (found && (!best || found.distance < best.distance)) best = found;
  }
  return best;
}

function tell(chart, event) {
  const found = foundAt(chart, event.clientX, event.clientY), { tip, box } = chart;
  tip.hidden = !found;
  if (!found) return;
  tip.textContent = found.text;
  const whole = box.getBoundingClientRect();
  const left = Math.min(event.clientX - whole.left + 14, whole.width - tip.offsetWidth - 4);
  tip.style.left = `${Math.max(left, 4)}px`;
  tip.style.top = `${Math.max(event.clientY - whole.top - tip.offsetHeight - 12, 0)}px`;
}

function steer(chart, event) {
  const { plot, whole, description } = chart, { min, max } = plot.scales.x;
  const bend = description.x.log ? Math.log10 : (v) => v, back = description.x.log ? (v) => 10 ** v : (v) => v;
  const [low, high] = [bend(min), bend(max)], wide = high - low;
  const move = { ArrowLeft: [-0.2, -0.2], ArrowRight: [0.2, 0.2], "+": [0.25, -0.25], "-": [-0.5, 0.5] }[event.key];
  if (event.key === "0" || event.key === "Escape") setRange(chart, whole.x, whole.y);
  else if (move && !event.ctrlKey && !event.metaKey) {
    const [least, most] = whole.x.map(bend);
    let from = low + move[0] * wide, to = high + move[1] * wide;
    if (from < least) [from, to] = [least, Math.min(to + least - from, most)];
    if (to > most) [from, to] = [Math.max(from - (to - most), least), most];
    setRange(chart, [back(from), back(to)]);
  } else return;
  event.preventDefault();
}

// ---- Legend and table of values ----

function entriesOf(description) {
  const entries = new Map();
  for (const mark of description.marks) {
    if (mark.classes && mark.legend !== false) {
      const there = new Set(mark.values);
      mark.classes.forEach(([name, colour], i) => { if (there.has(i)) entries.set(name, { colour }); });
    } else if (mark.name) entries.set(mark.name, { colour: mark.colour, mark });
  }
  return entries;
}

function addLegend(chart) {
  const entries = [...entriesOf(chart.description)];
  const known = entries.map(([name, { colour }]) => `${name} ${colour}`).join("\n");
  if (chart.known === known) return;
  chart.known = known;
  chart.legend.replaceChildren(...(entries.length > 1 || chart.description.legend ? entries : []).map(([name, { colour, mark }]) => {
    const entry = make(mark ? "button" : "span", "entry"), swatch = make("i", mark?.dashed ? "dashed" : mark?.kind === "line" || mark?.kind === "links" ? "thin" : "");
    chart.swatches.push([swatch, colour]);
    entry.append(swatch, name);
    if (mark) {
      entry.type = "button";
      const show = () => entry.setAttribute("aria-pressed", String(!chart.hidden.has(name)));
      show();
      entry.addEventListener("click", () => {
        chart.hidden[chart.hidden.has(name) ? "delete" : "add"](name);
        show();
        chart.plot.redraw(false);
      });
    }
    return entry;
  }));
  colourSwatches(chart);
}

function colourSwatches(chart) {
  for (const [swatch, colour] of chart.swatches) swatch.style.setProperty("--colour", paintOf(colour));
}

function addRamp(chart) {
  const mark = chart.description.marks.find((one) => one.kind === "cells" && !one.classes && one.unit && !one.colour);
  if (!mark) return;
  const strip = make("canvas", "ramp"), labels = make("span", "", `0 to ${mark.mostText ?? `${showNumber(mark.most)} ${mark.unit}`}`);
  [strip.width, strip.height] = [128, 1];
  const context = strip.getContext("2d");
  for (let i = 0; i < 128; i++) {
    context.fillStyle = `rgb(${rampColour(RAMPS[darkness.matches ? "sea-dark" : "sea"], i / 127)})`;
    context.fillRect(i, 0, 1, 1);
  }
  chart.legend.replaceChildren(strip, labels);
}

function fillTable(chart) {
  const { description } = chart, table = make("table"), box = chart.values.querySelector(".scroll");
  const head = make("tr");
  for (const title of ["", description.x.title, description.y.title]) {
    const cell = make("th", "", title || "what");
    cell.scope = "col";
    head.append(cell);
  }
  table.createTHead().append(head);
  const body = table.createTBody();
  const all = description.marks.flatMap((mark) => MARKS[mark.kind].rows(mark));
  const text = (axis, v) => (typeof v === "string" ? v : withUnit(axis, v));
  for (const [name, x, y] of all.slice(0, MOST_TABLE_ROWS)) {
    const row = body.insertRow();
    for (const cell of [name ?? "", text(description.x, x), text(description.y, y)]) row.insertCell().textContent = cell;
  }
  if (all.length > MOST_TABLE_ROWS) table.createCaption().textContent = `The first ${MOST_TABLE_ROWS} of ${showNumber(all.length)} values.`;
  box.replaceChildren(table);
}

// ---- A figure ----

function build(figure) {
  const chart = { hidden: new Set(), swatches: [], known: null, plot: null, figure };
  chart.legend = make("div", "legend");
  chart.above = make("div", "axis-title");
  chart.box = make("div", "plot");
  chart.below = make("div", "axis-title below");
  chart.values = make("details", "values");
  chart.values.append(make("summary", "", "Values"), make("div", "scroll"));
  Object.assign(chart.values.querySelector(".scroll"), { tabIndex: 0, role: "region", ariaLabel: `Values of ${figure.dataset.label}` });
  chart.values.addEventListener("toggle", () => { if (chart.values.open) fillTable(chart); });
  chart.tip = make("div", "tip");
  chart.tip.hidden = true;
  Object.assign(chart.box, { tabIndex: 0, role: "img", ariaLabel: `${figure.dataset.label}. Keys: plus and minus zoom, arrows move, 0 shows all. The numbers are under Values.` });
  chart.box.addEventListener("keydown", (event) => steer(chart, event));
  chart.box.addEventListener("pointermove", (event) => tell(chart, event));
  chart.box.addEventListener("pointerleave", () => { chart.tip.hidden = true; });
  figure.append(chart.legend, chart.above, chart.box, chart.below, chart.values);
  new ResizeObserver(() => { if (chart.plot && Math.abs(chart.plot.width - chart.box.clientWidth) > 1) place(chart); }).observe(chart.box);
  figure.chart = chart;
  return chart;
}

function place(chart) {
  const { description } = chart, width = Math.min(chart.box.clientWidth, description.width ?? Infinity);
  if (width < 50) return; // it is in a closed <details>, and is drawn when that opens
  const range = chart.plot ? { x: [chart.plot.scales.x.min, chart.plot.scales.x.max], y: [chart.plot.scales.y.min, chart.plot.scales.y.max] } : null;
  const was = chart.drawn === description ? range : null;
  const isZoomed = was && JSON.stringify(was) !== JSON.stringify(chart.whole);
  chart.plot?.destroy();
  chart.whole = chart.range;
  const data = [[...chart.whole.x], [...chart.whole.y]];
  chart.plot = new uPlot(optionsFor(chart, width), data, chart.box);
  chart.box.append(chart.tip);
  chart.drawn = description;
  if (description.equalUnits) chart.whole = withEqualUnits(chart.range, chart.plot.bbox);
  const { x, y } = isZoomed ? was : chart.whole;
  setRange(chart, x, y);
}

// A logarithmic axis has no place for 0: such points are left out, values become gaps.
function withoutZeros(mark, { x, y }) {
  if (!(x.log || y.log) || !mark.x || !mark.y) return mark;
  const kept = [...mark.x.keys()].filter((i) => !x.log || mark.x[i] > 0);
  const some = (list, log) => list && kept.map((i) => (log && !(list[i] > 0) ? null : list[i]));
  const least = Math.min(...kept.map((i) => mark.y[i]).filter((v) => v > 0));
  const bounds = mark.low ? { low: kept.map((i) => (y.log ? Math.max(mark.low[i], least / 10) : mark.low[i])), high: some(mark.high, false) } : {};
  return { ...mark, x: some(mark.x, false), y: some(mark.y, y.log), ...bounds, ...(mark.texts ? { texts: some(mark.texts, false) } : {}) };
}

function drawChart(figure, given) {
  const chart = figure.chart ?? build(figure), description = unpack(given);
  description.marks = description.marks.map((mark) => withoutZeros(mark, description));
  for (const axis of [description.x, description.y]) axis.short = axis.title || "value";
  const [x, y] = extentOf(description);
  chart.description = description;
  chart.whole = chart.range = { x: rangeOf(description.x, x, false), y: rangeOf(description.y, y, true) };
  for (const mark of description.marks) if (mark.hidden && !chart.plot) chart.hidden.add(mark.name);
  chart.above.textContent = description.y.title;
  chart.below.textContent = description.x.title;
  addLegend(chart);
  addRamp(chart);
  place(chart);
  if (description.x.shown || description.y.shown) setRange(chart, description.x.shown ?? chart.whole.x, description.y.shown);
  if (chart.values.open) fillTable(chart);
}

darkness.addEventListener("change", () => {
  for (const figure of document.querySelectorAll("figure.chart")) {
    if (!figure.chart) continue;
    colourSwatches(figure.chart);
    addRamp(figure.chart);
    figure.chart.plot?.redraw(false);
  }
});

// Charts are drawn when they come near the window: a page of thirty opens as fast as one of three.
const coming = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) {
    coming.unobserve(target);
    drawChart(target, JSON.parse(target.querySelector("script").textContent));
  }
}, { rootMargin: "600px" });
for (const figure of document.querySelectorAll("figure.chart")) if (figure.querySelector("script")) coming.observe(figure);
addEventListener("beforeprint", () => {
  for (const figure of document.querySelectorAll("figure.chart")) if (!figure.chart) drawChart(figure, JSON.parse(figure.querySelector("script").textContent));
});
