"use strict";
(() => {
  const root = document.body;
  const theme = document.getElementById("theme");
  const names = { auto: "automatic", light: "light", dark: "dark" };
  const order = ["auto", "light", "dark"];
  theme.addEventListener("click", () => {
    const next = order[(order.indexOf(root.dataset.theme || "auto") + 1) % order.length];
    root.dataset.theme = next;
    theme.textContent = "Colors: " + names[next];
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
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  for (const time of document.querySelectorAll("time[data-age]")) {
    const seconds = (Date.now() - new Date(time.dateTime)) / 1000;
    const unit = units.find((each) => seconds >= each[1]);
    const count = unit ? Math.floor(seconds / unit[1]) : 0;
    time.title = unit ? count + " " + unit[0] + (count === 1 ? "" : "s") + " ago" : "less than a minute ago";
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
