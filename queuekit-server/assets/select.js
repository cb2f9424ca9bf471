// The selection in a list of jobs, and buttons that say how many they act on.

const jobs = (count) => `${count} ${count === 1 ? "job" : "jobs"}`;

export function watchSelection() {
  for (const form of document.querySelectorAll("form[data-select]")) watch(form);
}

function watch(form) {
  const boxes = () => [...form.querySelectorAll('input[name="id"]')];
  const all = form.querySelector("[data-all]");
  if (!all) return;
  const told = form.querySelector("[data-told]");
  const buttons = [...form.querySelectorAll("button[data-verb]")];
  let last = null;
  all.closest("label").hidden = false;

  const show = () => {
    const every = boxes();
    const picked = every.filter((box) => box.checked).length;
    all.checked = picked > 0 && picked === every.length;
    all.indeterminate = picked > 0 && picked < every.length;
    told.textContent = picked ? `${jobs(picked)} selected` : "Select this page";
    form.classList.toggle("picked", picked > 0);
    for (const button of buttons) {
      button.hidden = picked === 0;
      button.textContent = `${button.dataset.verb} ${jobs(picked)}`;
    }
  };
  all.addEventListener("change", () => {
    for (const box of boxes()) box.checked = all.checked;
    show();
  });
  form.addEventListener("click", (event) => {
    const box = event.target.closest?.('input[name="id"]');
    if (!box) return;
    if (event.shiftKey && last) {
      const every = boxes();
      const [from, to] = [every.indexOf(last), every.indexOf(box)].sort((a, b) => a - b);
      for (const it of every.slice(from, to + 1)) it.checked = box.checked;
    }
    last = box;
    show();
  });
  show();
}
