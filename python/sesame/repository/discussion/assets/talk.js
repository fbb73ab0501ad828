"use strict";
// The editor of messages: images are pasted or dropped in, links are found by their title, a preview
// is made by the server. Without this script a form sends text and images as well.
(function () {
  const WAIT_MS = 200;
  const TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];

  function attach(editor) {
    const area = editor.querySelector("textarea"), status = editor.querySelector("[data-status]");
    const headers = { "x-csrf-token": editor.dataset.csrf };

    function insert(text) {
      area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
      area.dispatchEvent(new Event("input"));
    }

    async function send(file) {
      const mark = "![sending " + (file.name || "image") + " …]()";
      insert(mark);
      status.textContent = "Sending an image …";
      let text = "", said = "";
      try {
        const answer = await fetch("/talk/images", { method: "POST", headers, body: file });
        const content = await answer.json();
        if (answer.ok) text = "![image](" + content.address + ")";
        else said = content.error + (content.hint ? ". " + content.hint : "");
      } catch (error) { said = "The image was not sent: " + error.message; }
      status.textContent = said;
      status.classList.toggle("error", Boolean(said));
      const at = area.value.indexOf(mark);
      if (at >= 0) area.setRangeText(text, at, at + mark.length, "preserve");
    }

    function images(transfer) {
      return [...(transfer ? transfer.files : [])].filter(file => TYPES.includes(file.type));
    }

    area.addEventListener("paste", event => {
      const files = images(event.clipboardData);
      if (!files.length) return;
      event.preventDefault();
      for (const file of files) send(file);
    });
    area.addEventListener("dragover", event => event.preventDefault());
    area.addEventListener("drop", event => {
      const files = images(event.dataTransfer);
      if (!files.length) return;
      event.preventDefault();
      for (const file of files) send(file);
    });
    const chooser = editor.querySelector("input[type=file]");
    chooser.addEventListener("change", () => {
      for (const file of chooser.files) send(file);
      chooser.value = "";
    });
    attachLinker(editor.querySelector("[data-linker]"), address => { insert(address + " "); area.focus(); });
    attachPreview(editor, area, headers, status);
  }

  // A field whose suggestions are things: choosing one inserts its address, which is shown as its
  // title.
  function attachLinker(box, choose) {
    const input = box.querySelector("input"), list = document.createElement("ul");
    list.className = "suggestions";
    list.hidden = true;
    box.hidden = false;
    box.append(list);
    let timer = 0, latest = 0;

    async function ask() {
      const number = ++latest;
      const answer = await fetch("/search/suggest?q=" + encodeURIComponent(input.value)).catch(() => null);
      const found = answer && answer.ok ? await answer.json() : [];
      if (number !== latest) return;
      const options = found.filter(one => one.address).map(one => {
        const item = document.createElement("li"), button = document.createElement("button");
        button.type = "button";
        button.textContent = one.about;
        button.addEventListener("click", () => {
          list.hidden = true;
          input.value = "";
          choose(one.address);
        });
        item.append(button);
        return item;
      });
      list.replaceChildren(...options);
      list.hidden = !options.length;
    }

    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, WAIT_MS); });
    input.addEventListener("keydown", event => {
      if (event.key === "Escape") list.hidden = true;
      if (event.key === "Enter") {
        event.preventDefault();
        const first = list.querySelector("button");
        if (first && !list.hidden) first.click();
      }
    });
  }

  function attachPreview(editor, area, headers, status) {
    const button = editor.querySelector("[data-preview]"), shown = editor.querySelector("#preview");
    button.hidden = false;
    button.addEventListener("click", async () => {
      const body = new URLSearchParams({ text: area.value });
      const answer = await fetch("/talk/preview", { method: "POST", headers, body }).catch(() => null);
      if (!answer || !answer.ok) { status.textContent = "There is no preview now."; return; }
      // The server has sanitised it, and the policy of the page runs no script in it.
      shown.innerHTML = (await answer.json()).html;
      shown.hidden = false;
    });
  }

  for (const editor of document.querySelectorAll(".editor")) attach(editor);
})();
