// English is what the code says; another language is a table beside it, put on where text is shown.
import portuguese from "./pt-BR.js";
import { choose, preference } from "../preferences.js";

export const LANGUAGES = { en: "English", "pt-BR": "Português" };
const TABLES = { "pt-BR": portuguese };

function initial() {
  const chosen = preference("language");
  if (chosen in LANGUAGES) return chosen;
  return (navigator.languages ?? [navigator.language]).some((each, at) => at === 0 && /^pt\b/i.test(each))
    ? "pt-BR"
    : "en";
}

let current = initial();
document.documentElement.lang = current;

export function language() {
  return current;
}

export function speak(next) {
  current = next in LANGUAGES ? next : "en";
  document.documentElement.lang = current;
  choose("language", current);
}

/** The text in the reader's language, with `{name}` filled from the values as plain text. */
export function t(text, values = {}) {
  const said = TABLES[current]?.[text] ?? text;
  return said.replace(/\{(\w+)\}/g, (hole, name) => (name in values ? String(values[name]) : hole));
}

/** A text that is put into the reader's language later, where it is shown. */
export function word(text) {
  return text;
}

const STEPS = [
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];

/** A moment as the server says it: seconds since 1970, or a text with a date. */
export function moment(given) {
  return typeof given === "number" ? given * 1000 : Date.parse(given);
}

/** How long ago a moment was, as a person says it. */
export function ago(given, now = Date.now()) {
  const then = moment(given);
  if (Number.isNaN(then)) return "";
  const seconds = Math.max(0, Math.round((now - then) / 1000));
  const format = new Intl.RelativeTimeFormat(current, { numeric: "auto" });
  for (const [unit, length] of STEPS) {
    if (seconds >= length) return format.format(-Math.floor(seconds / length), unit);
  }
  return t("just now");
}

/** A number of seconds as `1 h 5 min`, `3 min 20 s` or `12 s`. */
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  if (hours) return `${hours} h ${minutes} min`;
  if (minutes) return `${minutes} min ${whole % 60} s`;
  return `${whole} s`;
}

/** A moment as the reader's clock says it. */
export function clock(given) {
  const date = new Date(moment(given));
  if (Number.isNaN(date.getTime())) return String(given);
  return new Intl.DateTimeFormat(current, { dateStyle: "short", timeStyle: "medium" }).format(date);
}
