// The host's sessions: what runs, who is in it, who waits at a door; and the way to start one.
import { html, useEffect, useState } from "../view.js";
import { api } from "../api.js";
import { Avatar, Badge, Button, Empty, ErrorNote, Field, Switch } from "../components/controls.js";
import { Dialog } from "../components/dialog.js";
import { Dome, Icon } from "../components/icon.js";
import { ago, t, word } from "../language/words.js";
import { Link, go } from "../routes.js";

const EVERY = 3000;
const ENGINES = { "": word("Whatever is best here"), container: word("Container") };

export function stateBadge(state) {
  if (state === "running") return html`<${Badge} tone="good" dot="live">${t("Running")}<//>`;
  if (state === "frozen") return html`<${Badge} tone="warning" dot="still">${t("Paused")}<//>`;
  return html`<${Badge}>${t("Ended")}<//>`;
}

function useSessions() {
  const [sessions, setSessions] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let alive = true;
    let timer;
    const look = async () => {
      try {
        const found = await api.sessions();
        if (!alive) return;
        setSessions(found);
        setError(null);
      } catch (wrong) {
        if (alive) setError(wrong);
      }
      if (alive) timer = setTimeout(look, document.hidden ? EVERY * 5 : EVERY);
    };
    look();
    return () => {
      alive = false;
      clearTimeout(timer);
    };
  }, []);
  return { sessions, error };
}

function StartDialog({ onClose }) {
  const [folder, setFolder] = useState("");
  const [engine, setEngine] = useState("");
  const [share, setShare] = useState(false);
  const [record, setRecord] = useState(false);
  const [engines, setEngines] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    api.me().then((me) => {
      if (Array.isArray(me.engines)) setEngines(me.engines);
      if (typeof me.cwd === "string") setFolder((given) => given || me.cwd);
    }, () => {});
  }, []);
  const start = async () => {
    setError(null);
    const options = { share, record };
    if (folder.trim()) options.cwd = folder.trim();
    if (engine) options.engine = engine;
    try {
      const made = await api.start(options);
      onClose();
      go(`/sessions/${encodeURIComponent(made.id)}${share ? "#share" : ""}`);
    } catch (wrong) {
      setError(wrong);
    }
  };
  const choices = ["", ...(engines ?? ["bubblewrap", "container"])];
  return html`<${Dialog} title=${t("Start a session")} onClose=${onClose}
    actions=${html`
      <${Button} onPress=${onClose}>${t("Cancel")}<//>
      <${Button} kind="primary" icon="terminal" onPress=${start}>${t("Start")}<//>`}>
    <p class="lead">${t("A terminal that runs inside the sandbox. What you let a guest do stays in there.")}</p>
    <form class="form" onSubmit=${(event) => {
      event.preventDefault();
      start();
    }}>
      <${Field} id="folder" label=${t("Folder")} value=${folder} onInput=${(event) => setFolder(event.target.value)}
        help=${t("The only folder of yours that the session sees.")} class="input input-code" />
      <div class="field">
        <label for="engine">${t("Isolation")}</label>
        <select id="engine" class="select select-wide" value=${engine} onChange=${(event) => setEngine(event.target.value)}>
          ${choices.map((each) => html`<option key=${each} value=${each}>${each in ENGINES ? t(ENGINES[each]) : each}</option>`)}
        </select>
      </div>
      <${Switch} id="share" label=${t("Share it at once")} checked=${share} onChange=${setShare}
        help=${t("Makes a code for one guest. Nobody comes in before you admit them.")} />
      <${Switch} id="record" label=${t("Record it")} checked=${record} onChange=${setRecord}
        help=${t("What the screen shows, without secrets; not what is typed.")} />
      <button type="submit" hidden></button>
    </form>
    <${ErrorNote} error=${error} />
  <//>`;
}

function SessionCard({ session }) {
  const guests = session.guests ?? [];
  const open = session.state !== "ended";
  const inside = guests.filter((guest) => open && guest.state === "admitted");
  const waiting = guests.filter((guest) => open && guest.state === "waiting");
  return html`<li class="card session-card">
    <div class="session-card-main">
      <h2><${Link} to=${`/sessions/${encodeURIComponent(session.id)}`} class="card-link">${session.title || session.id}<//></h2>
      <p class="path" title=${session.cwd}><bdi>${session.cwd}</bdi></p>
      <p class="facts">
        ${stateBadge(session.state)}
        ${session.recording && session.state !== "ended" && html`<${Badge} tone="danger" dot="live">${t("Recording")}<//>`}
        <span>${session.engine}</span>
        <span>${session.state === "ended" ? t("ended {when}", { when: ago(session.ended) }) : t("started {when}", { when: ago(session.started) })}</span>
      </p>
    </div>
    <div class="session-card-people">
      ${waiting.length > 0 &&
      html`<${Badge} tone="warning" dot="live">${waiting.length === 1 ? t("1 is waiting") : t("{count} are waiting", { count: waiting.length })}<//>`}
      ${inside.length > 0 &&
      html`<span class="avatars" role="img" aria-label=${t("With you: {names}", { names: inside.map((guest) => guest.name).join(", ") })}>
        ${inside.slice(0, 5).map((guest) => html`<${Avatar} key=${guest.id} id=${guest.id} name=${guest.name} />`)}
        ${inside.length > 5 && html`<span class="avatar">+${inside.length - 5}</span>`}
      </span>`}
    </div>
  </li>`;
}

export function SessionsPage() {
  const { sessions, error } = useSessions();
  const [starting, setStarting] = useState(false);
  const start = html`<${Button} kind="primary" icon="plus" onPress=${() => setStarting(true)}>${t("Start a session")}<//>`;
  const running = (sessions ?? []).filter((each) => each.state !== "ended");
  const ended = (sessions ?? []).filter((each) => each.state === "ended");
  return html`<div class="wide">
    <div class="page-head">
      <div>
        <h1>${t("Sessions")}</h1>
        <p class="lead">${t("Terminals under the dome: watched, shared and typed into by your leave.")}</p>
      </div>
      ${sessions?.length > 0 && start}
    </div>
    <${ErrorNote} error=${error} />
    ${sessions === null && !error && html`<div class="skeleton" aria-label=${t("Loading")} role="img"></div>`}
    ${sessions?.length === 0 &&
    html`<${Empty} art=${html`<${Dome} size=${132} scene="empty" />`} title=${t("Nothing is under the dome yet")} action=${start}>
      ${t("Start a terminal that runs inside the sandbox. Share it by a code when you want company; guests watch, and type only when you say so.")}
    <//>`}
    ${running.length > 0 && html`<ul class="cards">${running.map((each) => html`<${SessionCard} key=${each.id} session=${each} />`)}</ul>`}
    ${ended.length > 0 &&
    html`<h2 class="section-title"><${Icon} name="clock" /> ${t("Ended")}</h2>
      <ul class="cards cards-quiet">${ended.map((each) => html`<${SessionCard} key=${each.id} session=${each} />`)}</ul>`}
    ${starting && html`<${StartDialog} onClose=${() => setStarting(false)} />`}
  </div>`;
}
