// Times: relative in the text, absolute and in the viewer's zone on hover.

/** How far this machine's clock is ahead of the server's. */
const ahead = (() => {
  const { now } = document.body.dataset;
  const apart = now ? Date.now() - Date.parse(now) : 0;
  return Math.abs(apart) > 5000 ? apart : 0;
})();
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

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

export function keepTimes() {
  setInterval(() => document.hidden || tellTimes(document), 1000);
}
