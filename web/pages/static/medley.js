// Convenience only: every page works without this file.
"use strict";

const box = document.getElementById("text");

function grow() {
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight + 2, window.innerHeight * 0.5)}px`;
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

// The marks of findings go and come without a new page, unless it came without them.
function switchFindings() {
  const link = document.querySelector(".switch-findings");
  if (!link) return;
  if (!document.querySelector(".text .finding")) {
    link.click();
    return;
  }
  document.querySelector(".document").classList.toggle("unmarked");
  [link.textContent, link.dataset.other] = [link.dataset.other, link.textContent];
}

const findings = document.querySelector(".switch-findings");
if (findings && document.querySelector(".text .finding")) {
  findings.addEventListener("click", (event) => {
    event.preventDefault();
    switchFindings();
  });
}

if (box) {
  box.addEventListener("input", grow);
  // Enter searches; with Shift, or while an input method is composing a word, it does what it always does.
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      box.form.requestSubmit();
    }
  });
  grow();
}

const order = document.getElementById("sort");
if (order) order.addEventListener("change", () => order.form.requestSubmit());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "/" && box) {
    event.preventDefault();
    box.focus();
    box.select();
  } else if (event.key === "j") {
    move(1);
  } else if (event.key === "k") {
    move(-1);
  } else if (event.key === "f") {
    switchFindings();
  }
});
