// The one way to ask the server: a bearer of this tab, JSON both ways, and one shape of error.
import { forgetHost, hostIdentity } from "./identity.js";
import { language, t } from "./language/words.js";

/** What went wrong, in words for a person: a stable code, a message, and what to do next. */
export class ApiError extends Error {
  constructor({ code, message, hint = "", status = 0 }) {
    super(message);
    this.code = code;
    this.hint = hint;
    this.status = status;
  }
}

async function answerTo(method, path, { body, identity } = {}) {
  const headers = { "Accept-Language": language() };
  const who = identity ?? hostIdentity();
  if (who) headers.Authorization = `Bearer ${who.bearer}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
  } catch {
    throw new ApiError({
      code: "unreachable",
      message: t("The server does not answer."),
      hint: t("Check that “redoma serve” is still running, then try again."),
    });
  }
  if (response.ok) return response;
  throw await errorOf(response, who);
}

async function errorOf(response, who) {
  let said = {};
  try {
    said = (await response.json()).error ?? {};
  } catch {
    said = {};
  }
  if (response.status === 401 && who?.role === "host") {
    forgetHost();
    dispatchEvent(new Event("redoma:signed-out"));
  }
  return new ApiError({
    code: String(said.code ?? `http_${response.status}`),
    message: String(said.message ?? t("The server refused ({status}).", { status: response.status })),
    hint: String(said.hint ?? ""),
    status: response.status,
  });
}

async function json(method, path, options) {
  const response = await answerTo(method, path, options);
  return response.status === 204 ? null : response.json();
}

const at = (strings, ...values) =>
  strings.reduce((path, part, index) => path + encodeURIComponent(values[index - 1]) + part);

export const api = {
  login: (token) => json("POST", "/api/login", { body: { token } }),
  me: () => json("GET", "/api/me"),
  sessions: async () => (await json("GET", "/api/sessions")).sessions,
  start: (options) => json("POST", "/api/sessions", { body: options }),
  session: (id, identity) => json("GET", at`/api/sessions/${id}`, { identity }),
  end: (id) => json("DELETE", at`/api/sessions/${id}`),
  code: (id) => json("POST", at`/api/sessions/${id}/code`),
  join: (code, name) => json("POST", "/api/join", { body: { code, name } }),
  ticket: async (id, identity) =>
    (await json("POST", at`/api/sessions/${id}/ticket`, { identity })).ticket,
  admit: (id, guest) => json("POST", at`/api/sessions/${id}/guests/${guest}/admit`),
  refuse: (id, guest) => json("POST", at`/api/sessions/${id}/guests/${guest}/refuse`),
  block: (id, guest) => json("POST", at`/api/sessions/${id}/guests/${guest}/block`),
  permit: (id, guest, permission) =>
    json("PUT", at`/api/sessions/${id}/guests/${guest}/permission`, { body: { permission } }),
  audit: async (id) => (await json("GET", at`/api/sessions/${id}/audit`)).events,
  record: (id, on) => json("POST", at`/api/sessions/${id}/recording`, { body: { on } }),
  recording: async (id, format) =>
    (await answerTo("GET", at`/api/sessions/${id}/recording?format=${format}`)).text(),
};
