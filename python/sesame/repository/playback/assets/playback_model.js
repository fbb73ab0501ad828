// The data of one play-back, as python/sesame/repository/playback/prepare.py writes them.
"use strict";

const sesamePlayback = (() => {
  const ABSENT = 65535, LARGEST = 65534;

  // Uses 16-bit numbers as the machine has them; files are little-endian, as browsers' machines are.
  class Field {
    constructor(described, bytes, units) {
      Object.assign(this, described);
      this.values = new Uint16Array(bytes);
      this.units = units;
    }

    // The value in the unit of the field; null where there is none.
    at(bin, unit) {
      if (bin === null) return null;
      const number = this.values[bin * this.units + unit];
      if (number === ABSENT) return null;
      return this.classes.length ? number : (this.most * number) / LARGEST;
    }

    text(bin, unit) {
      const value = this.at(bin, unit);
      if (value === null) return "–";
      if (this.classes.length) return this.classes[value][0];
      return amount(value, this.unit);
    }
  }

  const SIZES = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];

  // A number with its unit: 12.3 MB/s. A share, which has no unit, is in percent.
  function amount(value, unit) {
    if (unit === "") return `${digits(100 * value)} %`;
    if (unit === "s") return seconds(value);
    const [size, letter] = SIZES.find(([least]) => value >= least) || [1, ""];
    const scaled = digits(value / size);
    if (unit === "1" || unit === "1/s") return `${scaled}${letter ? ` ${letter}` : ""}${unit === "1" ? "" : " /s"}`;
    return `${scaled} ${letter}${unit}`;
  }

  function digits(value) {
    return value === 0 ? "0" : value >= 1000 ? Math.round(value).toString() : value.toPrecision(3);
  }

  function seconds(value) {
    const [factor, unit] = value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
    return `${digits(value * factor)} ${unit}`;
  }

  // Sums of messages between units: of a bin those from first[bin] to first[bin + 1].
  class Arrows {
    constructor(bytes, number, bins) {
      let at = 0;
      const take = (kind, length) => {
        const taken = new kind(bytes, at, length);
        at += taken.byteLength;
        return taken;
      };
      this.first = take(Uint32Array, bins + 1);
      this.bytes = take(Float32Array, number);
      this.count = take(Uint32Array, number);
      this.source = take(Uint16Array, number);
      this.to = take(Uint16Array, number);
    }
  }

  // `source` has `json()`, the index; `bytes(name)`, a file; and `column(key)`, a field of records:
  // its description and bytes. All are promises, so that a page without a server can hold the data.
  class Model {
    static async load(source) {
      const model = new Model(source, await source.json());
      const { number } = model.index.arrows;
      if (number) model.arrows = new Arrows(await source.bytes("arrows.bin"), number, model.bins);
      return model;
    }

    constructor(source, index) {
      this.source = source;
      this.index = index;
      this.bins = index.bins;
      this.units = index.units.length;
      this.seconds = index.bins * index.bin_s;
      this.fields = new Map();
      this.arrows = null;
    }

    // The bin of a time; null when the run is over.
    binAt(time) {
      if (time > this.seconds * (1 + 1e-9)) return null;
      return Math.max(0, Math.min(this.bins - 1, Math.floor(time / this.index.bin_s)));
    }

    has(key) {
      return [...this.index.fields, ...this.index.more].some((one) => one.key === key);
    }

    // Loads a field once. Rejects if there is none of this key.
    field(key) {
      if (!this.fields.has(key)) this.fields.set(key, this.fetch(key));
      return this.fields.get(key);
    }

    async fetch(key) {
      const number = this.index.fields.findIndex((one) => one.key === key);
      if (number >= 0) {
        const bytes = await this.source.bytes(`field-${number}.bin`);
        return new Field(this.index.fields[number], bytes, this.units);
      }
      const { described, bytes } = await this.source.column(key);
      return new Field(described, bytes, this.units);
    }

    // All fields that the parts of a node show.
    async parts() {
      const { processor, memory, phase, lights } = this.index;
      const load = (key) => (key === null ? null : this.field(key));
      return {
        processor: await Promise.all(processor.map(([key]) => load(key))),
        colours: processor.map(([, colour]) => colour),
        memory: await load(memory),
        phase: await load(phase),
        lights: await Promise.all(lights.map((light) => load(light.field))),
      };
    }
  }

  // The source of a data set on a server; `address` ends in a slash.
  function fromServer(address) {
    const get = async (name) => {
      const answer = await fetch(address + name);
      if (!answer.ok) throw new Error((await answer.text()) || answer.statusText);
      return answer;
    };
    return {
      json: async () => (await get("index.json")).json(),
      bytes: async (name) => (await get(name)).arrayBuffer(),
      column: async (key) => {
        const answer = await get(`column?key=${encodeURIComponent(key)}`);
        const described = JSON.parse(answer.headers.get("Sesame-Field"));
        return { described, bytes: await answer.arrayBuffer() };
      },
    };
  }

  return { ABSENT, LARGEST, Model, fromServer, amount, seconds };
})();
