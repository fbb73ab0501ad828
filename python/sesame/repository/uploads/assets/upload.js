// The upload form: announces the files, sends what the server has not got, waits for the import.
"use strict";
(() => {
  const CHUNK = 8 << 20;
  const TRIES = 6;
  const HASHED_AT_MOST = 64 << 20; // crypto.subtle needs the whole file in memory
  const form = document.getElementById("upload");
  const message = document.getElementById("message");
  const bar = document.getElementById("progress");
  const csrf = form.dataset.csrf;

  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  class Refused extends Error {
    constructor(status, body) {
      super([body.error, body.hint].filter(Boolean).join(": ") || `status ${status}`);
      this.status = status;
    }
  }

  async function call(method, path, body, headers = {}) {
    const answer = await fetch(`/api/v1/uploads${path}`, {
      method, body, headers: { "x-csrf-token": csrf, ...headers },
    });
    const content = answer.status === 204 ? {} : await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Refused(answer.status, content);
    return content;
  }

  // A broken connection is tried again; a refusal is not.
  async function tried(request) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await request();
      } catch (error) {
        const isRefused = error instanceof Refused && error.status < 500;
        if (isRefused || attempt === TRIES) throw error;
        await pause(500 * 2 ** attempt);
      }
    }
  }

  async function hashOf(file) {
    if (!window.crypto?.subtle || file.size > HASHED_AT_MOST) return null;
    const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
    return [...new Uint8Array(digest)].map((one) => one.toString(16).padStart(2, "0")).join("");
  }

  // The path below the chosen directory; hidden files, which systems add, are left out.
  function chosen() {
    const directory = [...document.getElementById("directory").files];
    const files = directory.length ? directory : [...document.getElementById("files").files];
    return files
      .map((file) => {
        const path = file.webkitRelativePath;
        return { file, path: path ? path.slice(path.indexOf("/") + 1) : file.name };
      })
      .filter((one) => !one.path.split("/").some((part) => part.startsWith(".")));
  }

  async function sendFile(id, number, file, begin, sent) {
    let offset = begin;
    let failures = 0;
    while (offset < file.size) {
      try {
        const answer = await call("PATCH", `/${id}/files/${number}`, file.slice(offset, offset + CHUNK), {
          "upload-offset": String(offset), "content-type": "application/octet-stream",
        });
        sent(answer.offset - offset);
        offset = answer.offset;
        failures = 0;
      } catch (error) {
        const mayContinue = !(error instanceof Refused) || [409, 423].includes(error.status) || error.status >= 500;
        failures += 1;
        if (!mayContinue || failures === TRIES) throw error;
        await pause(500 * 2 ** failures);
        offset = (await tried(() => call("GET", `/${id}/files/${number}`))).offset;
      }
    }
  }

  async function upload() {
    const files = chosen();
    if (!files.length) throw new Error("choose files or a directory");
    message.textContent = "reading";
    const given = Object.fromEntries([...new FormData(form)].filter(([, value]) => typeof value === "string"));
    given.files = [];
    for (const { file, path } of files) given.files.push({ path, bytes: file.size, sha256: await hashOf(file) });
    const begin = () => call("POST", "", JSON.stringify(given), { "content-type": "application/json" });
    let state = await tried(begin);
    if (state.state === "failed") {
      await tried(() => call("DELETE", `/${state.id}`));
      state = await tried(begin);
    }
    for (let round = 0; round < 2 && state.state === "receiving"; round += 1) {
      const missing = state.missing;
      const total = missing.reduce((sum, one) => sum + files[one.number].file.size, 0) || 1;
      let done = missing.reduce((sum, one) => sum + one.offset, 0);
      bar.hidden = false;
      message.textContent = "sending";
      for (const one of missing) {
        await sendFile(state.id, one.number, files[one.number].file, one.offset, (bytes) => {
          done += bytes;
          bar.value = done / total;
        });
      }
      state = await tried(() => call("POST", `/${state.id}/finish`));
      message.textContent = "importing";
      while (state.state === "importing") {
        await pause(400);
        state = await tried(() => call("GET", `/${state.id}`));
      }
    }
    if (state.state !== "done") throw new Error([state.error, state.hint].filter(Boolean).join(": "));
    window.location.assign(state.address);
  }

  const button = form.querySelector("button");
  const directory = document.getElementById("directory");
  const requireFiles = () => {
    document.getElementById("files").required = !directory.files.length;
  };
  directory.addEventListener("change", requireFiles);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await upload();
    } catch (error) {
      message.textContent = error.message;
    } finally {
      button.disabled = false;
      bar.hidden = true;
    }
  });
  // A person may have been faster than this script: without it, the form would be sent as a GET.
  requireFiles();
  message.textContent = "";
  button.disabled = false;
})();
