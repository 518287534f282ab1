// What stands around every page: the mark, the navigation, language and theme, and words for everybody.
import { html, useEffect, useRef, useState } from "./view.js";
import { onAnnounce } from "./announce.js";
import { Button } from "./components/controls.js";
import { Dome, Icon } from "./components/icon.js";
import { LANGUAGES, language, speak, t, word } from "./language/words.js";
import { choose, preference } from "./preferences.js";
import { Link } from "./routes.js";

const THEMES = { auto: word("As the system"), light: word("Light"), dark: word("Dark") };
const LONG_ENOUGH = 7000;

function Preferences() {
  const [, redraw] = useState(0);
  const theme = preference("theme") ?? "auto";
  return html`<div class="preferences">
    <select class="select" aria-label=${t("Language")} value=${language()}
      onChange=${(event) => speak(event.target.value)}>
      ${Object.entries(LANGUAGES).map(([code, name]) => html`<option key=${code} value=${code} lang=${code}>${name}</option>`)}
    </select>
    <select class="select" aria-label=${t("Appearance")} value=${theme}
      onChange=${(event) => {
        choose("theme", event.target.value === "auto" ? null : event.target.value);
        redraw((count) => count + 1);
      }}>
      ${Object.entries(THEMES).map(([code, name]) => html`<option key=${code} value=${code}>${t(name)}</option>`)}
    </select>
  </div>`;
}

/** Toasts, and the one place that a screen reader listens to for what just happened. */
function Announcements() {
  const [shown, setShown] = useState([]);
  useEffect(
    () =>
      onAnnounce((said) => {
        setShown((before) => [...before.slice(-2), said]);
        const away = () => setShown((before) => before.filter((each) => each.id !== said.id));
        setTimeout(away, said.hint ? LONG_ENOUGH * 2 : LONG_ENOUGH);
      }),
    [],
  );
  const away = (id) => setShown((before) => before.filter((each) => each.id !== id));
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.map(
      (each) => each.heard ? html`<p class="heard" key=${each.id}>${each.text}</p>` : html`<div class=${`toast toast-${each.tone}`} key=${each.id}>
        <div><strong>${each.text}</strong>${each.hint && html`<p>${each.hint}</p>`}</div>
        <${Button} kind="quiet" small iconOnly icon="close" aria-label=${t("Close")} onPress=${() => away(each.id)} />
      </div>`,
    )}
  </div>`;
}

export function Frame({ routes, current, guest, children, full }) {
  const main = useRef(null);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [current?.key]);
  const entries = guest ? [] : routes.filter((route) => route.label);
  const skip = (event) => {
    event.preventDefault();
    main.current?.focus();
  };
  return html`<div class=${`frame ${full ? "frame-full" : ""}`}>
    <a class="skip" href="#main" onClick=${skip}>${t("Skip to the content")}</a>
    <header class="top">
      ${guest
        ? html`<span class="brand"><${Dome} /><span class="brand-name">Redoma</span></span>`
        : html`<${Link} to="/sessions" class="brand"><${Dome} /><span class="brand-name">Redoma</span><//>`}
      ${entries.length > 0 &&
      html`<nav class="nav" aria-label=${t("Main")}>
        ${entries.map(
          (route) => html`<${Link} key=${route.path} to=${route.path} class="nav-link"
            aria-current=${current?.section === route.section ? "page" : undefined}>
            <${Icon} name=${route.icon} /><span>${t(route.label)}</span>
          <//>`,
        )}
      </nav>`}
      <${Preferences} />
    </header>
    <main id="main" class="main" tabindex="-1" ref=${main}>${children}</main>
    <${Announcements} />
  </div>`;
}
