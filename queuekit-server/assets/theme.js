// Sets the chosen colours before the page is painted: a module would come too late.
try {
  const theme = localStorage.getItem("queuekit-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage, the system decides.
}
