// The moment before a guest may type: the warning that the host has to read, word by word.
import { html, useRef, useEffect } from "../view.js";
import { Button } from "../components/controls.js";
import { Dialog } from "../components/dialog.js";
import { t } from "../language/words.js";

export function WriteDialog({ name, onGrant, onClose }) {
  const place = useRef(null);
  useEffect(() => {
    // The careful answer has the focus: a key pressed too early grants nothing.
    place.current?.closest("dialog")?.querySelector("[data-careful]")?.focus();
  }, []);
  return html`<${Dialog} role="alertdialog" tone="warning" title=${t("⚠️ WARNING")} onClose=${onClose}
    actions=${html`
      <${Button} data-careful onPress=${onClose}>${t("Cancel")}<//>
      <${Button} kind="warning" icon="pencil" onPress=${onGrant}>${t("Grant access")}<//>`}>
    <p ref=${place} class="write-guest"><bdi>${name}</bdi></p>
    <p class="write-words">${t("Giving write access lets the guest control your terminal.")}</p>
    <p class="write-words">${t("Only do this with people you trust.")}</p>
  <//>`;
}
