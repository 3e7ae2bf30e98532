// Convenience only: every page works without this file.
"use strict";

const box = document.getElementById("text");

function grow() {
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight + 2, window.innerHeight * 0.5)}px`;
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
