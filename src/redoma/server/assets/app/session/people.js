// Who is here and who is at the door; for the host, with what each may do.
import { html } from "../view.js";
import { api } from "../api.js";
import { Avatar, Badge, Button } from "../components/controls.js";
import { Icon } from "../components/icon.js";
import { ago, t, word } from "../language/words.js";
import { permissionOf } from "./state.js";

export const MAY = {
  none: { label: word("Sees nothing"), icon: "hidden", tone: "calm" },
  read_only: { label: word("Watches"), icon: "eye", tone: "calm" },
  read_write: { label: word("Can type"), icon: "pencil", tone: "warning" },
};

export function WaitingRoom({ id, waiting }) {
  if (!waiting.length) return null;
  return html`<section class="waiting-room" aria-labelledby="waiting-title">
    <h2 id="waiting-title"><${Icon} name="door" />${t("Waiting room")}<span class="count">${waiting.length}</span></h2>
    <ul>
      ${waiting.map(
        (guest) => html`<li key=${guest.id} class="knock">
          <div class="person">
            <${Avatar} id=${guest.id} name=${guest.name} />
            <div class="person-words">
              <strong><bdi>${guest.name}</bdi></strong>
              <span><bdi>${guest.origin}</bdi> · ${ago(guest.since)}</span>
            </div>
          </div>
          <div class="row">
            <${Button} kind="primary" small icon="check" aria-label=${t("Admit {name}", { name: guest.name })}
              onPress=${() => api.admit(id, guest.id)}>${t("Admit")}<//>
            <${Button} small aria-label=${t("Refuse {name}", { name: guest.name })}
              onPress=${() => api.refuse(id, guest.id)}>${t("Refuse")}<//>
            <${Button} kind="danger-quiet" small icon="block" aria-label=${t("Block {name}", { name: guest.name })}
              onPress=${() => api.block(id, guest.id)}>${t("Block")}<//>
          </div>
        </li>`,
      )}
    </ul>
  </section>`;
}

function GuestControls({ id, guest, onWrite }) {
  const permission = permissionOf(guest.permission);
  const set = (next) => () => api.permit(id, guest.id, next);
  return html`<div class="row person-controls">
    ${permission === "read_write"
      ? html`<${Button} kind="warning" small icon="pencil" aria-label=${t("Revoke writing of {name}", { name: guest.name })}
          onPress=${set("read_only")}>${t("Revoke writing")}<//>`
      : html`<${Button} small icon="pencil" aria-label=${t("Make editable for {name}", { name: guest.name })}
          onPress=${() => onWrite(guest)}>${t("Make editable")}<//>`}
    ${permission === "none"
      ? html`<${Button} kind="quiet" small iconOnly icon="eye" title=${t("Show the terminal")}
          aria-label=${t("Show the terminal to {name}", { name: guest.name })} onPress=${set("read_only")} />`
      : html`<${Button} kind="quiet" small iconOnly icon="hidden" title=${t("Hide the terminal")}
          aria-label=${t("Hide the terminal from {name}", { name: guest.name })} onPress=${set("none")} />`}
    <${Button} kind="quiet" small iconOnly icon="close" title=${t("Send out")}
      aria-label=${t("Send {name} out", { name: guest.name })} onPress=${() => api.refuse(id, guest.id)} />
    <${Button} kind="danger-quiet" small iconOnly icon="block" title=${t("Block")}
      aria-label=${t("Block {name}", { name: guest.name })} onPress=${() => api.block(id, guest.id)} />
  </div>`;
}

function Person({ guest, you, host, id, onWrite }) {
  const may = MAY[permissionOf(guest.permission)];
  return html`<li class="person-row">
    <div class="person">
      <${Avatar} id=${guest.id} name=${guest.name} />
      <div class="person-words">
        <strong><bdi>${guest.name}</bdi>${you && html` <span class="you">${t("you")}</span>`}</strong>
        ${host && html`<span><bdi>${guest.origin}</bdi> · ${guest.transport === "webrtc" ? t("direct") : t("via server")}</span>`}
      </div>
      <${Badge} tone=${may.tone}><${Icon} name=${may.icon} size=${14} /> ${t(may.label)}<//>
    </div>
    ${host && html`<${GuestControls} id=${id} guest=${guest} onWrite=${onWrite} />`}
  </li>`;
}

export function People({ id, inside, you, host, onWrite, onShare }) {
  return html`<section class="panel" aria-labelledby="people-title">
    <h2 id="people-title"><${Icon} name="people" />${t("People")}</h2>
    <ul class="people">
      <li class="person-row">
        <div class="person">
          <span class="avatar avatar-host" aria-hidden="true"><${Icon} name="terminal" size=${16} /></span>
          <div class="person-words"><strong>${t("Host")}${host && html` <span class="you">${t("you")}</span>`}</strong></div>
          <${Badge} tone="good">${t("Owner")}<//>
        </div>
      </li>
      ${inside.map(
        (guest) => html`<${Person} key=${guest.id} guest=${guest} you=${guest.id === you} host=${host} id=${id} onWrite=${onWrite} />`,
      )}
    </ul>
    ${host && inside.length === 0 &&
    html`<div class="people-empty">
      <p>${t("Nobody else is here. A guest needs a code from you, and then your leave to come in.")}</p>
      <${Button} icon="share" onPress=${onShare}>${t("Invite a guest")}<//>
    </div>`}
  </section>`;
}
