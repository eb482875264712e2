"use strict";
(() => {
  const root = document.body;
  const theme = document.getElementById("theme");
  const names = { auto: "automatic", light: "light", dark: "dark" };
  const order = ["auto", "light", "dark"];
  theme.addEventListener("click", () => {
    const next = order[(order.indexOf(root.dataset.theme || "auto") + 1) % order.length];
    root.dataset.theme = next;
    theme.textContent = "Colours: " + names[next];
  });
  const all = document.getElementById("expand");
  if (all) {
    const details = [...document.querySelectorAll("main details")];
    const show = () => {
      const open = details.every((each) => each.open);
      all.textContent = open ? "Collapse all" : "Expand all";
      return open;
    };
    all.addEventListener("click", () => {
      const open = show();
      for (const each of details) each.open = !open;
      show();
    });
    for (const each of details) each.addEventListener("toggle", show);
  }
  const filters = [...document.querySelectorAll("button[data-filter]")];
  const status = document.getElementById("status");
  for (const button of filters) {
    button.addEventListener("click", () => {
      for (const each of filters) each.setAttribute("aria-pressed", String(each === button));
      let shown = 0;
      for (const entry of document.querySelectorAll("[data-kind]")) {
        entry.hidden = button.dataset.filter !== "" && entry.dataset.kind !== button.dataset.filter;
        shown += entry.hidden ? 0 : 1;
      }
      status.textContent = shown + " shown";
    });
  }
})();
