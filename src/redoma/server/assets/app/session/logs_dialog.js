// "View logs": what happened in this session, newest first, for the host alone.
import { html, useEffect, useState } from "../view.js";
import { api } from "../api.js";
import { Badge, Button, ErrorNote } from "../components/controls.js";
import { Dialog } from "../components/dialog.js";
import { clock, span, t, word } from "../language/words.js";
import { MAY } from "./people.js";
import { permissionOf } from "./state.js";

const KINDS = {
  session_started: [word("Session started"), "good"],
  session_ended: [word("Session ended"), "calm"],
  guest_waiting: [word("Guest knocked"), "warning"],
  guest_admitted: [word("Guest admitted"), "good"],
  guest_joined: [word("Guest joined"), "good"],
  guest_left: [word("Guest left"), "calm"],
  guest_refused: [word("Guest refused"), "danger"],
  guest_blocked: [word("Guest blocked"), "danger"],
  permission_changed: [word("Permission changed"), "warning"],
  command_executed: [word("Command"), "calm"],
  container_restarted: [word("Container restarted"), "warning"],
  recording_started: [word("Recording started"), "danger"],
  recording_stopped: [word("Recording stopped"), "calm"],
  code_created: [word("Code made"), "calm"],
};

/** What a row says beside who and what: the command as it was, a permission's way, or the details. */
function words({ type, command, details, facts = {} }) {
  if (type === "command_executed" && command) return command;
  if (type === "permission_changed" && facts.to) {
    return t("{name}: {from} → {to}", { name: facts.name ?? "", from: t(permission(facts.from)), to: t(permission(facts.to)) });
  }
  if (type === "session_ended" && Number.isFinite(facts.duration_seconds)) {
    return t("after {time}", { time: span(facts.duration_seconds) });
  }
  return facts.origin ?? facts.workspace ?? facts.why ?? String(details ?? "");
}

function permission(level) {
  return MAY[permissionOf(level)].label;
}

export function LogsDialog({ id, onClose }) {
  const [events, setEvents] = useState(null);
  const [error, setError] = useState(null);
  const load = async () => {
    try {
      setEvents([...(await api.audit(id))].reverse());
      setError(null);
    } catch (wrong) {
      setError(wrong);
    }
  };
  useEffect(() => {
    load();
  }, []);
  const kind = (type) => KINDS[type] ?? [String(type).replaceAll("_", " "), "calm"];
  return html`<${Dialog} wide title=${t("Logs")} onClose=${onClose}
    actions=${html`<${Button} onPress=${load}>${t("Refresh")}<//><${Button} kind="primary" onPress=${onClose}>${t("Done")}<//>`}>
    <${ErrorNote} error=${error} />
    ${events?.length === 0 && html`<p class="lead">${t("Nothing has happened yet.")}</p>`}
    ${events?.length > 0 &&
    html`<div class="table-frame" tabindex="0" role="region" aria-label=${t("Logs")}>
      <table class="table">
        <thead><tr><th scope="col">${t("When")}</th><th scope="col">${t("What")}</th><th scope="col">${t("Who")}</th><th scope="col">${t("Details")}</th></tr></thead>
        <tbody>
          ${events.map(
            (event, at) => html`<tr key=${at}>
              <td><time dateTime=${event.timestamp}>${clock(event.timestamp)}</time></td>
              <td><${Badge} tone=${kind(event.type ?? event.action)[1]}>${t(kind(event.type ?? event.action)[0])}<//></td>
              <td><bdi>${event.actor === "host" ? t("Host") : event.actor}</bdi></td>
              <td class=${event.type === "command_executed" ? "table-code" : ""}><bdi>${words(event)}</bdi></td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`}
  <//>`;
}
