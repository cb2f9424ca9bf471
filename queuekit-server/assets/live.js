// Keeps the page as the store is: each message is a part of the page, morphed in where it was.
import { now } from "./when.js";

const body = document.body;
const state = { stream: null, paused: false };

/** Morphs a part, and leaves alone what scripts and the reader have changed. */
function morph(old, html) {
  window.Idiomorph.morph(old, html, {
    morphStyle: "outerHTML",
    ignoreActiveValue: true,
    callbacks: {
      beforeNodeMorphed(from, to) {
        if (from.dataset?.keep === undefined) return true;
        if (to.dataset?.chart) from.dataset.chart = to.dataset.chart;
        return false;
      },
      beforeAttributeUpdated: (name) => name !== "open",
    },
  });
}

function show(word) {
  const live = document.getElementById("live");
  live.classList.toggle("paused", word === "Paused");
  live.classList.toggle("away", word === "Reconnecting");
  document.getElementById("live-word").textContent = word;
  const button = document.getElementById("live-toggle");
  button.setAttribute("aria-label", word === "Live" ? "Live. Pause updates" : `${word}. Resume updates`);
}

function fresh(at) {
  const time = document.getElementById("live-age");
  // Never in the future, however the clocks are.
  if (time) time.dateTime = Date.parse(at) <= now() ? at : new Date(now()).toISOString();
}

/** Says what is new among what needs attention, and nothing else. */
function announce(before) {
  const lines = attention();
  const added = lines.filter((line) => !before.includes(line));
  if (added.length) document.getElementById("announce").textContent = added.join(". ");
}

const isAway = () => Boolean(document.querySelector("#away .notice"));

/** A page that could not be shown is asked for again when the store is back. */
function heal(wasAway) {
  if (wasAway && !isAway() && document.querySelector("[data-heals]")) location.reload();
}

const attention = () =>
  [...document.querySelectorAll("#attention li p:first-child a")].map((it) => it.textContent);

function open(ready) {
  const { base, path } = body.dataset;
  const parts = [...document.querySelectorAll("[data-live][id]")].map((it) => it.id);
  const since = document.getElementById("newer")?.dataset.since;
  const from = since === undefined ? "" : `&since=${since}`;
  const stream = new EventSource(`${base}/ui/live?page=${encodeURIComponent(path)}${from}`);
  state.stream = stream;
  for (const id of parts) {
    stream.addEventListener(id, (event) => {
      const old = document.getElementById(id);
      if (!old) return;
      const [before, wasAway] = [attention(), isAway()];
      morph(old, event.data);
      const part = document.getElementById(id);
      if (part) ready(part.parentElement ?? part);
      if (id === "attention") announce(before);
      if (id === "away") heal(wasAway);
      fresh();
    });
  }
  // The time when the figures were read; it comes even if none of them has changed.
  stream.addEventListener("as-of", (event) => fresh(event.data));
  stream.addEventListener("open", () => show("Live"));
  stream.addEventListener("error", () => show("Reconnecting"));
}

function close() {
  state.stream?.close();
  state.stream = null;
}

export function toggleLive(ready) {
  state.paused = !state.paused;
  close();
  if (!state.paused) open(ready);
  show(state.paused ? "Paused" : "Live");
}

export function goLive(ready) {
  const button = document.getElementById("live-toggle");
  if (!button || !window.Idiomorph || !document.querySelector("[data-live][id]")) return;
  button.hidden = false;
  button.addEventListener("click", () => toggleLive(ready));
  document.addEventListener("visibilitychange", () => {
    if (state.paused) return;
    close();
    if (!document.hidden) open(ready);
  });
  addEventListener("pagehide", close);
  for (const it of document.querySelectorAll("[data-heals]")) it.hidden = false;
  show("Live");
  if (!document.hidden) open(ready);
}
