// What a person chose for this browser: language, theme, whether the terminal is read aloud.
const PREFIX = "redoma.";
const listeners = new Set();

function read(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function preference(name) {
  return read(name);
}

export function choose(name, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // The choice then holds for this page only.
  }
  if (name === "theme") {
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
  }
  listeners.forEach((each) => each(name, value));
}

export function onPreference(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function wantsLessMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
