// The two pages that lead nowhere by themselves: nobody is signed in, and nothing is at this address.
import { html } from "../view.js";
import { ErrorNote } from "../components/controls.js";
import { Dome } from "../components/icon.js";
import { t } from "../language/words.js";
import { Link } from "../routes.js";

export function SignedOutPage({ error }) {
  return html`<div class="narrow arrival-page">
    <${Dome} size=${96} scene="empty" />
    <h1>${t("Open this page from your terminal")}</h1>
    <p class="lead">${t("Redoma signs a tab in by a link that is good once. Type this, and open what it prints:")}</p>
    <pre class="command"><code>redoma serve</code></pre>
    <${ErrorNote} error=${error} />
    <p class="aside">${t("Somebody gave you a code?")} <${Link} to="/join">${t("Join a session")}<//></p>
  </div>`;
}

export function MissingPage() {
  return html`<div class="narrow arrival-page">
    <${Dome} size=${96} scene="empty" />
    <h1>${t("Nothing is at this address")}</h1>
    <p class="lead"><${Link} to="/sessions">${t("Go to the sessions")}<//></p>
  </div>`;
}
