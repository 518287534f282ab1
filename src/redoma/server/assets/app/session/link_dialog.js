// A link that a program wrote into the terminal: shown in full before anybody follows it.
import { html } from "../view.js";
import { Button } from "../components/controls.js";
import { Dialog } from "../components/dialog.js";
import { t } from "../language/words.js";

/** The address as a browser would open it, or null where it is neither http nor https. */
export function webAddress(text) {
  try {
    const address = new URL(text);
    return ["http:", "https:"].includes(address.protocol) ? address : null;
  } catch {
    return null;
  }
}

export function LinkDialog({ address, onClose }) {
  const open = () => {
    window.open(address.href, "_blank", "noopener,noreferrer");
    onClose();
  };
  return html`<${Dialog} title=${t("Leave for another site?")} onClose=${onClose}
    actions=${html`
      <${Button} onPress=${onClose}>${t("Cancel")}<//>
      <${Button} kind="primary" onPress=${open}>${t("Open {host}", { host: address.host })}<//>`}>
    <p>${t("A program in the terminal made this link:")}</p>
    <pre class="command command-wrap"><code>${address.href}</code></pre>
  <//>`;
}
