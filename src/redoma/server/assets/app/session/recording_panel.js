// The recording of a session: on or off, seen again, taken along.
import { html } from "../view.js";
import { api } from "../api.js";
import { Badge, Button } from "../components/controls.js";
import { Icon } from "../components/icon.js";
import { t } from "../language/words.js";
import { go } from "../routes.js";

/** Gives the browser a file to save, without a request that would have to carry our bearer. */
export async function saveRecording(id, format) {
  const text = await api.recording(id, format);
  const address = URL.createObjectURL(new Blob([text], { type: "application/x-asciicast" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `session-${id}${format === "v2" ? "-v2" : ""}.cast`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export function RecordingPanel({ id, on, ended, made }) {
  return html`<section class="panel" aria-labelledby="recording-title">
    <h2 id="recording-title"><${Icon} name="record" />${t("Recording")}
      ${on && html`<${Badge} tone="danger" dot="live">${t("On")}<//>`}</h2>
    <p class="field-help">${t("What the screen shows, without secrets; not what is typed.")}</p>
    <div class="row">
      ${!ended &&
      html`<${Button} small icon=${on ? "stop" : "record"} onPress=${() => api.record(id, !on)}>${on ? t("Stop recording") : t("Start recording")}<//>`}
      ${made &&
      html`<${Button} small icon="play" onPress=${() => go(`/sessions/${encodeURIComponent(id)}/replay`)}>${t("Replay")}<//>
        <${Button} small icon="download" onPress=${() => saveRecording(id, "v3")}>${t("Download")}<//>
        <${Button} small icon="download" onPress=${() => saveRecording(id, "v2")}>${t("For older players (v2)")}<//>`}
    </div>
  </section>`;
}
