// Runs before the first paint: a theme that a person chose is there from the first pixel on.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("redoma.theme");
  } catch {
    chosen = null; // storage is closed to us: the system's theme it is
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
