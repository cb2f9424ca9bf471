// Keys: `/` and Cmd-K search, `g q` goes to a page, j and k move, x selects, ? helps.
import { openPalette } from "./palette.js";

const WAIT_MS = 1200;
let chord = 0;

const rows = () => [...document.querySelectorAll("tr[data-row]")];

function move(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  next.querySelector("[data-open]")?.focus();
  next.scrollIntoView({ block: "nearest" });
}

function help() {
  const { base } = document.body.dataset;
  location.href = `${base}/ui/about#keyboard`;
}

function go(letter) {
  const link = [...document.querySelectorAll("#nav a[data-chord]")].find((it) => it.dataset.chord === letter);
  if (link) location.href = link.href;
  return Boolean(link);
}

const ACTS = {
  "/": openPalette,
  "?": help,
  j: () => move(1),
  k: () => move(-1),
  x: () => rows().find((row) => row.contains(document.activeElement))?.querySelector('input[name="id"]')?.click(),
  p: () => document.getElementById("live-toggle")?.click(),
};

/** Menus close when something else is wanted. */
function closeMenus(but) {
  for (const menu of document.querySelectorAll("details.pop[open]")) if (!menu.contains(but)) menu.open = false;
}

export function watchKeys() {
  document.addEventListener("click", (event) => closeMenus(event.target));
  for (const it of document.querySelectorAll("[data-palette]")) it.addEventListener("click", openPalette);
  const field = document.querySelector(".filter input[data-filter]");
  field?.addEventListener("keydown", (event) => {
    // As in other fields of terms: Backspace takes back the last one.
    const pills = document.querySelectorAll(".filter .chip a");
    if (event.key === "Backspace" && !field.value && pills.length) location.href = pills[pills.length - 1].href;
  });
  document.addEventListener("keydown", (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    if (event.key === "Escape") closeMenus(null);
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]")) return;
    if (Date.now() - chord < WAIT_MS) {
      chord = 0;
      if (go(event.key)) event.preventDefault();
      return;
    }
    if (event.key === "g") chord = Date.now();
    const act = ACTS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
