// A recording seen again, with a timeline: where somebody came, was granted, was revoked.
import { html, useCallback, useEffect, useRef, useState } from "../view.js";
import { api, ApiError } from "../api.js";
import { Button, Empty, ErrorNote } from "../components/controls.js";
import { Dome, Icon } from "../components/icon.js";
import { span, t } from "../language/words.js";
import { Link } from "../routes.js";
import { CastPlayer, parse } from "../session/asciicast.js";
import { saveRecording } from "../session/recording_panel.js";
import { TerminalView } from "../session/terminal_view.js";

const SPEEDS = [0.5, 1, 2, 4, 8];

function useCast(id) {
  const [cast, setCast] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let alive = true;
    api.recording(id, "v3").then(
      (text) => {
        if (!alive) return;
        try {
          setCast(parse(text));
        } catch {
          setError(new ApiError({ code: "not_a_recording", message: t("This recording cannot be read.") }));
        }
      },
      (wrong) => alive && setError(wrong),
    );
    return () => {
      alive = false;
    };
  }, [id]);
  return { cast, error };
}

function Player({ cast }) {
  const [at, setAt] = useState({ time: 0, playing: false });
  const [speed, setSpeed] = useState(1);
  const player = useRef(null);
  const view = useRef(null);
  const mount = useCallback((place) => {
    player.current?.pause();
    view.current?.dispose();
    view.current = null;
    if (!place) return;
    const made = new TerminalView(place, { scrollback: 1000 });
    made.follows = true;
    view.current = made;
    player.current = new CastPlayer(cast, made, (time, playing) => setAt({ time, playing }));
    player.current.seek(Math.min(0.01, cast.length));
  }, []);
  const jump = (time) => player.current.seek(time);
  const choose = (event) => {
    setSpeed(Number(event.target.value));
    player.current.speed = Number(event.target.value);
  };
  return html`<div class="glass replay">
      <div class="terminal" role="region" aria-label=${t("Recording")} ref=${mount}></div>
      <div class="transport-bar">
        <${Button} kind="primary" iconOnly icon=${at.playing ? "pause" : "play"} aria-label=${at.playing ? t("Pause") : t("Play")}
          onPress=${() => (at.playing ? player.current.pause() : player.current.play())} />
        <div class="timeline">
          <input type="range" min="0" max=${cast.length || 0.01} step="0.05" value=${at.time} aria-label=${t("Place in the recording")}
            aria-valuetext=${t("{now} of {all}", { now: span(at.time), all: span(cast.length) })}
            onInput=${(event) => jump(Number(event.target.value))} />
          <div class="ticks" aria-hidden="true">
            ${cast.markers.map((each, index) => html`<i key=${index} style=${{ left: `${(100 * each.time) / (cast.length || 1)}%` }}></i>`)}
          </div>
        </div>
        <span class="time">${span(at.time)} / ${span(cast.length)}</span>
        <select class="select" aria-label=${t("Speed")} value=${speed} onChange=${choose}>
          ${SPEEDS.map((each) => html`<option key=${each} value=${each}>${each} ×</option>`)}
        </select>
      </div>
    </div>
    ${cast.markers.length > 0 &&
    html`<section class="panel" aria-labelledby="markers-title">
      <h2 id="markers-title"><${Icon} name="logs" />${t("What happened")}</h2>
      <ol class="markers">
        ${cast.markers.map(
          (each, index) => html`<li key=${index}>
            <button type="button" class="marker" aria-current=${at.time >= each.time && at.time < (cast.markers[index + 1]?.time ?? Infinity) ? "true" : undefined}
              onClick=${() => jump(each.time)}><span class="time">${span(each.time)}</span><bdi>${each.data}</bdi></button>
          </li>`,
        )}
      </ol>
    </section>`}`;
}

export function ReplayPage({ id }) {
  const { cast, error } = useCast(id);
  const back = `/sessions/${encodeURIComponent(id)}`;
  const none = error?.status === 404;
  return html`<div class="wide">
    <div class="page-head">
      <div class="page-head-back">
        <${Link} to=${back} class="button button-quiet button-icon" aria-label=${t("Back to the session")}><${Icon} name="back" /><//>
        <div><h1><bdi>${cast?.title || t("Replay")}</bdi></h1>
          ${cast && html`<p class="lead">${t("{time} long", { time: span(cast.length) })} · ${cast.cols}×${cast.rows}</p>`}</div>
      </div>
      ${cast && html`<div class="row">
        <${Button} icon="download" onPress=${() => saveRecording(id, "v3")}>${t("Download")}<//>
        <${Button} icon="download" onPress=${() => saveRecording(id, "v2")}>${t("For older players (v2)")}<//>
      </div>`}
    </div>
    ${none
      ? html`<${Empty} art=${html`<${Dome} size=${120} scene="empty" />`} title=${t("This session was not recorded")}
          action=${html`<${Link} class="button" to=${back}>${t("Back to the session")}<//>`}>
          ${t("Start a recording in the session, or with it: “Record it”.")}<//>`
      : html`<${ErrorNote} error=${error} />`}
    ${cast && html`<div class="replay-stage"><${Player} cast=${cast} /></div>`}
  </div>`;
}
