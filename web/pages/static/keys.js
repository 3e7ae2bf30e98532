// Single letters and signs as keys, which can be switched off: who speaks to the computer, or presses keys by accident, must not
// set them off. The switch is remembered in this browser.
"use strict";

(() => {
  const NAME = "medley-keys";
  const dialog = document.getElementById("keys");
  const button = document.getElementById("show-keys");
  const choice = document.getElementById("keys-on");
  if (!dialog) return;

  // Where the browser keeps nothing, the switch is for this page alone.
  let chosen = "on";
  function remembered() {
    try {
      return localStorage.getItem(NAME) || chosen;
    } catch {
      return chosen;
    }
  }

  function remember(value) {
    chosen = value;
    try {
      localStorage.setItem(NAME, value);
    } catch {
      // See above.
    }
  }

  function show() {
    choice.checked = remembered() === "on";
    document.documentElement.dataset.keys = remembered();
  }

  function typing(target) {
    return target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
  }

  function move(step) {
    const links = [...document.querySelectorAll(".hit h3 a, .timeline li a")];
    if (!links.length) return;
    const hit = document.activeElement.closest(".hit, .timeline li");
    const at = hit ? links.findIndex((link) => hit.contains(link)) : -1;
    const next = Math.min(links.length - 1, Math.max(0, at + step));
    links[next].focus();
    links[next].closest(".hit, .timeline li").scrollIntoView({ block: "nearest" });
  }

  function search() {
    const text = document.getElementById("text");
    text?.focus();
    text?.select();
    return Boolean(text);
  }

  const ACTIONS = {
    "/": search,
    "?": () => dialog.showModal(),
    j: () => move(1),
    k: () => move(-1),
    f: () => switchFindings(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open || typing(event.target)) return;
    if (!Object.hasOwn(ACTIONS, event.key) || remembered() !== "on") return;
    if (ACTIONS[event.key]() !== false) event.preventDefault();
  });
  choice.addEventListener("change", () => {
    remember(choice.checked ? "on" : "off");
    show();
  });
  button.addEventListener("click", () => dialog.showModal());
  document.getElementById("close-keys").addEventListener("click", () => dialog.close());
  window.addEventListener("storage", show); // switched in another tab
  button.hidden = false;
  show();
})();
