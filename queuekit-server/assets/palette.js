// The palette: pages, queues, kinds, schedules, ids, and what can be done on this page.

const MOST = 12;
const ID = /^[0-9a-f]{4,8}(-?[0-9a-f-]*)?$/i;
const { base } = document.body.dataset;
let names = null;

/** Names in the store, read when they are first wanted. */
async function load() {
  if (names) return;
  names = [];
  try {
    const answer = await fetch(`${base}/ui/palette.json`);
    if (!answer.ok) return;
    const { queues = [], kinds = [], schedules = [], consumers = [] } = await answer.json();
    const add = (list, what, path) => {
      for (const name of list) names.push({ text: name, what, url: `${base}${path}${encodeURIComponent(name)}` });
    };
    add(queues, "queue", "/ui/queues/");
    add(kinds, "jobs of this kind", "/ui/jobs?q=kind:");
    add(schedules, "schedule", "/ui/schedules/");
    add(consumers, "consumer", "/ui/consumers/");
  } catch {
    // The pages are still there.
  }
}

function pages() {
  return [...document.querySelectorAll("#nav a[data-chord]")].map((it) => ({
    text: it.firstElementChild.nextSibling.textContent.trim(),
    what: `g ${it.dataset.chord}`,
    url: it.href,
  }));
}

function actions() {
  const buttons = document.querySelectorAll("main .act :is(button, a):not(:disabled)");
  const shown = [...buttons].filter((it) => it.checkVisibility() && !it.closest("[popover]"));
  return shown.map((it) => ({ text: it.textContent, what: "on this page", act: () => it.click() }));
}

/** What the words themselves can mean. */
function meant(words) {
  if (!words) return [];
  const jobs = (q) => `${base}/ui/jobs?q=${encodeURIComponent(q)}`;
  if (words.includes(":")) return [{ text: words, what: "filter jobs", url: jobs(words) }];
  const id = ID.test(words);
  const found = id ? [{ text: `Job ${words}…`, what: "by id", url: jobs(`id:${words.replaceAll("-", "")}`) }] : [];
  const quoted = words.includes(" ") ? `"${words.replaceAll('"', "")}"` : words;
  return [...found, { text: `Errors with “${words}”`, what: "filter jobs", url: jobs(`error:${quoted}`) }];
}

function matching(words) {
  const low = words.toLowerCase();
  const rank = (it) => {
    const at = it.text.toLowerCase().indexOf(low);
    return at < 0 ? 99 : at;
  };
  const all = [...pages(), ...actions(), ...(names ?? [])].filter((it) => rank(it) < 99);
  if (low) all.sort((a, b) => rank(a) - rank(b) || a.text.length - b.text.length);
  return [...all.slice(0, MOST), ...meant(words)];
}

function option(it, at) {
  const row = document.createElement("li");
  row.id = `palette-${at}`;
  row.setAttribute("role", "option");
  for (const text of [it.text, it.what]) {
    const part = document.createElement("span");
    part.textContent = text;
    row.append(part);
  }
  return row;
}

function build() {
  const dialog = document.createElement("dialog");
  dialog.className = "palette";
  dialog.setAttribute("aria-label", "Search");
  dialog.innerHTML =
    '<input role="combobox" aria-expanded="true" aria-controls="palette-list" aria-label="Search" autocomplete="off" spellcheck="false" placeholder="A page, queue, kind, job id, or a filter"><ul id="palette-list" role="listbox" aria-label="Results"></ul>';
  document.body.append(dialog);
  const [input, list] = [dialog.querySelector("input"), dialog.querySelector("ul")];
  let [found, at] = [[], 0];
  const mark = () => {
    [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === at)));
    list.children[at]?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", `palette-${at}`);
  };
  const show = () => {
    [found, at] = [matching(input.value.trim()), 0];
    list.replaceChildren(...found.map(option));
    mark();
  };
  const take = () => {
    const it = found[at];
    if (!it) return;
    dialog.close();
    if (it.act) it.act();
    else location.href = it.url;
  };
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") take();
    else if (by) at = (at + by + found.length) % Math.max(found.length, 1);
    else return;
    event.preventDefault();
    mark();
  });
  list.addEventListener("click", (event) => {
    const row = event.target.closest("li");
    if (!row) return;
    at = [...list.children].indexOf(row);
    take();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("fresh", () => {
    show();
    input.select();
  });
  return dialog;
}

export function openPalette() {
  const dialog = document.querySelector("dialog.palette") ?? build();
  if (dialog.open) return;
  dialog.showModal();
  const show = () => dialog.dispatchEvent(new Event("fresh"));
  show();
  load().then(show);
}
