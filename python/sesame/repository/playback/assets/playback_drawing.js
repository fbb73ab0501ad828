// Draws a play-back (playback_model.js) into an element: the machine with its nodes, and the time
// line of a field. Knows nothing of the page around it.
"use strict";

(() => {
  const { ABSENT, LARGEST } = sesamePlayback;
  const SHADES = 256, LARGEST_CELL = 72, LEAST_WITH_PARTS = 12, LEAST_WITH_NAME = 44;
  const NOWHERE = -1; // index of no value

  // Colours of the page's style, as numbers for pixels and as text for lines.
  class Palette {
    constructor(element) {
      this.style = getComputedStyle(element);
      this.pixels = new Map();
      const [low, high] = [this.rgb("--line"), this.rgb("--blue")];
      this.shades = new Uint32Array(SHADES);
      for (let i = 0; i < SHADES; i++) {
        const share = Math.sqrt(i / (SHADES - 1));
        this.shades[i] = pixel(low.map((part, k) => Math.round(part + share * (high[k] - part))));
      }
    }

    text(name) {
      return name.startsWith("#") ? name : this.style.getPropertyValue(`--${name}`).trim();
    }

    rgb(variable) {
      const text = this.style.getPropertyValue(variable).trim();
      return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
    }

    pixel(name) {
      if (!this.pixels.has(name)) this.pixels.set(name, pixel(this.rgb(`--${name}`)));
      return this.pixels.get(name);
    }
  }

  // Bytes of a pixel are red, green, blue, opacity; the machine is little-endian.
  function pixel([red, green, blue]) {
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }

  function layer(holder) {
    const canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true");
    holder.append(canvas);
    return canvas;
  }

  // Sizes of the parts of a node of `size` pixels: a strip for the phase above, bars at the right,
  // lights below; the rest shows the field.
  function partsOf(size) {
    const inner = size - Math.max(1, Math.round(size * 0.08));
    if (inner < LEAST_WITH_PARTS) return { inner, strip: 0, bar: 0, light: 0 };
    const thin = Math.max(2, Math.round(inner * 0.15));
    return { inner, strip: thin, bar: thin, light: thin };
  }

  class Drawing {
    // `model` and its `parts`, all loaded; `field` colours the nodes.
    constructor(holder, model, parts, field) {
      Object.assign(this, { holder, model, parts, field, most: field.most, whole: false, selected: null });
      [this.below, this.nodes, this.above] = [layer(holder), layer(holder), layer(holder)];
      this.hadArrows = false;
      this.resize();
    }

    // To be called when the size, the colours of the page or `whole` have changed.
    resize() {
      this.palette = new Palette(this.holder);
      this.ratio = window.devicePixelRatio || 1;
      this.frame = this.chooseFrame();
      const space = this.holder.clientWidth * this.ratio;
      const { x0, y0, width, height } = this.frame;
      const most = Math.min(space / width, (0.7 * screenHeight() * this.ratio) / height);
      this.size = Math.max(1, Math.min(Math.floor(most), LARGEST_CELL * this.ratio));
      this.geometry = partsOf(this.size);
      const pixels = [Math.ceil(width * this.size) + 2, Math.ceil(height * this.size) + 2];
      for (const canvas of [this.below, this.nodes, this.above]) {
        [canvas.width, canvas.height] = pixels;
        canvas.style.width = `${pixels[0] / this.ratio}px`;
        canvas.style.height = `${pixels[1] / this.ratio}px`;
      }
      this.holder.style.height = `${pixels[1] / this.ratio}px`;
      this.context = this.nodes.getContext("2d");
      this.image = this.context.createImageData(...pixels);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.corners = this.model.index.diagram.at.map(([x, y]) => [
        Math.round((x - x0) * this.size) + 1, Math.round((y - y0) * this.size) + 1,
      ]);
      this.forget();
      this.drawBelow();
    }

    // All of the machine, or the part with the nodes of the run if that is much smaller.
    chooseFrame() {
      const { width, height, at } = this.model.index.diagram;
      const all = { x0: 0, y0: 0, width, height };
      const xs = at.map((one) => one[0]), ys = at.map((one) => one[1]);
      const [x0, y0] = [Math.min(...xs) - 0.7, Math.min(...ys) - 0.9];
      const near = { x0, y0, width: Math.max(...xs) + 1.7 - x0, height: Math.max(...ys) + 1.7 - y0 };
      this.isPart = near.width < 0.7 * width || near.height < 0.7 * height;
      return this.isPart && !this.whole ? near : all;
    }

    // `most`: the value that has the darkest shade, at least that of the field.
    setField(field, most) {
      this.field = field;
      this.most = most;
      this.forget();
    }

    // The next `draw` paints every node.
    forget() {
      this.looks = new Int32Array(2 * this.model.units).fill(-1);
      this.bin = undefined; // that is shown
    }

    // Boxes, lines, nodes that the run did not use, and names.
    drawBelow() {
      const { diagram, units } = this.model.index;
      const context = this.below.getContext("2d"), { size, palette } = this;
      const { x0, y0 } = this.frame;
      context.clearRect(0, 0, this.below.width, this.below.height);
      context.translate(1 - x0 * size, 1 - y0 * size);
      context.lineWidth = Math.max(1, this.ratio);
      context.font = `${11 * this.ratio}px system-ui, sans-serif`;
      for (const [x, y, width, height, title] of diagram.boxes) {
        context.strokeStyle = palette.text("line");
        context.strokeRect(x * size, y * size, width * size, height * size);
        context.fillStyle = palette.text("grid");
        context.fillRect(x * size, y * size, width * size, 0.7 * size);
        context.fillStyle = palette.text("soft");
        if (context.measureText(title).width < width * size - 6 && size > 14 * this.ratio) {
          context.fillText(title, x * size + 3 * this.ratio, (y + 0.5) * size);
        }
      }
      context.strokeStyle = palette.text("grey");
      context.beginPath();
      for (const [x1, y1, x2, y2] of diagram.lines) {
        context.moveTo(x1 * size, y1 * size);
        context.lineTo(x2 * size, y2 * size);
      }
      context.stroke();
      const { inner } = this.geometry;
      context.fillStyle = palette.text("card");
      context.strokeStyle = palette.text("line");
      for (const [x, y] of diagram.idle) {
        context.fillRect(x * size, y * size, inner, inner);
        if (inner > 4) context.strokeRect(x * size + 0.5, y * size + 0.5, inner - 1, inner - 1);
      }
      context.setTransform(1, 0, 0, 1, 0, 0);
      this.named = inner >= LEAST_WITH_NAME * this.ratio ? units : null;
    }

    // Shows a bin, or no values for null. Only nodes that look different than before are painted.
    draw(bin) {
      if (bin !== this.bin) {
        this.paintNodes(bin);
        this.bin = bin;
        this.drawAbove(bin);
      }
    }

    paintNodes(bin) {
      const { units } = this.model, { looks } = this;
      let [left, top, right, bottom] = [this.nodes.width, this.nodes.height, 0, 0];
      for (let unit = 0; unit < units; unit++) {
        const at = bin === null ? NOWHERE : bin * units + unit;
        const first = this.firstLook(at), second = this.secondLook(at);
        if (looks[2 * unit] === first && looks[2 * unit + 1] === second) continue;
        looks[2 * unit] = first;
        looks[2 * unit + 1] = second;
        const [x, y] = this.corners[unit];
        this.paintNode(x, y, first, second);
        left = Math.min(left, x);
        top = Math.min(top, y);
        right = Math.max(right, x + this.size);
        bottom = Math.max(bottom, y + this.size);
      }
      if (right > left) {
        this.context.putImageData(this.image, 0, 0, left, top, right - left, bottom - top);
      }
    }

    // What a node looks like in two numbers: shade or class of the field, phase, lights;
    firstLook(at) {
      const number = this.field.values[at] ?? ABSENT;
      const shade = number === ABSENT ? 511 : this.field.classes.length ? number
        : Math.floor((number * (this.field.most / (this.most || 1)) * (SHADES - 1)) / LARGEST + 0.5);
      const phase = this.parts.phase ? Math.min(this.parts.phase.values[at] ?? ABSENT, 255) : 255;
      let lights = 0;
      this.parts.lights.forEach((light, i) => {
        const value = light.values[at] ?? ABSENT;
        if (value === ABSENT) lights |= 2 << (2 * i);
        else if (value > 0) lights |= 1 << (2 * i);
      });
      return shade | (phase << 9) | (lights << 17);
    }

    // heights of the bars in pixels, up to three.
    secondLook(at) {
      const high = this.geometry.inner - this.geometry.strip - this.geometry.light;
      let look = 0, below = 0;
      this.parts.processor.forEach((field, i) => {
        const value = field.values[at] ?? ABSENT;
        if (value !== ABSENT) below = Math.min(below + (value / LARGEST) * field.most, 1);
        look |= (value === ABSENT ? 255 : Math.min(Math.round(below * high), 254)) << (8 * i);
      });
      const memory = this.parts.memory;
      if (memory) {
        const value = memory.values[at] ?? ABSENT;
        look |= (value === ABSENT ? 127 : Math.min(Math.round((value / LARGEST) * high), 126)) << 16;
      }
      return look;
    }

    paintNode(x, y, first, second) {
      const { palette, parts } = this, { inner, strip, bar, light } = this.geometry;
      const shade = first & 511, { classes } = this.field;
      const colour = shade === 511 ? palette.pixel("card")
        : classes.length ? palette.pixel(classes[shade][1]) : palette.shades[shade];
      const bars = bar ? (parts.processor.length ? bar : 0) + (parts.memory ? bar : 0) : 0;
      this.fill(x, y, inner, inner, colour);
      if (!strip) return;
      const phase = (first >> 9) & 255, track = palette.pixel("grid");
      if (parts.phase && parts.phase !== this.field) {
        this.fill(x, y, inner, strip, phase === 255 ? track : palette.pixel(parts.phase.classes[phase][1]));
      }
      const high = inner - strip - light, end = y + strip + high;
      if (bars) this.fill(x + inner - bars - 1, y + strip, bars + 1, high, track);
      let from = 0;
      parts.processor.forEach((_, i) => {
        const height = (second >> (8 * i)) & 255;
        if (height === 255 || height <= from) return;
        this.fill(x + inner - bars, end - height, bar, height - from, palette.pixel(parts.colours[i]));
        from = height;
      });
      if (parts.memory && ((second >> 16) & 127) !== 127) {
        const height = (second >> 16) & 127;
        this.fill(x + inner - bar, end - height, bar, height, palette.pixel("purple"));
      }
      this.paintLights(x, end, inner, light, first >> 17);
    }

    paintLights(x, y, inner, light, states) {
      const { lights } = this.model.index, track = this.palette.pixel("grid");
      this.fill(x, y, inner, light, track);
      const step = Math.floor(inner / Math.max(lights.length, 1));
      lights.forEach((one, i) => {
        if (((states >> (2 * i)) & 3) !== 1) return;
        this.fill(x + i * step + 1, y + 1, step - 1, Math.max(light - 1, 1), this.palette.pixel(one.colour));
      });
    }

    fill(x, y, width, height, colour) {
      const { pixels } = this, row = this.image.width;
      for (let line = y; line < y + height; line++) {
        pixels.fill(colour, line * row + x, line * row + x + width);
      }
    }

    // Arrows for messages, names, and the border of the selected node.
    drawAbove(bin) {
      const { arrows } = this.model;
      const known = arrows && bin !== null;
      const begin = known ? arrows.first[bin] : 0, end = known ? arrows.first[bin + 1] : 0;
      if (begin === end && !this.hadArrows && this.selected === null && !this.named) return;
      const context = this.above.getContext("2d");
      context.clearRect(0, 0, this.above.width, this.above.height);
      if (this.named) this.drawNames(context);
      this.hadArrows = end > begin;
      const path = new Path2D();
      for (let i = begin; i < end; i++) this.addArrow(path, arrows.source[i], arrows.to[i]);
      context.lineJoin = "round";
      for (const [colour, width] of [["card", 3.5], ["ink", 1.4]]) {
        context.strokeStyle = this.palette.text(colour);
        context.lineWidth = width * this.ratio;
        context.stroke(path);
      }
      if (this.selected !== null) {
        const [x, y] = this.corners[this.selected], { inner } = this.geometry;
        context.strokeStyle = this.palette.text("ink");
        context.lineWidth = 2 * this.ratio;
        context.strokeRect(x - 1, y - 1, inner + 2, inner + 2);
      }
    }

    drawNames(context) {
      context.font = `${11 * this.ratio}px system-ui, sans-serif`;
      context.lineWidth = 3 * this.ratio;
      context.strokeStyle = this.palette.text("card");
      context.fillStyle = this.palette.text("ink");
      const space = this.geometry.inner - 2 * this.geometry.bar - 4;
      this.named.forEach((name, unit) => {
        const [x, y] = this.corners[unit];
        const at = [x + 3 * this.ratio, y + this.geometry.strip + 13 * this.ratio, space];
        context.strokeText(name, ...at);
        context.fillText(name, ...at);
      });
    }

    // A line that bends a little, so that both directions can be seen, with a head.
    addArrow(path, source, to) {
      const half = this.geometry.inner / 2;
      const [x1, y1] = this.corners[source].map((one) => one + half);
      const [x2, y2] = this.corners[to].map((one) => one + half);
      const [dx, dy] = [x2 - x1, y2 - y1], length = Math.hypot(dx, dy) || 1;
      const bend = Math.min(0.15 * length, 2 * half);
      const [cx, cy] = [(x1 + x2) / 2 - (dy / length) * bend, (y1 + y2) / 2 + (dx / length) * bend];
      path.moveTo(x1, y1);
      path.quadraticCurveTo(cx, cy, x2, y2);
      const angle = Math.atan2(y2 - cy, x2 - cx), head = 6 * this.ratio;
      for (const turn of [2.7, -2.7]) {
        path.moveTo(x2, y2);
        path.lineTo(x2 + head * Math.cos(angle + turn), y2 + head * Math.sin(angle + turn));
      }
    }

    // The unit at a place of the element, in CSS pixels; null for none.
    unitAt(x, y) {
      const { inner } = this.geometry;
      const found = this.corners.findIndex(([left, top]) => {
        const [dx, dy] = [x * this.ratio - left, y * this.ratio - top];
        return dx >= 0 && dy >= 0 && dx <= inner && dy <= inner;
      });
      return found < 0 ? null : found;
    }

    select(unit) {
      this.selected = unit;
      this.bin = undefined;
    }
  }

  function screenHeight() {
    return Math.max(window.innerHeight, 400);
  }

  // The mean of a field over all units by bin, or the shares of its classes; drawn into a canvas.
  function drawTimeLine(canvas, field, bins) {
    const palette = new Palette(canvas), ratio = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio];
    const context = canvas.getContext("2d"), { width, height } = canvas;
    const kinds = Math.max(field.classes.length, 1);
    const shares = new Float64Array(bins * kinds), { units, values } = field;
    for (let bin = 0; bin < bins; bin++) {
      for (let unit = 0; unit < units; unit++) {
        const value = values[bin * units + unit];
        if (value === ABSENT) continue;
        if (field.classes.length) shares[bin * kinds + value] += 1 / units;
        else shares[bin] += value / units / LARGEST;
      }
    }
    const most = field.classes.length ? 1 : shares.reduce((a, b) => Math.max(a, b), 1e-9);
    for (let bin = 0; bin < bins; bin++) {
      const x = Math.floor((bin * width) / bins), next = Math.ceil(((bin + 1) * width) / bins);
      let y = height;
      for (let kind = 0; kind < kinds; kind++) {
        const high = (shares[bin * kinds + kind] / most) * height;
        context.fillStyle = palette.text(field.classes.length ? field.classes[kind][1] : "blue");
        context.fillRect(x, y - high, next - x, high);
        y -= high;
      }
    }
  }

  Object.assign(sesamePlayback, { Drawing, drawTimeLine });
})();
