// A code for one guest: large enough to be read out, with the time that it is still good for.
import { html, useEffect, useState } from "../view.js";
import { api } from "../api.js";
import { Button, CopyButton, ErrorNote } from "../components/controls.js";
import { Dialog } from "../components/dialog.js";
import { Icon } from "../components/icon.js";
import { moment, span, t } from "../language/words.js";

export function ShareDialog({ id, onClose }) {
  const [made, setMade] = useState(null);
  const [error, setError] = useState(null);
  const [now, setNow] = useState(Date.now());
  const make = async () => {
    setError(null);
    try {
      setMade(await api.code(id));
    } catch (wrong) {
      setMade(null);
      setError(wrong);
    }
  };
  useEffect(() => {
    make();
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const expires = made && moment(made.expires);
  const left = made ? Math.max(0, (expires - now) / 1000) : 0;
  const link = made?.link ? new URL(made.link, location.href).href : "";
  return html`<${Dialog} title=${t("Invite a guest")} onClose=${onClose}
    actions=${html`<${Button} onPress=${make}>${t("Make another code")}<//>
      <${Button} kind="primary" onPress=${onClose}>${t("Done")}<//>`}>
    <p class="lead">${t("One code lets one guest knock. You admit them, and they only watch until you say otherwise.")}</p>
    <${ErrorNote} error=${error} />
    ${made &&
    html`<div class="code-card ${left ? "" : "code-over"}">
      <output class="code" aria-label=${t("Code")}>${made.code}</output>
      <p class="code-left"><${Icon} name="clock" size=${16} />
        ${left ? t("Good for {time}, once", { time: span(left) }) : t("This code is over. Make another.")}</p>
    </div>
    <div class="row">
      <${CopyButton} text=${made.code} label=${t("Copy the code")} />
      ${link && html`<${CopyButton} text=${link} label=${t("Copy the link")} />`}
    </div>`}
  <//>`;
}
