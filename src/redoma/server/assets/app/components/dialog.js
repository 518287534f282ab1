// A modal: the browser's own dialog, which keeps the keyboard inside and gives it back at the end.
import { html, useEffect, useRef } from "../view.js";
import { t } from "../language/words.js";
import { Button } from "./controls.js";

let count = 0;

export function Dialog({ title, onClose, children, actions, wide, tone = "plain", role = "dialog" }) {
  const element = useRef(null);
  const id = useRef(`dialog-${(count += 1)}`).current;
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      if (dialog.open) dialog.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    onClose();
  };
  const outside = (event) => {
    if (event.target === element.current && role !== "alertdialog") onClose();
  };
  return html`<dialog ref=${element} role=${role} class=${`dialog dialog-${tone} ${wide ? "dialog-wide" : ""}`}
    aria-labelledby=${`${id}-title`} aria-describedby=${role === "alertdialog" ? `${id}-body` : undefined}
    onCancel=${cancel} onMouseDown=${outside}>
    <div class="dialog-inside">
      <header class="dialog-head">
        <h2 id=${`${id}-title`}>${title}</h2>
        ${role !== "alertdialog" &&
        html`<${Button} kind="quiet" icon="close" iconOnly aria-label=${t("Close")} onPress=${onClose} />`}
      </header>
      <div class="dialog-body" id=${`${id}-body`}>${children}</div>
      ${actions && html`<footer class="dialog-actions">${actions}</footer>`}
    </div>
  </dialog>`;
}
