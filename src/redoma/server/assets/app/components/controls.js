// Buttons, fields and the small things that pages are put together from.
import { html, useEffect, useRef, useState } from "../view.js";
import { announce, announceError } from "../announce.js";
import { t } from "../language/words.js";
import { Icon } from "./icon.js";

/** A button; while what it does is under way it says so and cannot be pressed twice. */
export function Button({ kind = "plain", icon, onPress, children, small, iconOnly, ...rest }) {
  const [busy, setBusy] = useState(false);
  const alive = useRef(true);
  useEffect(() => () => {
    alive.current = false;
  }, []);
  const press = async (event) => {
    if (busy || !onPress) return;
    const doing = onPress(event);
    if (!(doing instanceof Promise)) return;
    setBusy(true);
    try {
      await doing;
    } catch (error) {
      announceError(error);
    } finally {
      if (alive.current) setBusy(false);
    }
  };
  const classes = ["button", `button-${kind}`, small && "button-small", iconOnly && "button-icon"];
  return html`<button type="button" class=${classes.filter(Boolean).join(" ")} aria-busy=${busy ? "true" : undefined}
    onClick=${press} ...${rest}>
    ${icon && html`<${Icon} name=${icon} size=${small ? 16 : 18} />`}
    ${children && html`<span>${children}</span>`}
  </button>`;
}

export function CopyButton({ text, label }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      announce(t("Copied."));
    } catch {
      announce(t("The browser did not let us copy."), {
        tone: "warning",
        hint: t("Mark the text and copy it yourself."),
      });
    }
  };
  return html`<${Button} icon="copy" onPress=${copy}>${label}<//>`;
}

export function Badge({ tone = "calm", dot, children }) {
  return html`<span class=${`badge badge-${tone}`}>
    ${dot && html`<span class=${`dot dot-${dot}`} aria-hidden="true"></span>`}${children}
  </span>`;
}

/** A field with its label above and, where there is one, a word of help below. */
export function Field({ label, help, id, ...input }) {
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <input id=${id} class="input" aria-describedby=${help ? `${id}-help` : undefined} autocomplete="off" spellcheck=${false} ...${input} />
    ${help && html`<p class="field-help" id=${`${id}-help`}>${help}</p>`}
  </div>`;
}

export function Switch({ label, help, id, checked, onChange }) {
  return html`<div class="switch-row">
    <input type="checkbox" role="switch" class="switch" id=${id} checked=${checked}
      aria-describedby=${help ? `${id}-help` : undefined} onChange=${(event) => onChange(event.target.checked)} />
    <div>
      <label for=${id}>${label}</label>
      ${help && html`<p class="field-help" id=${`${id}-help`}>${help}</p>`}
    </div>
  </div>`;
}

/** What a room says when nothing is in it: what it is for, and the next step. */
export function Empty({ art, title, children, action }) {
  return html`<div class="empty">
    <div class="empty-art" aria-hidden="true">${art}</div>
    <h2>${title}</h2>
    <p>${children}</p>
    ${action && html`<div class="empty-action">${action}</div>`}
  </div>`;
}

export function ErrorNote({ error }) {
  if (!error) return null;
  return html`<div class="note note-danger" role="alert">
    <${Icon} name="warning" />
    <div><strong>${error.message}</strong>${error.hint && html`<p>${error.hint}</p>`}</div>
  </div>`;
}

/** The first letters of a name, in one of six quiet colours that stay with the name. */
export function Avatar({ name, id = name }) {
  const letters = [...String(name).trim()].slice(0, 1).join("").toLocaleUpperCase() || "?";
  let sum = 0;
  for (const each of String(id)) sum = (sum * 31 + each.codePointAt(0)) % 6;
  return html`<span class=${`avatar avatar-${sum}`} aria-hidden="true">${letters}</span>`;
}
