// What a page gets wrong for people who can't see it well, or at all: a list of sentences, empty when nothing is.
() => {
  const faults = [];
  const shown = (element) => element.checkVisibility({ visibilityProperty: true });
  const name = (element) => `${element.tagName.toLowerCase()}${element.id ? "#" + element.id : ""}.${element.className} "${element.textContent.trim().slice(0, 30)}"`;
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);

  if (!document.documentElement.lang) faults.push("the page has no language");
  if (!document.title) faults.push("the page has no title");
  for (const [landmark, selector] of [["main", "main"], ["banner", "body > header"], ["contentinfo", "body > footer"]])
    if (document.querySelectorAll(selector).length !== 1) faults.push(`there is not one ${landmark}`);
  if (document.querySelectorAll("h1").length !== 1) faults.push("there is not one h1");
  let level = 0;
  for (const heading of document.querySelectorAll("main h1, main h2, main h3, main h4")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1 && !heading.closest("aside")) faults.push(`${name(heading)} skips a level`);
    if (!heading.closest("aside")) level = next;
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids.filter((one, at) => ids.indexOf(one) !== at))) faults.push(`the id ${id} is there twice`);
  for (const field of all("input:not([type=hidden]), select, textarea"))
    if (!field.labels.length && !field.ariaLabel) faults.push(`${name(field)} has no label`);
  for (const control of all("a, button, summary"))
    if (!control.textContent.trim() && !control.ariaLabel) faults.push(`${name(control)} has no name`);
  for (const region of all("nav, aside"))
    if (!region.ariaLabel && !region.getAttribute("aria-labelledby")) faults.push(`${name(region)} is a landmark without a name`);
  for (const pointer of document.querySelectorAll("[aria-labelledby], [aria-describedby]"))
    for (const id of (pointer.getAttribute("aria-labelledby") || pointer.getAttribute("aria-describedby")).split(" "))
      if (!document.getElementById(id)) faults.push(`${name(pointer)} points to ${id}, which isn't there`);
  for (const image of all("svg, img"))
    if (image.getAttribute("aria-hidden") !== "true" && !image.getAttribute("aria-label") && !image.alt) faults.push(`${name(image)} has no text`);
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) faults.push("the page is wider than the window");

  const channels = (text) => {
    const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = ([red, green, blue]) => {
    const [r, g, b] = [red, green, blue].map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return [255, 255, 255, 255];
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !shown(element) || element.closest(".hidden, .skip, script")) continue;
    const ratio = contrast(channels(getComputedStyle(element).color), ground(element));
    if (ratio < 4.5) faults.push(`${name(element)} has a contrast of ${ratio.toFixed(2)}`);
  }
  for (const field of all("input:not([type=hidden]):not([type=checkbox]), select")) {
    const ratio = contrast(channels(getComputedStyle(field).borderTopColor), ground(field.parentElement));
    if (ratio < 3) faults.push(`the border of ${name(field)} has a contrast of ${ratio.toFixed(2)}`);
  }
  return faults;
}
