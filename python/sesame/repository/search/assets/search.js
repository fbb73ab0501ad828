"use strict";
// Suggestions below a text field with data-suggest. The list is a listbox of ARIA's combobox pattern.
(function () {
  const MOST_WAIT_MS = 150;

  function attach(input) {
    const list = document.createElement("ul");
    list.className = "suggestions";
    list.id = input.id + "-suggestions";
    list.hidden = true;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Suggestions");
    input.after(list);
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", list.id);
    input.setAttribute("aria-expanded", "false");
    let timer = 0, latest = 0, at = -1;

    function close() {
      list.hidden = true;
      at = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    }

    function choose(option) {
      if (option.dataset.address) { window.location.assign(option.dataset.address); return; }
      input.value = option.dataset.text;
      close();
      input.focus();
      ask();
    }

    function show(found) {
      list.replaceChildren(...found.map((one, index) => {
        const option = document.createElement("li");
        option.setAttribute("role", "option");
        option.id = list.id + "-" + index;
        option.dataset.text = one.text;
        option.dataset.address = one.address;
        const text = document.createElement("span"), about = document.createElement("small");
        text.textContent = one.address ? one.about : one.text;
        about.textContent = one.address ? one.address : one.about;
        option.append(text, about);
        option.addEventListener("mousedown", event => { event.preventDefault(); choose(option); });
        return option;
      }));
      at = -1;
      list.hidden = !found.length;
      input.setAttribute("aria-expanded", String(!list.hidden));
    }

    async function ask() {
      const number = ++latest;
      if (input.value.trim().length < 2) { close(); return; }
      try {
        const answer = await fetch(input.dataset.suggest + "?q=" + encodeURIComponent(input.value));
        const found = answer.ok ? await answer.json() : [];
        if (number === latest && document.activeElement === input) show(found);
      } catch { close(); }
    }

    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(ask, MOST_WAIT_MS);
    });
    input.addEventListener("blur", close);
    input.addEventListener("keydown", event => {
      if (list.hidden) return;
      const options = list.children;
      if (event.key === "Escape") { close(); event.preventDefault(); return; }
      if (event.key === "Enter" && at >= 0) { event.preventDefault(); choose(options[at]); return; }
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      if (at >= 0) options[at].setAttribute("aria-selected", "false");
      at = (at + step + options.length) % options.length;
      options[at].setAttribute("aria-selected", "true");
      input.setAttribute("aria-activedescendant", options[at].id);
    });
  }

  for (const input of document.querySelectorAll("input[data-suggest]")) attach(input);
})();
