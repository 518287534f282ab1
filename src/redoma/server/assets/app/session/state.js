// What a viewer knows of a session: one value, and what each message of the channel makes of it.
import { moment } from "../language/words.js";

export const initial = {
  link: "connecting", // connecting, open, lost, closed, refused
  phase: "arriving", // arriving, waiting, inside, refused, blocked, ended
  role: null,
  permission: "none",
  told: null, // the last thing that the host changed for us
  session: {},
  people: [],
  you: null,
  transport: "websocket",
  recording: false,
  frozen: false,
  ends: null, // when a session without its host ends by itself
  ended: null,
  error: null,
};

const PERMISSIONS = ["none", "read_only", "read_write"];

export function permissionOf(value) {
  return PERMISSIONS.includes(value) ? value : "none";
}

export function next(state, event) {
  switch (event.type) {
    case "link":
      return {
        ...state,
        link: event.link,
        error: event.error ?? null,
        // A guest who comes back is nobody yet: the door is knocked at again.
        ...(event.link === "lost" && state.phase !== "ended" && state.role !== "host"
          ? { phase: "arriving", permission: "none", told: null }
          : {}),
      };
    case "transport":
      return { ...state, transport: event.transport };
    case "loaded":
      return {
        ...state,
        session: { ...event.session, ...state.session },
        people: state.people.length ? state.people : (event.session.guests ?? []),
        recording: Boolean(event.session.recording),
        ...(event.session.state === "ended" && state.phase !== "ended"
          ? { phase: "ended", ended: endOf(event.session) }
          : {}),
      };
    case "waiting":
      return { ...state, phase: "waiting", permission: "none", told: null, name: event.name ?? state.name };
    case "admitted":
      return {
        ...state,
        phase: "inside",
        role: event.role ?? state.role,
        permission: permissionOf(event.permission),
        session: { ...state.session, ...(event.session ?? {}) },
        recording: Boolean(event.session?.recording ?? state.recording),
        frozen: event.session?.state === "frozen",
        ends: endOfGrace(event.session?.seconds),
        told: null,
      };
    case "permission": {
      const permission = permissionOf(event.permission);
      const told =
        permission === "read_write" ? "granted"
        : state.permission === "read_write" ? "revoked"
        : permission === "none" ? "hidden"
        : "watching";
      return { ...state, permission, told, toldBy: event.by ?? "" };
    }
    case "people":
      return { ...state, people: event.guests ?? [], you: event.you ?? state.you };
    case "frozen":
      return { ...state, frozen: true, ends: endOfGrace(event.seconds) };
    case "thawed":
      return { ...state, frozen: false, ends: null };
    case "recording":
      return { ...state, recording: Boolean(event.on) };
    case "title":
      return { ...state, session: { ...state.session, title: String(event.title ?? "") } };
    case "refused":
    case "blocked":
      return { ...state, phase: event.type, permission: "none" };
    case "ended":
      return { ...state, phase: "ended", ended: event, permission: "none" };
    default:
      return state;
  }
}

function endOfGrace(seconds) {
  return Number.isFinite(seconds) ? Date.now() + seconds * 1000 : null;
}

function endOf(session) {
  const length = (moment(session.ended) - moment(session.started)) / 1000;
  return { by: "", duration: Number.isFinite(length) ? length : null, exit_code: session.exit_code, notes: session.notes, changes: session.changes };
}
