// What a chart can draw, each kind with four functions:
//   extent(mark)            [[x least, x most], [y least, y most]] in the units of the axes
//   paint(view, mark)       draws it on the canvas; view.x and view.y map values to canvas pixels
//   find(view, mark, x, y)  what is at a canvas pixel: {distance in pixels, text}, or null
//   rows(mark)              [[name, x, y], …] for the table of values
// Each takes a million elements: lines keep the least and most of each pixel column, spans that fall
// into a painted pixel are skipped, and cells are one picture that the canvas scales.
"use strict";

const NEAR = 14; // CSS pixels from which a point or a line is found
const MOST_TABLE_ROWS = 1000;

function span(values, more = []) {
  let least = Infinity, most = -Infinity;
  for (const list of [values, ...more]) {
    if (!list) continue;
    for (let i = 0; i < list.length; i++) {
      const v = list[i];
      if (v === null) continue; // was not measured
      if (v < least) least = v;
      if (v > most) most = v;
    }
  }
  return [least, most];
}

function showNumber(v) {
  if (v === null || Number.isNaN(v)) return "not measured";
  if (Number.isInteger(v) && Math.abs(v) < 1e15) return v.toLocaleString("en");
  return Math.abs(v) >= 1e6 || Math.abs(v) < 1e-4 ? v.toExponential(3) : Number(v.toPrecision(5)).toLocaleString("en", { maximumSignificantDigits: 5 });
}

function showSeconds(v) {
  const [factor, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]].find(([least]) => Math.abs(v) >= least * 0.9995) ?? [1e-12, "ps"];
  return `${Number((v / factor).toPrecision(4))} ${unit}`;
}

function withUnit(axis, v) {
  const label = axis.names ? axis.names[Math.round(v)] : undefined;
  return label ?? (axis.seconds && v !== null ? showSeconds(v) : showNumber(v));
}

function nearestPoint(view, mark, px, py) {
  const limit = NEAR * view.ratio;
  let best = null, least = limit;
  const { x, y } = mark;
  for (let i = 0; i < x.length; i++) {
    const dx = Math.abs(view.x(x[i]) - px);
    if (dx >= least || y[i] === null) continue;
    const distance = Math.hypot(dx, view.y(y[i]) - py);
    if (distance < least) [best, least] = [i, distance];
  }
  if (best === null) return null;
  const at = `${view.axes.x.short}: ${withUnit(view.axes.x, x[best])}`;
  const value = `${view.axes.y.short}: ${withUnit(view.axes.y, y[best])}`;
  const range = mark.low && mark.low[best] < mark.high[best] ? ` (${showNumber(mark.low[best])} to ${showNumber(mark.high[best])})` : "";
  return { distance: least, text: [mark.name, mark.texts?.[best], at, value + range].filter(Boolean).join("\n") };
}

function pointRows(mark) {
  const rows = [];
  for (let i = 0; i < mark.x.length && rows.length < MOST_TABLE_ROWS; i++) rows.push([mark.name, mark.x[i], mark.y[i]]);
  return rows;
}

// A path through points in order of x; of points in one pixel column its first, least, most and last.
function tracePath(view, xs, ys, stepped) {
  const path = new Path2D();
  let column = NaN, low, high, last, pen = false;
  const flush = () => {
    if (Number.isNaN(column)) return;
    path.lineTo(column, low);
    path.lineTo(column, high);
    path.lineTo(column, last);
    column = NaN;
  };
  const dense = !stepped && xs.length > 4 * view.width;
  let before = 0;
  for (let i = 0; i < xs.length; i++) {
    if (ys[i] === null || Number.isNaN(ys[i])) { flush(); pen = false; continue; }
    const px = view.x(xs[i]), py = view.y(ys[i]);
    if (!pen) { path.moveTo(px, py); pen = true; before = py; continue; }
    if (!dense) {
      if (stepped) path.lineTo(px, before);
      path.lineTo(px, py);
      before = py;
      continue;
    }
    const pixel = Math.round(px);
    if (pixel !== column) {
      flush();
      [column, low, high] = [pixel, py, py];
    }
    if (py < low) low = py;
    if (py > high) high = py;
    last = py;
  }
  flush();
  return path;
}

function paintBand(view, mark) {
  const path = new Path2D();
  mark.x.forEach((x, i) => path[i ? "lineTo" : "moveTo"](view.x(x), view.y(mark.high[i])));
  for (let i = mark.x.length - 1; i >= 0; i--) path.lineTo(view.x(mark.x[i]), view.y(mark.low[i]));
  view.context.globalAlpha = 0.18;
  view.context.fill(path);
  view.context.globalAlpha = 1;
}

function paintErrors(view, mark) {
  const { context, ratio } = view;
  context.beginPath();
  mark.x.forEach((x, i) => {
    if (!(mark.low[i] < mark.high[i])) return;
    const px = view.x(x), low = view.y(mark.low[i]), high = view.y(mark.high[i]), cap = 4 * ratio;
    context.moveTo(px, low); context.lineTo(px, high);
    context.moveTo(px - cap, low); context.lineTo(px + cap, low);
    context.moveTo(px - cap, high); context.lineTo(px + cap, high);
  });
  context.stroke();
}

function paintDots(view, mark, size) {
  const { context } = view, { x, y } = mark, side = size * view.ratio;
  if (x.length > 2000) { // squares without a path; of those in one pixel the first
    const seen = new Set();
    for (let i = 0; i < x.length; i++) {
      if (y[i] === null) continue;
      const px = Math.round(view.x(x[i])), py = Math.round(view.y(y[i])), key = px * 65536 + py;
      if (seen.has(key)) continue;
      seen.add(key);
      context.fillRect(px - side / 2, py - side / 2, side, side);
    }
    return;
  }
  context.beginPath();
  for (let i = 0; i < x.length; i++) {
    if (y[i] === null) continue;
    const px = view.x(x[i]), py = view.y(y[i]);
    context.moveTo(px + side / 2, py);
    context.arc(px, py, side / 2, 0, 7);
  }
  context.fill();
}

const line = {
  extent: (m) => [span(m.x), span(m.y, [m.low, m.high])],
  paint(view, mark) {
    const { context, ratio } = view;
    context.strokeStyle = context.fillStyle = view.colour(mark.colour);
    context.lineWidth = (mark.width ?? 1.8) * ratio;
    context.lineJoin = "round";
    if (mark.low && !mark.errors) paintBand(view, mark);
    const path = tracePath(view, mark.x, mark.y, mark.stepped);
    context.setLineDash(mark.dashed ? [6 * ratio, 4 * ratio] : []);
    context.stroke(path);
    context.setLineDash([]);
    if (mark.filled && mark.x.length) {
      path.lineTo(view.x(mark.x.at(-1)), view.y(0));
      path.lineTo(view.x(mark.x[0]), view.y(0));
      context.globalAlpha = 0.25;
      context.fill(path);
      context.globalAlpha = 1;
    }
    if (mark.low && mark.errors) paintErrors(view, mark);
    if (mark.points) paintDots(view, mark, 6);
  },
  find: nearestPoint,
  rows: pointRows,
};

const points = {
  extent: (m) => [span(m.x), span(m.y)],
  paint(view, mark) {
    view.context.fillStyle = view.colour(mark.colour);
    view.context.globalAlpha = 0.8;
    paintDots(view, mark, mark.size ?? 5);
    view.context.globalAlpha = 1;
  },
  find: nearestPoint,
  rows: pointRows,
};

// Vertical bars; `base` is where each begins, else 0.
const columns = {
  extent(m) {
    const [least, most] = span(m.x);
    const tops = m.base ? m.y.map((y, i) => y + m.base[i]) : m.y;
    return [[least - m.width / 2, most + m.width / 2], span(tops, [m.base ?? [0], m.high])];
  },
  paint(view, mark) {
    const { context } = view;
    context.fillStyle = view.colour(mark.colour);
    const gap = Math.abs(view.x(mark.width) - view.x(0)) > 8 * view.ratio ? view.ratio : 0;
    mark.x.forEach((x, i) => {
      const base = mark.base ? mark.base[i] : 0;
      const left = view.x(x - mark.width / 2), right = view.x(x + mark.width / 2);
      const top = view.y(base + mark.y[i]), bottom = view.y(base);
      context.fillRect(left + gap / 2, top, Math.max(right - left - gap, 1), bottom - top);
    });
    if (mark.low) {
      context.strokeStyle = view.colour("ink");
      context.lineWidth = view.ratio;
      paintErrors(view, mark);
    }
  },
  find(view, mark, px, py) {
    for (let i = 0; i < mark.x.length; i++) {
      const base = mark.base ? mark.base[i] : 0;
      const left = view.x(mark.x[i] - mark.width / 2), right = view.x(mark.x[i] + mark.width / 2);
      const top = view.y(base + mark.y[i]), bottom = view.y(base);
      if (px < left || px > right || py < top - 3 * view.ratio || py > bottom) continue;
      const at = mark.texts?.[i] ?? `${view.axes.x.short}: ${withUnit(view.axes.x, mark.at ? mark.at[i] : mark.x[i])}`;
      return { distance: 0, text: [mark.name, at, `${view.axes.y.short}: ${showNumber(mark.y[i])}`].filter(Boolean).join("\n") };
    }
    return null;
  },
  rows: (m) => pointRows(m.at ? { ...m, x: m.at } : m),
};

// Horizontal bars: of a time line, or of names.
const spans = {
  extent(m) {
    const ends = span(m.begin.map((b, i) => b + m.length[i]), [m.begin]);
    return [ends, span(m.row)].map(([a, b], i) => (i ? [a - 0.5, b + 0.5] : [a, b]));
  },
  paint(view, mark) {
    const { context } = view;
    const { row, begin, length, colours } = mark;
    const thick = Math.max(Math.abs(view.y(0.8) - view.y(0)), 1);
    const painted = new Map();
    context.fillStyle = view.colour(mark.colour);
    for (let i = 0; i < row.length; i++) {
      const left = view.x(begin[i]), right = view.x(begin[i] + length[i]);
      if (right < view.left || left > view.left + view.width) continue;
      const y = view.y(row[i]);
      if (!colours && right <= (painted.get(y) ?? -Infinity)) continue;
      if (colours) context.fillStyle = view.colour(colours[i]);
      const width = Math.max(right - left, 1);
      painted.set(y, Math.floor(left + width));
      context.fillRect(left, y - thick / 2, width, thick);
    }
  },
  find(view, mark, px, py) {
    const half = Math.max(Math.abs(view.y(0.4) - view.y(0)), 2);
    for (let i = mark.row.length - 1; i >= 0; i--) {
      if (Math.abs(view.y(mark.row[i]) - py) > half) continue;
      const left = view.x(mark.begin[i]), right = view.x(mark.begin[i] + mark.length[i]);
      if (px < left - 2 || px > right + 2) continue;
      const row = `${view.axes.y.short}: ${withUnit(view.axes.y, mark.row[i])}`;
      const at = mark.fromZero ? [] : [`at ${showNumber(mark.begin[i])}, ${view.axes.x.short}`];
      const long = mark.fromZero ? [`${view.axes.x.short}: ${showNumber(mark.length[i])}`] : [];
      return { distance: 0, text: [mark.name, row, ...long, mark.texts?.[i], ...at].filter(Boolean).join("\n") };
    }
    return null;
  },
  rows(m) {
    const rows = [];
    for (let i = 0; i < m.row.length && i < MOST_TABLE_ROWS; i++)
      rows.push([[m.name, m.texts?.[i]].filter(Boolean).join(": "), m.fromZero ? m.length[i] : m.begin[i], m.row[i]]);
    return rows;
  },
};

// A grid: of classes (numbers that index `classes`, below 0 nothing) or of amounts (a ramp).
const RAMPS = {
  sea: [[240, 249, 232], [168, 221, 181], [67, 162, 202], [8, 88, 158], [5, 40, 90]],
  "sea-dark": [[32, 52, 66], [22, 84, 120], [44, 138, 170], [140, 208, 190], [236, 249, 224]],
};

function rampColour(ramp, share) {
  const at = Math.min(Math.max(share, 0), 1) * (ramp.length - 1), low = Math.min(Math.floor(at), ramp.length - 2);
  return ramp[low].map((c, i) => Math.round(c + (ramp[low + 1][i] - c) * (at - low)));
}

function cellPicture(view, mark) {
  const [rows, wide] = mark.shape;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [wide, rows];
  const context = canvas.getContext("2d"), image = context.createImageData(wide, rows);
  const data = new Uint32Array(image.data.buffer);
  const pack = ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r;
  const table = mark.classes
    ? mark.classes.map(([, colour]) => pack(view.rgb(colour)))
    : Array.from({ length: 256 }, (_, i) => pack(mark.colour ? rampColour([view.rgb("card"), view.rgb(mark.colour)], 0.3 + 0.7 * i / 255) : rampColour(RAMPS[view.dark ? "sea-dark" : "sea"], i / 255)));
  const scale = mark.classes ? 1 : 255 / (mark.most || 1);
  for (let i = 0; i < data.length; i++) {
    const v = mark.values[i];
    if (v >= 0) data[i] = table[Math.min(Math.floor(v * scale), table.length - 1)];
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// Where cell i of a grid begins; and the cell, with its fraction, that has a value.
const cellX = (m, i) => (m.logX ? m.x0 * m.dx ** i : m.x0 + m.dx * i);
const cellY = (m, i) => (m.logY ? m.y0 * m.dy ** i : m.y0 + m.dy * i);
const columnAt = (m, v) => (m.logX ? Math.log(v / m.x0) / Math.log(m.dx) : (v - m.x0) / m.dx);
const rowAt = (m, v) => (m.logY ? Math.log(v / m.y0) / Math.log(m.dy) : (v - m.y0) / m.dy);

const cells = {
  extent: (m) => [[m.x0, cellX(m, m.shape[1])], [m.y0, cellY(m, m.shape[0])]],
  paint(view, mark) {
    mark.pictures ??= {};
    const picture = (mark.pictures[view.dark] ??= cellPicture(view, mark));
    const left = view.x(mark.x0), right = view.x(cellX(mark, mark.shape[1]));
    const first = view.y(mark.y0), last = view.y(cellY(mark, mark.shape[0]));
    const { context } = view;
    context.save();
    // A picture that shrinks is averaged, so that no cell is lost; one that grows stays sharp.
    context.imageSmoothingEnabled = Math.abs(right - left) < mark.shape[1] || Math.abs(last - first) < mark.shape[0];
    context.translate(left, first);
    context.scale((right - left) / mark.shape[1], (last - first) / mark.shape[0]);
    context.drawImage(picture, 0, 0);
    context.restore();
  },
  find(view, mark, px, py) {
    const column = Math.floor(columnAt(mark, view.valueX(px))), row = Math.floor(rowAt(mark, view.valueY(py)));
    const [rows, wide] = mark.shape;
    if (!(row >= 0 && row < rows && column >= 0 && column < wide)) return null;
    const v = mark.values[row * wide + column];
    if (!(v >= 0)) return null;
    const at = (axis, begin, step) => axis.whole && step > 1 ? `${axis.short}s ${begin + 0.5} to ${begin + step - 0.5}` : `${axis.short}: ${withUnit(axis, axis.whole ? begin + step / 2 : begin)}`;
    const what = mark.classes ? mark.classes[v][0] : mark.counts ? `${showNumber(mark.counts[row * wide + column])} ${mark.unit}` : `${showNumber(v)} ${mark.unit ?? ""}`;
    return { distance: 1, text: [what, mark.texts?.[0] && `${showNumber(mark.second[row * wide + column])} ${mark.texts[0]}`, at(view.axes.y, cellY(mark, row), mark.dy), at(view.axes.x, cellX(mark, column), mark.dx)].filter(Boolean).join("\n") };
  },
  rows(m) { // of classes how many cells each row has of them; of amounts the largest
    const [rows, wide] = m.shape, found = [];
    if (m.classes) {
      for (let r = 0; r < rows && found.length < MOST_TABLE_ROWS; r++) {
        const counts = m.classes.map(() => 0);
        for (let c = 0; c < wide; c++) if (m.values[r * wide + c] >= 0) counts[m.values[r * wide + c]]++;
        const all = counts.reduce((a, b) => a + b, 0) || 1;
        counts.forEach((n, k) => { if (n) found.push([m.classes[k][0], `${(100 * n / all).toFixed(1)} % of the row's cells`, m.y0 + (r + 0.5) * m.dy]); });
      }
      return found;
    }
    const order = [...m.values.keys()].filter((i) => m.values[i] >= 0).sort((a, b) => m.values[b] - m.values[a]).slice(0, 100);
    return order.map((i) => [`${showNumber((m.counts ?? m.values)[i])} ${m.unit ?? ""}`, cellX(m, i % wide + 0.5), cellY(m, Math.floor(i / wide) + 0.5)]);
  },
};

// Straight lines from one point to another, with heads where `arrows`.
const links = {
  extent: (m) => [span(m.x1, [m.x2]), span(m.y1, [m.y2])],
  paint(view, mark) {
    const { context, ratio } = view, head = 6 * ratio;
    context.strokeStyle = context.fillStyle = view.colour(mark.colour);
    context.lineWidth = 0.9 * ratio;
    context.globalAlpha = mark.x1.length > 300 ? 0.5 : 0.75;
    context.beginPath();
    const heads = new Path2D();
    for (let i = 0; i < mark.x1.length; i++) {
      const x1 = view.x(mark.x1[i]), y1 = view.y(mark.y1[i]), x2 = view.x(mark.x2[i]), y2 = view.y(mark.y2[i]);
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
      if (!mark.arrows) continue;
      const angle = Math.atan2(y2 - y1, x2 - x1);
      heads.moveTo(x2, y2);
      for (const turn of [2.7, -2.7]) heads.lineTo(x2 + head * Math.cos(angle + turn), y2 + head * Math.sin(angle + turn));
    }
    context.stroke();
    context.fill(heads);
    context.globalAlpha = 1;
  },
  find(view, mark, px, py) {
    if (!mark.texts) return null;
    for (let i = 0; i < mark.x2.length; i++) {
      const distance = Math.hypot(view.x(mark.x2[i]) - px, view.y(mark.y2[i]) - py);
      if (distance < 6 * view.ratio) return { distance, text: mark.texts[i] };
    }
    return null;
  },
  rows: (m) => (m.texts ?? []).slice(0, MOST_TABLE_ROWS).map((text, i) => [text, m.x2[i], m.y2[i]]),
};

// Stretches of the x axis behind all else, with their names where they fit.
const regions = {
  extent: (m) => [span(m.begin, [m.end]), [Infinity, -Infinity]],
  paint(view, mark) {
    const { context, ratio } = view;
    mark.begin.forEach((begin, i) => {
      const left = view.x(begin), right = view.x(mark.end[i]);
      context.globalAlpha = 0.16;
      context.fillStyle = view.colour(mark.colours[i]);
      context.fillRect(left, view.top, right - left, view.height);
      context.globalAlpha = 1;
      if (right - left < 14 * ratio || mark.names.length > 14) return;
      context.save();
      context.fillStyle = view.colour("soft");
      [context.textAlign, context.textBaseline] = ["left", "middle"];
      context.font = `${11 * ratio}px system-ui, sans-serif`;
      context.translate(left + 10 * ratio, view.top + 6 * ratio);
      context.rotate(Math.PI / 2);
      context.fillText(mark.names[i], 0, 0);
      context.restore();
    });
  },
  find(view, mark, px) {
    const i = mark.begin.findIndex((begin, k) => px >= view.x(begin) && px <= view.x(mark.end[k]));
    return i < 0 ? null : { distance: NEAR * view.ratio, text: mark.names[i] };
  },
  rows: (m) => m.names.map((name, i) => [name, m.begin[i], m.end[i]]),
};

const MARKS = { line, points, columns, spans, cells, links, regions };
