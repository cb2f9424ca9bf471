// What a page does beyond HTML. Without it, every page still reads and acts.
import { watchTheme } from "./colours.js";
import { drawCharts } from "./chart.js";
import { watchCopy } from "./copy.js";
import { watchKeys } from "./keys.js";
import { goLive } from "./live.js";
import { watchSelection } from "./select.js";
import { keepTimes, tellTimes } from "./when.js";

/** Readies a part of the page: after load, and after each change of it. */
function ready(part) {
  for (const it of part.querySelectorAll("[data-copy][hidden], .theme, [data-palette]")) it.hidden = false;
  tellTimes(part);
  drawCharts(part);
}

ready(document);
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
keepTimes();
watchTheme();
watchCopy();
watchKeys();
watchSelection();
goLive(ready);
