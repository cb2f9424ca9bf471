// Light, dark, or as the system has it.
import { drawCharts } from "./chart.js";

const KEY = "queuekit-theme";

export function watchTheme() {
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
