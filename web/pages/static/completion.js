// Completes the fields that have `data-complete` while one types. Every field works without this file.
"use strict";

(() => {
  const PAUSE = 150;
  const LEAST = 2;
  const MOST = 8;

  class Field {
    constructor(input) {
      this.input = input;
      this.list = part("span", "completions");
      this.status = part("span", "hidden");
      this.options = [];
      this.at = -1;
      this.prepare();
    }

    prepare() {
      const { input, list, status } = this;
      list.id = `${input.id}-completions`;
      list.hidden = true;
      list.setAttribute("role", "listbox");
      list.setAttribute("aria-label", input.labels[0].textContent);
      status.setAttribute("role", "status");
      for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", list.id]])
        input.setAttribute(name, value);
      input.after(list, status);
      input.addEventListener("input", (event) => event.isComposing || this.wait());
      input.addEventListener("compositionend", () => this.wait());
      input.addEventListener("keydown", (event) => this.press(event));
      input.addEventListener("blur", () => this.forget());
      list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the field
      list.addEventListener("click", (event) => {
        const option = event.target.closest("[role=option]");
        if (option) this.take(this.options.indexOf(option));
      });
    }

    // The part of the field that is completed: with several names, the one that the caret is in.
    get range() {
      const { value, selectionStart, dataset } = this.input;
      if (!("many" in dataset)) return [0, value.length];
      const start = value.lastIndexOf(",", selectionStart - 1) + 1;
      const comma = value.indexOf(",", selectionStart);
      const end = comma < 0 ? value.length : comma;
      return [start + value.slice(start, end).match(/^\s*(?:[a-z-]+:)?\s*/)[0].length, end];
    }

    wait() {
      this.forget();
      const text = this.input.value.slice(...this.range).trim();
      if (text.length >= LEAST) this.timer = setTimeout(() => this.ask(text), PAUSE);
    }

    async ask(text) {
      const request = (this.request = new AbortController());
      const { form, dataset } = this.input;
      const { csrf, collection } = form.elements;
      const body = new URLSearchParams({ csrf: csrf.value, collection: collection.value, slot: dataset.complete, text, limit: MOST });
      try {
        const answer = await fetch("/complete", { method: "POST", body, signal: request.signal, redirect: "error" });
        if (answer.ok && !request.signal.aborted) this.show(await answer.json(), request);
      } catch {
        // An old answer, or none: the field works without it.
      }
    }

    show({ completions, notes }, request) {
      if (request.signal.aborted) return;
      const usable = completions.filter(({ name }) => !("many" in this.input.dataset && name.includes(",")));
      this.options = usable.map((item, number) => this.option(item, number));
      this.list.replaceChildren(...this.options);
      this.list.hidden = !usable.length;
      this.input.setAttribute("aria-expanded", String(usable.length > 0));
      const count = usable.length === 1 ? "1 completion" : `${usable.length} completions`;
      this.status.textContent = usable.length ? count : notes.join(" ") || "no completion";
    }

    option({ name, matched, group, documents }, number) {
      const option = part("span", "");
      option.id = `${this.list.id}-${number}`;
      option.dataset.name = name;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      const count = `${documents.toLocaleString("en")} document${documents === 1 ? "" : "s"}`;
      const about = [matched === name ? "" : matched, (group || "").replaceAll("-", " "), count].filter(Boolean);
      option.append(part("span", "name", name), " ", part("span", "aside", about.join(" · ")));
      return option;
    }

    press(event) {
      if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
      const open = !this.list.hidden;
      if (event.key === "ArrowDown" && !open) this.wait();
      else if (event.key === "ArrowDown") this.move(this.at + 1);
      else if (event.key === "ArrowUp" && open) this.move(this.at < 0 ? this.options.length - 1 : this.at - 1);
      else if (event.key === "Enter" && open && this.at >= 0) this.take(this.at);
      else if (event.key === "Escape") this.forget();
      else return;
      event.preventDefault();
    }

    // Past either end no option is chosen, only what was typed.
    move(to) {
      this.options[this.at]?.setAttribute("aria-selected", "false");
      this.at = to >= this.options.length ? -1 : to;
      const option = this.options[this.at];
      option?.setAttribute("aria-selected", "true");
      option?.scrollIntoView({ block: "nearest" });
      if (option) this.input.setAttribute("aria-activedescendant", option.id);
      else this.input.removeAttribute("aria-activedescendant");
    }

    take(number) {
      const [start, end] = this.range;
      const name = this.options[number].dataset.name;
      this.input.setRangeText(name, start, end, "end");
      this.forget();
      this.status.textContent = name;
    }

    forget() {
      clearTimeout(this.timer);
      this.request?.abort();
      this.close();
    }

    close() {
      this.move(-1);
      this.list.hidden = true;
      this.input.setAttribute("aria-expanded", "false");
      this.status.textContent = "";
    }
  }

  function part(name, style, text = "") {
    const element = document.createElement(name);
    if (style) element.className = style;
    element.textContent = text;
    return element;
  }

  for (const input of document.querySelectorAll("input[data-complete]")) new Field(input);
})();
