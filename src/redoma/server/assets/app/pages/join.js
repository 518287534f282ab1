// A guest's way in: a code, a name, and then the waiting room.
import { html, useState } from "../view.js";
import { api } from "../api.js";
import { Button, ErrorNote, Field } from "../components/controls.js";
import { Dome } from "../components/icon.js";
import { keepGuest, takeFromFragment } from "../identity.js";
import { t } from "../language/words.js";
import { choose, preference } from "../preferences.js";
import { go } from "../routes.js";

const LONGEST_NAME = 40;

export function JoinPage() {
  const [code, setCode] = useState(() => takeFromFragment("code") ?? "");
  const [name, setName] = useState(() => preference("name") ?? "");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const given = useState(() => code !== "")[0];
  const join = async (event) => {
    event.preventDefault();
    if (busy) return;
    setError(null);
    setBusy(true);
    try {
      const joined = await api.join(code.trim(), name.trim());
      choose("name", name.trim());
      keepGuest({ name: name.trim(), ...joined });
      go(`/sessions/${encodeURIComponent(joined.session)}`, { replace: true });
    } catch (wrong) {
      setError(wrong);
      setBusy(false);
    }
  };
  return html`<div class="narrow arrival-page">
    <${Dome} size=${96} scene="empty" />
    <h1>${t("Join a session")}</h1>
    <p class="lead">${t("The host sees your name and where you come from, and lets you in. Until then you see nothing of the session, and nobody sees you.")}</p>
    <form class="form panel" onSubmit=${join}>
      <${Field} id="code" label=${t("Code")} value=${code} required autofocus=${!given}
        onInput=${(event) => setCode(event.target.value)} class="input input-code input-large"
        help=${t("From the host; good once, for 15 minutes.")} autocapitalize="off" />
      <${Field} id="name" label=${t("Your name")} value=${name} required maxlength=${LONGEST_NAME} autofocus=${given}
        onInput=${(event) => setName(event.target.value)} autocomplete="name" />
      <${ErrorNote} error=${error} />
      <button type="submit" class="button button-primary button-block" aria-busy=${busy ? "true" : undefined}>
        <span>${t("Ask to come in")}</span>
      </button>
    </form>
  </div>`;
}
