// One session: the terminal, who is with it, and what each may do; the same page for host and guest.
import { html, useEffect, useMemo, useRef, useState } from "../view.js";
import { announce } from "../announce.js";
import { api } from "../api.js";
import { Badge, Button, ErrorNote } from "../components/controls.js";
import { Dialog } from "../components/dialog.js";
import { Dome, Icon } from "../components/icon.js";
import { forgetGuest } from "../identity.js";
import { span, t } from "../language/words.js";
import { choose, preference } from "../preferences.js";
import { Link, go } from "../routes.js";
import { LinkDialog, webAddress } from "../session/link_dialog.js";
import { useLiveSession } from "../session/live_session.js";
import { LogsDialog } from "../session/logs_dialog.js";
import { People, WaitingRoom } from "../session/people.js";
import { RecordingPanel } from "../session/recording_panel.js";
import { ShareDialog } from "../session/share_dialog.js";
import { WriteDialog } from "../session/write_dialog.js";

function Moment({ scene, title, children, action }) {
  return html`<div class="moment" role="status">
    <${Dome} size=${148} scene=${scene} />
    <h1>${title}</h1>
    ${children}
    ${action && html`<div class="row row-middle">${action}</div>`}
  </div>`;
}

/** What a guest reads while the host is away; the seconds are not read aloud, each of them would be. */
function HostAway({ ends }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 500);
    return () => clearInterval(timer);
  }, []);
  const left = Number.isFinite(ends) ? Math.max(0, Math.ceil((ends - Date.now()) / 1000)) : null;
  return html`<div class="banner banner-warning">
    <${Icon} name="pause" /><span role="status"><strong>${t("The host is away.")}</strong> ${t("Nothing moves until they are back; else the session ends.")}</span>
    ${left !== null && html`<span role="timer" aria-live="off">${t("{seconds} s left", { seconds: left })}</span>`}
  </div>`;
}

/** What stands above the terminal: the one thing that a person has to know now. */
function Banner({ state, host }) {
  if (state.phase !== "inside") return null;
  const say = (tone, icon, text, detail) => html`<div class=${`banner banner-${tone}`} role="status">
    <${Icon} name=${icon} /><strong>${text}</strong>${detail && html`<span>${detail}</span>`}
  </div>`;
  if (state.link === "lost" || (host && state.link === "connecting")) {
    return say("warning", "warning", t("The connection is lost."), t("We try again by ourselves."));
  }
  if (state.frozen) {
    return host
      ? null
      : html`<${HostAway} ends=${state.ends} />`;
  }
  if (host) return null;
  if (state.permission === "read_write") {
    return say("write", "pencil", t("You can type now"), t("The host sees what you do, and can stop you at any time."));
  }
  if (state.told === "revoked") return say("warning", "eye", t("Your write access has been revoked."));
  if (state.permission === "none") return say("calm", "hidden", t("The host hides the terminal from you."));
  return say("calm", "eye", t("You are watching."), t("The host can let you type."));
}

function Ended({ state, host, id, onLogs, made }) {
  const { by, duration, exit_code: status, changes } = state.ended ?? {};
  // The command that takes over what changed stands below, to be copied; it is not said twice.
  const below = changes ? `redoma apply ${changes}` : null;
  const notes = (Array.isArray(state.ended?.notes) ? state.ended.notes : []).filter(
    (each) => !(below && String(each).includes(below)),
  );
  const facts = [
    by && (by === "host" ? t("by the host") : t("by {name}", { name: by })),
    Number.isFinite(duration) && t("after {time}", { time: span(duration) }),
    Number.isFinite(status) && by !== "host" && t("exit status {status}", { status }),
  ].filter(Boolean);
  return html`<${Moment} scene="ended" title=${t("The session has ended")}
    action=${host
      ? html`<${Button} icon="logs" onPress=${onLogs}>${t("View logs")}<//>
          ${made && html`<${Button} icon="play" onPress=${() => go(`/sessions/${encodeURIComponent(id)}/replay`)}>${t("Replay")}<//>`}
          <${Button} kind="primary" onPress=${() => go("/sessions")}>${t("All sessions")}<//>`
      : html`<${Button} kind="primary" onPress=${() => go("/join")}>${t("Join another session")}<//>`}>
    <p class="lead"><bdi>${facts.join(" · ")}</bdi></p>
    ${host && notes.map((each, at) => html`<p class="aside" key=${at}><bdi>${each}</bdi></p>`)}
    ${host && changes && html`<p class="aside">${t("What it changed is kept apart until you take it over:")}</p>
      <pre class="command"><code>redoma apply ${changes}</code></pre>`}
  <//>`;
}

function Outside({ state, identity, id }) {
  const again = html`<${Button} kind="primary" onPress=${() => {
    forgetGuest(id);
    go("/join");
  }}>${t("Join with another code")}<//>`;
  if (state.link === "refused") {
    return html`<div class="moment"><${Dome} size=${120} scene="ended" />
      <h1>${state.error?.status === 404 ? t("This session is not here") : t("You cannot come in")}</h1>
      <${ErrorNote} error=${state.error} />
      <div class="row row-middle">${identity.role === "guest" ? again : html`<${Link} class="button button-primary" to="/sessions">${t("All sessions")}<//>`}</div>
    </div>`;
  }
  if (state.phase === "refused" || state.phase === "blocked") {
    return html`<${Moment} scene="ended" title=${t("The host did not let you in")} action=${again}>
      <p class="lead">${t("If this is a mistake, ask them for a new code.")}</p>
    <//>`;
  }
  if (state.phase === "waiting") {
    return html`<${Moment} scene="waiting" title=${t("Waiting for the host")}>
      <p class="lead">${t("You knocked as")} <strong><bdi>${state.name ?? identity.name}</bdi></strong>. ${t("The host sees this name and where you come from.")}</p>
      <p class="aside">${t("Keep this page open. You come in as soon as they admit you.")}</p>
    <//>`;
  }
  return html`<${Moment} scene="waiting" title=${state.link === "lost" ? t("The connection is lost.") : t("Connecting …")}>
    <p class="aside">${state.link === "lost" ? t("We try again by ourselves.") : ""}</p>
  <//>`;
}

function EndDialog({ id, onClose }) {
  return html`<${Dialog} role="alertdialog" title=${t("End this session?")} onClose=${onClose}
    actions=${html`<${Button} onPress=${onClose}>${t("Keep it")}<//>
      <${Button} kind="danger" icon="power" onPress=${async () => {
        await api.end(id);
        onClose();
      }}>${t("End the session")}<//>`}>
    <p>${t("Everything that runs in it is stopped, and all guests leave.")}</p>
  <//>`;
}

export function SessionPage({ id, identity }) {
  const host = identity.role === "host";
  const [dialog, setDialog] = useState(() => (host && location.hash === "#share" ? "share" : null));
  const [guestToWrite, setGuestToWrite] = useState(null);
  const [link, setLink] = useState(null);
  const [shows, setShows] = useState("terminal"); // on a phone: one at a time
  const [aloud, setAloud] = useState(preference("read-aloud") === "on");
  const [large, setLarge] = useState(false); // a watcher on a phone: letters to read, or all of it
  const actions = useRef(null);
  const known = useRef(new Set());
  const { state, dispatch, mount, view } = useLiveSession(id, identity, {
    onLink: (text) => setLink(webAddress(text)),
    leave: () => actions.current?.querySelector("button, a")?.focus(),
    onControl: (message) => {
      if (message.type === "notice" && message.code !== "webrtc") {
        announce(String(message.message ?? ""), { tone: "warning", hint: String(message.hint ?? "") });
      }
      if (message.type !== "people" || !host) return;
      for (const guest of message.guests ?? []) {
        if (guest.state === "waiting" && !known.current.has(guest.id)) {
          announce(t("{name} is waiting to come in", { name: guest.name }), { heard: true });
        }
        if (guest.state === "waiting") known.current.add(guest.id);
        else known.current.delete(guest.id);
      }
    },
  });
  useEffect(() => {
    if (location.hash === "#share") history.replaceState(null, "", location.pathname);
    if (host) api.session(id).then((session) => dispatch({ type: "loaded", session }), () => {});
  }, []);
  const [recorded, setRecorded] = useState(false);
  useEffect(() => {
    if (state.recording || state.session.recorded) setRecorded(true);
  }, [state.recording, state.session.recorded]);
  const waiting = useMemo(() => state.people.filter((each) => each.state === "waiting"), [state.people]);
  const inside = useMemo(
    () => state.people.filter((each) => (each.state ?? "admitted") === "admitted"),
    [state.people],
  );
  const close = () => {
    setDialog(null);
    setGuestToWrite(null);
  };
  const ended = state.phase === "ended";
  const present = state.phase === "inside" || (host && !ended && state.link !== "refused");
  const sees = present && (host || state.permission !== "none");
  const leave = () => {
    forgetGuest(id);
    go("/join");
  };

  if (!present && !ended) return html`<${Outside} state=${state} identity=${identity} id=${id} />`;
  return html`<div class="session">
    <div class="session-head" ref=${actions}>
      ${host && html`<${Link} to="/sessions" class="button button-quiet button-icon" aria-label=${t("All sessions")} title=${t("All sessions")}><${Icon} name="back" /><//>`}
      <div class="session-name">
        <h1><bdi>${state.session.title || t("Session")}</bdi></h1>
        <p class="facts">
          ${ended ? html`<${Badge}>${t("Ended")}<//>` : state.frozen ? html`<${Badge} tone="warning" dot="still">${t("Paused")}<//>` : html`<${Badge} tone="good" dot="live">${t("Running")}<//>`}
          ${state.recording && !ended && html`<${Badge} tone="danger" dot="live">${state.session.typing_recorded ? t("Recording, with what is typed") : t("Recording")}<//>`}
          ${host && state.session.cwd && html`<span class="path"><bdi>${state.session.cwd}</bdi></span>`}
        </p>
      </div>
      <div class="session-actions">
        ${!ended && html`<${Button} kind="quiet" icon="sound" aria-pressed=${aloud ? "true" : "false"} onPress=${() => {
          choose("read-aloud", aloud ? null : "on");
          setAloud(!aloud);
        }}>${t("Read aloud")}<//>`}
        ${host && html`<${Button} kind="quiet" icon="logs" onPress=${() => setDialog("logs")}>${t("View logs")}<//>`}
        ${host && !ended && html`<${Button} icon="share" kind="primary" onPress=${() => setDialog("share")}>${t("Invite")}<//>`}
        ${host && !ended && html`<${Button} kind="danger-quiet" icon="power" onPress=${() => setDialog("end")}>${t("End")}<//>`}
        ${!host && !ended && html`<${Button} kind="danger-quiet" icon="door" onPress=${leave}>${t("Leave")}<//>`}
      </div>
    </div>
    ${!ended && html`<div class="switcher" role="group" aria-label=${t("View")}>
      ${["terminal", "people"].map(
        (each) => html`<button type="button" key=${each} class="switcher-part" aria-pressed=${shows === each ? "true" : "false"}
          onClick=${() => setShows(each)}>
          ${each === "terminal" ? t("Terminal") : t("People")}
          ${each === "people" && waiting.length > 0 && html`<span class="count">${waiting.length}</span>`}
        </button>`,
      )}
    </div>`}
    <div class=${`stage stage-${ended ? "terminal" : shows} ${ended && !host ? "stage-alone" : ""}`}>
      <div class=${`glass ${state.permission === "read_write" && !host ? "glass-write" : ""} ${state.frozen ? "glass-frozen" : ""}`}>
        <${Banner} state=${state} host=${host} />
        ${ended
          ? html`<${Ended} state=${state} host=${host} id=${id} made=${recorded} onLogs=${() => setDialog("logs")} />`
          : sees
            ? html`<div class=${`terminal ${large ? "terminal-large" : ""}`} role="region" aria-label=${t("Terminal")} aria-describedby="terminal-keys" ref=${mount}></div>
                <div class="terminal-keys" id="terminal-keys">
                  <span class="keys">${t("Leave the terminal with")} <kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>↑</kbd></span>
                  <span class="transport">${host ? "" : state.transport === "webrtc" ? t("Connected directly") : t("Connected by the server")}</span>
                  ${!host && html`<${Button} kind="quiet" small aria-pressed=${large ? "true" : "false"} onPress=${() => {
                    view.current?.enlarge(!large);
                    setLarge(!large);
                  }}>${large ? t("Whole screen") : t("Larger letters")}<//>`}
                </div>`
            : html`<div class="moment moment-small"><${Dome} size=${110} scene="ended" /><p class="lead">${t("You are still here. The terminal comes back when the host shows it.")}</p></div>`}
      </div>
      ${!(ended && !host) && html`<aside class="side" aria-label=${t("People and recording")}>
        ${host && !ended && html`<${WaitingRoom} id=${id} waiting=${waiting} />`}
        ${!ended && html`<${People} id=${id} inside=${inside} you=${state.you ?? identity.guest} host=${host}
          onWrite=${setGuestToWrite} onShare=${() => setDialog("share")} />`}
        ${host && html`<${RecordingPanel} id=${id} on=${state.recording && !ended} ended=${ended} made=${recorded} />`}
      </aside>`}
    </div>
    ${dialog === "share" && html`<${ShareDialog} id=${id} onClose=${close} />`}
    ${dialog === "logs" && html`<${LogsDialog} id=${id} onClose=${close} />`}
    ${dialog === "end" && html`<${EndDialog} id=${id} onClose=${close} />`}
    ${link && html`<${LinkDialog} address=${link} onClose=${() => setLink(null)} />`}
    ${guestToWrite && html`<${WriteDialog} name=${guestToWrite.name} onClose=${close} onGrant=${async () => {
      await api.permit(id, guestToWrite.id, "read_write");
      close();
    }} />`}
  </div>`;
}
