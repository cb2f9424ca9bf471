// Copies a text, also on plain http, where there is no clipboard API.

function copyOld(text) {
  const box = document.createElement("textarea");
  box.value = text;
  box.setAttribute("aria-hidden", "true");
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  return done;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOld(text);
  }
}

export function watchCopy() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button || button.dataset.told) return;
    const done = await copy(button.dataset.copy.trimEnd());
    button.dataset.told = button.textContent;
    button.textContent = done ? "Copied" : "Not allowed";
    button.focus();
    setTimeout(() => {
      button.textContent = button.dataset.told;
      delete button.dataset.told;
    }, 1400);
  });
}
