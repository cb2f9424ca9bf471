// What a page does beyond HTML. Without it, every page still reads and acts.
import { drawCharts } from "./chart.js";
import { watchCopy } from "./copy.js";
import { watchKeys } from "./keys.js";
import { goLive } from "./live.js";
import { watchSelection } from "./select.js";
import { keepTimes, tellTimes, watchZone } from "./when.js";

const KEY = "queuekit-theme";

/** Light, dark, or as the system has it. */
function watchTheme() {
  const buttons = [...document.querySelectorAll("[data-theme-to]")];
  const show = () => {
    const now = document.documentElement.dataset.theme ?? "system";
    for (const it of buttons) it.setAttribute("aria-pressed", String(it.dataset.themeTo === now));
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const to = button.dataset.themeTo;
      if (to === "system") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = to;
      try {
        localStorage.setItem(KEY, to);
      } catch {
        // The choice holds for this page.
      }
      show();
      drawCharts(document, true);
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawCharts(document, true));
  show();
}

/** Readies a part of the page: after load, and after each change of it. */
function ready(part) {
  for (const it of part.querySelectorAll("[data-copy][hidden], .theme, [data-palette]")) it.hidden = false;
  tellTimes(part);
  drawCharts(part);
}

/** Scrolls the chosen tab into sight. `scrollIntoView` would also move where the Tab key begins. */
function showTab() {
  const tabs = document.querySelector(".tabs");
  const chosen = tabs?.querySelector("[aria-current]");
  if (!chosen) return;
  const [around, it] = [tabs.getBoundingClientRect(), chosen.getBoundingClientRect()];
  tabs.scrollLeft += it.left + it.width / 2 - (around.left + around.width / 2);
}

ready(document);
showTab();
keepTimes();
watchTheme();
watchZone(() => {
  tellTimes(document);
  drawCharts(document, true);
});
watchCopy();
watchKeys();
watchSelection();
goLive(ready);
