// The big charts. The numbers are in the page; the table below each chart has the same.
import { span, ticked, writer } from "./when.js";

const drawn = new WeakMap();
const HEIGHT = 200;

/** The colour that a class gives, as the canvas wants it. */
function colour(host, property, name = "") {
  const probe = document.createElement("i");
  probe.className = name;
  host.append(probe);
  probe.style.color = `var(${property})`;
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

/** Each series on top of those before it, the highest first, so that lower ones cover it. */
function stacked(series) {
  const sums = [];
  let below = null;
  for (const { v } of series) {
    below = v.map((value, i) => (value === null && !below?.[i] ? value : (value ?? 0) + (below?.[i] ?? 0)));
    sums.push(below);
  }
  return sums.reverse();
}

const short = (value) =>
  value >= 1e6 ? `${+(value / 1e6).toFixed(1)}M` : value >= 1e3 ? `${+(value / 1e3).toFixed(1)}k` : String(value);

function tip(data, isMs) {
  const box = document.createElement("div");
  box.className = "tip";
  box.hidden = true;
  const told = writer({ dateStyle: "medium", timeStyle: "short" });
  const line = ({ n, c, v }, at) => {
    const row = document.createElement("div");
    row.className = `c-${c}`;
    const [name, value] = [document.createElement("span"), document.createElement("b")];
    name.append(document.createElement("i"), n);
    value.textContent = v[at] === null ? "–" : isMs ? span(v[at]) : v[at].toLocaleString("en");
    row.append(name, value);
    return row;
  };
  const move = (u) => {
    const { idx, left } = u.cursor;
    box.hidden = idx === null || idx === undefined || left < 0;
    if (box.hidden) return;
    const head = document.createElement("span");
    head.textContent = told.format(data.t[idx] * 1000);
    box.replaceChildren(head, ...data.s.map((series) => line(series, idx)).reverse());
    const right = left > u.over.clientWidth / 2;
    box.style.left = right ? "auto" : `${left + 14}px`;
    box.style.right = right ? `${u.over.clientWidth - left + 14}px` : "auto";
    box.style.top = "4px";
  };
  return { hooks: { init: (u) => u.over.append(box), setCursor: move } };
}

/** A line with its version where a new one began to work. */
function deploys(data, ink) {
  const draw = (u) => {
    const { ctx } = u;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = ink;
    ctx.font = `${11 * devicePixelRatio}px ui-sans-serif, system-ui, sans-serif`;
    ctx.textBaseline = "alphabetic";
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const [seconds, version] of data.d) {
      const x = Math.round(u.valToPos(seconds, "x", true));
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, u.bbox.top);
      ctx.lineTo(x, u.bbox.top + u.bbox.height);
      ctx.stroke();
      const gap = 4 * devicePixelRatio;
      // At the right end there is no room beside the line but on its left.
      const left = x + gap + ctx.measureText(version).width > u.bbox.left + u.bbox.width;
      ctx.textAlign = left ? "right" : "left";
      ctx.fillText(version, left ? x - gap : x + gap, u.bbox.top + 10 * devicePixelRatio);
    }
    ctx.restore();
  };
  return { hooks: { draw } };
}

function options(host, data, isMs) {
  const bars = window.uPlot.paths.bars({ size: [0.78, 22], radius: 0.12 });
  const shown = isMs ? data.s : [...data.s].reverse();
  const series = shown.map(({ n, c }) => {
    const ink = colour(host, "--k", `c-${c}`);
    const line = { label: n, stroke: ink, width: 2, points: { show: false }, spanGaps: false };
    return isMs ? line : { ...line, width: 0, fill: ink, paths: bars };
  });
  const [soft, grid] = [colour(host, "--soft"), colour(host, "--line")];
  const font = "11px Inter, ui-sans-serif, system-ui, sans-serif";
  const axis = { stroke: soft, font, ticks: { show: false }, gap: 6 };
  const hours = (data.t.at(-1) - data.t[0]) / 3600;
  const clock = writer(
    hours > 36 ? { month: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  );
  const times = (_, ticks) => ticks.map((it) => clock.format(it * 1000));
  const values = (_, ticks) => ticks.map((it) => (isMs ? span(it) : short(it)));
  return {
    width: host.clientWidth,
    height: HEIGHT,
    tzDate: (seconds) => ticked(new Date(seconds * 1000)),
    padding: [8, 18, 0, 0],
    cursor: { y: false, points: { show: isMs, size: 7 }, drag: { x: false, y: false } },
    legend: { show: false },
    scales: { y: { range: (_, low, high) => [0, Math.max(high * 1.08, isMs ? 10 : 4)] } },
    series: [{}, ...series],
    axes: [
      { ...axis, grid: { show: false }, space: 70, size: 28, values: times },
      { ...axis, grid: { stroke: grid, width: 1 }, size: isMs ? 52 : 42, space: 40, values },
    ],
    plugins: [tip(data, isMs), deploys(data, soft)],
  };
}

function draw(host) {
  const text = host.dataset.chart;
  const data = JSON.parse(text);
  const isMs = host.dataset.kind === "ms";
  drawn.get(host)?.plot.destroy();
  host.replaceChildren();
  const values = [data.t, ...(isMs ? data.s.map(({ v }) => v) : stacked(data.s))];
  const plot = new window.uPlot(options(host, data, isMs), values, host);
  plot.root.setAttribute("aria-hidden", "true");
  drawn.set(host, { plot, text });
}

const watch = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    drawn.get(target)?.plot.setSize({ width: target.clientWidth, height: HEIGHT });
  }
});

/** Draws the charts of a part that are new or have changed, or all of them. */
export function drawCharts(part, again = false) {
  if (!window.uPlot) return;
  for (const host of part.querySelectorAll("[data-chart]")) {
    const before = drawn.get(host);
    if (before && before.text === host.dataset.chart && !again) continue;
    draw(host);
    watch.observe(host);
  }
}
