// The page of a play-back: one run or two, controls, the time line. The address in the browser's
// line is the state: t (seconds), speed (seconds of the run a second), field, whole, node, with, scaled.
"use strict";

(() => {
  const { Model, Drawing, drawTimeLine, fromServer, amount, seconds } = sesamePlayback;
  const LASTS = [10, 20, 60, 300]; // seconds for the whole run
  const SHOWN_EVERY = 200; // ms between texts and addresses while it plays
  const root = document.getElementById("playback");
  const at = (name) => root.querySelector(`[data-part="${name}"]`);
  const state = new URLSearchParams(location.search);

  class Player {
    constructor(runs) {
      this.runs = runs; // {model, parts, drawing}
      this.longest = Math.max(...runs.map((run) => run.model.seconds));
      this.scaled = state.get("scaled") === "1";
      this.time = Math.min(Math.max(Number(state.get("t")) || 0, 0), this.longest);
      this.speed = Number(state.get("speed")) > 0 ? Number(state.get("speed")) : this.longest / 20;
      this.plays = false;
      this.saidAt = 0;
    }

    // The time in a run: the same in all, or the same share of each.
    timeIn(run) {
      return this.scaled ? (this.time / this.longest) * run.model.seconds : this.time;
    }

    draw() {
      for (const run of this.runs) run.drawing.draw(run.model.binAt(this.timeIn(run)));
    }

    play() {
      if (this.time >= this.longest) this.time = 0;
      this.plays = true;
      this.drawnAt = null;
      say(this);
      requestAnimationFrame((now) => this.step(now));
    }

    pause() {
      this.plays = false;
      this.draw();
      say(this);
    }

    step(now) {
      if (!this.plays) return;
      if (this.drawnAt !== null) this.time += ((now - this.drawnAt) / 1000) * this.speed;
      this.drawnAt = now;
      if (this.time >= this.longest) {
        this.time = this.longest;
        return this.pause();
      }
      this.draw();
      if (now - this.saidAt > SHOWN_EVERY) {
        this.saidAt = now;
        say(this);
      }
      requestAnimationFrame((later) => this.step(later));
    }

    seek(time) {
      this.time = Math.min(Math.max(time, 0), this.longest);
      this.draw();
      if (!this.plays) say(this);
    }
  }

  // Texts that change with time, and the address.
  function say(player) {
    at("play").textContent = player.plays ? "Pause" : "Play";
    at("time").textContent = `${seconds(player.time)} of ${seconds(player.longest)}`;
    const slider = at("slider");
    slider.value = String(Math.round((player.time / player.longest) * Number(slider.max)));
    slider.setAttribute("aria-valuetext", seconds(player.time));
    player.runs.forEach((run, i) => sayNode(player, run, i));
    remember("t", player.time > 0 ? String(Number(player.time.toPrecision(6))) : null);
  }

  function remember(key, value) {
    if (value === null) state.delete(key);
    else state.set(key, value);
    const text = state.toString();
    if (location.search !== (text && `?${text}`)) {
      history.replaceState(null, "", text ? `?${text}` : location.pathname);
    }
  }

  // The values of the selected node of a run.
  function sayNode(player, run, number) {
    const list = at(`values-${number}`), unit = run.drawing.selected;
    const said = at(`said-${number}`);
    const bin = run.model.binAt(player.timeIn(run)), { arrows, index } = run.model;
    const sent = arrows && bin !== null ? arrows.count.slice(arrows.first[bin], arrows.first[bin + 1]) : [];
    const messages = sent.reduce((sum, one) => sum + one, 0);
    said.textContent = arrows || index.arrows.full_bins
      ? `messages shown by arrows at this time: ${messages}` : "";
    list.hidden = unit === null;
    if (unit === null) return;
    const known = [...new Set([run.drawing.field, ...run.all])];
    list.replaceChildren(...known.flatMap((field) => {
      const title = document.createElement("dt"), value = document.createElement("dd");
      title.textContent = field.title;
      value.textContent = field.text(bin, unit);
      return [title, value];
    }));
  }

  function option(value, text) {
    const made = document.createElement("option");
    made.value = value;
    made.textContent = text;
    return made;
  }

  function group(label, fields) {
    const made = document.createElement("optgroup");
    made.label = label;
    made.append(...fields.map((one) => option(one.key, one.title)));
    return made;
  }

  function entry(colour, text) {
    const made = document.createElement("span"), swatch = document.createElement("i");
    made.className = "entry";
    swatch.style.setProperty("--colour", `var(--${colour})`);
    made.append(swatch, text);
    return made;
  }

  // What colours, bars and lights mean; of the first run, whose field it is.
  function drawLegend(run) {
    const { field } = run.drawing, { index } = run.model, shown = [];
    if (field.classes.length) {
      shown.push(...field.classes.map(([name, colour]) => entry(colour, name)));
    } else {
      const ramp = document.createElement("span");
      ramp.className = "entry";
      const bar = document.createElement("i");
      bar.className = "play-ramp";
      ramp.append("0", bar, amount(run.drawing.most, field.unit));
      shown.push(ramp);
    }
    at("legend").replaceChildren(...shown);
    const title = (key) => index.fields.find((one) => one.key === key).title;
    const parts = index.processor.map(([key, colour]) => entry(colour, `bar: ${title(key)}`));
    if (index.memory) parts.push(entry("purple", `bar: ${title(index.memory)}`));
    for (const light of index.lights) {
      parts.push(entry(light.colour, `light: ${light.title} at ${light.level} level`));
    }
    if (index.phase && index.phase !== field.key) {
      const phase = index.fields.find((one) => one.key === index.phase);
      parts.push(...phase.classes.map(([name, colour]) => entry(colour, `strip: ${name}`)));
    }
    at("parts").replaceChildren(...parts);
  }

  // One scale for both runs, so that a shade means the same on each side.
  function setFields(runs, fields) {
    const most = Math.max(...fields.map((field) => field.most));
    runs.forEach((run, i) => {
      const isSame = fields.every((field) => field.unit === fields[i].unit);
      run.drawing.setField(fields[i], isSame ? most : fields[i].most);
    });
  }

  async function showField(player, key) {
    const fields = await Promise.all(player.runs.map(({ model }) => (
      model.field(model.has(key) ? key : model.index.fields[0].key)
    )));
    setFields(player.runs, fields);
    drawLegend(player.runs[0]);
    drawTimeLine(at("line"), player.runs[0].drawing.field, player.runs[0].model.bins);
    player.draw();
    say(player);
  }

  async function opened(described, number) {
    const model = await Model.load(fromServer(described.address));
    const parts = await model.parts();
    const wanted = state.get("field");
    const first = model.index.phase || model.index.fields[0].key;
    const field = await model.field(wanted && model.has(wanted) ? wanted : first);
    const drawing = new Drawing(at(`machine-${number}`), model, parts, field);
    at(`about-${number}`).textContent = model.index.diagram.about;
    const all = [...parts.processor, parts.memory, parts.phase, ...parts.lights].filter(Boolean);
    return { model, parts, drawing, all };
  }

  function listSpeeds(player) {
    const speeds = LASTS.map((lasts) => [player.longest / lasts, `the run in ${lasts} s`]);
    speeds.push([1, "as fast as it was"]);
    if (!speeds.some(([speed]) => Math.abs(speed / player.speed - 1) < 1e-6)) {
      speeds.push([player.speed, `1 s shows ${seconds(player.speed)}`]);
    }
    at("speed").replaceChildren(...speeds.map(([speed, text]) => option(String(speed), text)));
    const chosen = speeds.findIndex(([speed]) => Math.abs(speed / player.speed - 1) < 1e-6);
    at("speed").selectedIndex = chosen;
  }

  function listFields(player) {
    const { fields, more } = player.runs[0].model.index;
    at("field").replaceChildren(group("what the nodes did", fields));
    if (more.length) at("field").append(group("fields of records", more));
    at("field").value = player.runs[0].drawing.field.key;
  }

  function listNodes(run, number, player) {
    const chooser = at(`node-${number}`);
    chooser.replaceChildren(option("", "none"), ...run.model.index.units.map((name, i) => option(String(i), name)));
    const choose = (unit) => {
      run.drawing.select(unit);
      chooser.value = unit === null ? "" : String(unit);
      if (number === 0) remember("node", unit === null ? null : String(unit));
      player.draw();
      say(player);
    };
    chooser.addEventListener("change", () => choose(chooser.value === "" ? null : Number(chooser.value)));
    at(`machine-${number}`).addEventListener("click", (event) => {
      const box = at(`machine-${number}`).getBoundingClientRect();
      choose(run.drawing.unitAt(event.clientX - box.left, event.clientY - box.top));
    });
    const wanted = Number(state.get("node"));
    if (number === 0 && state.has("node") && wanted >= 0 && wanted < run.model.units) choose(wanted);
  }

  function listen(player) {
    at("play").addEventListener("click", () => (player.plays ? player.pause() : player.play()));
    at("slider").addEventListener("input", (event) => {
      player.seek((Number(event.target.value) / Number(event.target.max)) * player.longest);
    });
    at("speed").addEventListener("change", (event) => {
      player.speed = Number(event.target.value);
      remember("speed", String(Number(player.speed.toPrecision(6))));
    });
    at("field").addEventListener("change", (event) => {
      remember("field", event.target.value);
      showField(player, event.target.value).catch(fail);
    });
    at("whole").addEventListener("change", (event) => {
      remember("whole", event.target.checked ? "1" : null);
      redraw(player);
    });
    at("scaled").addEventListener("change", (event) => {
      player.scaled = event.target.checked;
      remember("scaled", player.scaled ? "1" : null);
      player.draw();
      say(player);
    });
    let due = 0;
    const later = () => {
      cancelAnimationFrame(due);
      due = requestAnimationFrame(() => redraw(player));
    };
    new ResizeObserver(later).observe(at("runs"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
    // A line of the timeline is a click away as well.
    at("line").addEventListener("pointerdown", (event) => drag(player, event));
    at("line").addEventListener("pointermove", (event) => event.buttons && drag(player, event));
  }

  function drag(player, event) {
    const box = at("line").getBoundingClientRect();
    event.target.setPointerCapture(event.pointerId);
    player.seek(((event.clientX - box.left) / box.width) * player.longest);
    say(player);
  }

  function redraw(player) {
    for (const run of player.runs) {
      run.drawing.whole = at("whole").checked;
      run.drawing.resize();
    }
    drawTimeLine(at("line"), player.runs[0].drawing.field, player.runs[0].model.bins);
    player.draw();
  }

  function fail(error) {
    at("message").textContent = `This cannot be shown: ${error.message}`;
    at("message").classList.add("error");
  }

  async function begin() {
    const described = JSON.parse(root.dataset.runs);
    const player = new Player(await Promise.all(described.map(opened)));
    setFields(player.runs, player.runs.map((run) => run.drawing.field));
    at("whole").checked = state.get("whole") === "1";
    at("scaled").checked = player.scaled;
    at("scaled").closest("label").hidden = player.runs.length < 2;
    at("slider").max = String(Math.max(...player.runs.map((run) => run.model.bins)));
    redraw(player);
    at("whole").closest("label").hidden = !player.runs.some((run) => run.drawing.isPart);
    listSpeeds(player);
    listFields(player);
    player.runs.forEach((run, i) => listNodes(run, i, player));
    drawLegend(player.runs[0]);
    listen(player);
    say(player);
    at("message").textContent = "";
    root.dataset.ready = "1";
    if (state.get("play") === "1") player.play();
  }

  begin().catch(fail);
})();
