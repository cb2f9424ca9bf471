// Times: relative in the text, absolute and in the viewer's zone on hover.

/** How far this machine's clock is ahead of the server's. */
const ahead = (() => {
  const { now } = document.body.dataset;
  const apart = now ? Date.now() - Date.parse(now) : 0;
  return Math.abs(apart) > 5000 ? apart : 0;
})();
const KEY = "queuekit-zone";
/** The chosen zone; none for that of the browser. */
let zone;
try {
  if (localStorage.getItem(KEY) === "utc") zone = "UTC";
} catch {
  // Without storage, each page begins with the zone of the browser.
}

/** Writes times in the chosen zone. */
export const writer = (options) => new Intl.DateTimeFormat(undefined, { ...options, timeZone: zone });
/** The time of a chart, whose ticks are at whole hours of the chosen zone. */
export const ticked = (at) => (zone ? window.uPlot.tzDate(at, zone) : at);

const absolutely = () => writer({ dateStyle: "medium", timeStyle: "long" });
let absolute = absolutely();

export const now = () => Date.now() - ahead;

/** A duration in its largest units, as the server writes it. */
export function span(ms) {
  const two = (large, unit, small, smaller) => {
    const rest = Math.floor((ms % large) / small);
    return `${Math.floor(ms / large)}${unit}${rest ? ` ${rest}${smaller}` : ""}`;
  };
  if (ms === 0) return "0";
  if (ms < 1000) return `${Math.floor(ms)}ms`;
  if (ms < 60e3) return ms < 10e3 ? `${Math.floor(ms / 100) / 10}s` : `${Math.floor(ms / 1000)}s`;
  if (ms < 3600e3) return two(60e3, "m", 1000, "s");
  if (ms < 86400e3) return two(3600e3, "h", 60e3, "m");
  return two(86400e3, "d", 3600e3, "h");
}

/** Without the smaller unit, if there are ten of the larger one or more, or a minute has not passed. */
function coarse(ms) {
  const unit = [86400e3, 3600e3, 60e3].find((it) => ms >= it) ?? 1000;
  return unit > 1000 && ms / unit < 10 ? ms : Math.floor(ms / unit) * unit;
}

function relative(at) {
  const age = now() - at;
  if (Math.abs(age) < 1000) return "now";
  const told = span(coarse(Math.abs(age)));
  return age < 0 ? `in ${told}` : `${told} ago`;
}

export function tellTimes(part) {
  for (const it of part.querySelectorAll("time[datetime]")) {
    const at = Date.parse(it.dateTime);
    if (Number.isNaN(at)) continue;
    const title = `${absolute.format(at)}\n${it.dateTime}`;
    if (it.title !== title) it.title = title;
    const text = it.dataset.absolute === undefined ? relative(at) : absolute.format(at);
    if (it.textContent !== text) it.textContent = text;
  }
}

/** The zone of the browser, or UTC. */
export function watchZone(changed) {
  const buttons = [...document.querySelectorAll("[data-zone-to]")];
  const show = () => {
    for (const it of buttons) it.setAttribute("aria-pressed", String((it.dataset.zoneTo === "utc") === Boolean(zone)));
    for (const it of document.querySelectorAll("[data-zone]")) it.textContent = zone ?? "In your zone";
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      zone = button.dataset.zoneTo === "utc" ? "UTC" : undefined;
      try {
        localStorage.setItem(KEY, button.dataset.zoneTo);
      } catch {
        // The choice holds for this page.
      }
      absolute = absolutely();
      show();
      changed();
    });
  }
  show();
}

export function keepTimes() {
  setInterval(() => document.hidden || tellTimes(document), 1000);
}
