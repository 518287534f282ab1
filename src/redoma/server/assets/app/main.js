// Begins here: who this tab is, which page its address names, and the frame around it.
import { html, render, useEffect, useErrorBoundary, useState } from "./view.js";
import { api, ApiError } from "./api.js";
import { ErrorNote, Button } from "./components/controls.js";
import { Dome } from "./components/icon.js";
import { Frame } from "./frame.js";
import { hostIdentity, identityFor, keepHost, takeFromFragment } from "./identity.js";
import { t, word } from "./language/words.js";
import { onPreference } from "./preferences.js";
import { match, usePath } from "./routes.js";
import { JoinPage } from "./pages/join.js";
import { ReplayPage } from "./pages/replay.js";
import { SessionPage } from "./pages/session.js";
import { SessionsPage } from "./pages/sessions.js";
import { MissingPage, SignedOutPage } from "./pages/signed_out.js";

// A further page is a row here: its address, its component, and a label where it is in the navigation.
const ROUTES = [
  { path: "/", page: SessionsPage, section: "sessions", title: word("Sessions") },
  { path: "/sessions", page: SessionsPage, section: "sessions", title: word("Sessions"), label: word("Sessions"), icon: "terminal" },
  { path: "/sessions/:id", page: SessionPage, section: "sessions", title: word("Session"), full: true, guests: true },
  { path: "/sessions/:id/replay", page: ReplayPage, section: "sessions", title: word("Replay") },
  { path: "/join", page: JoinPage, section: "join", title: word("Join"), open: true },
];

function Page({ found, path }) {
  const [error, reset] = useErrorBoundary();
  if (error) {
    return html`<div class="narrow">
      <${ErrorNote} error=${new ApiError({ code: "page", message: t("This page broke."), hint: t("Load it anew. The session is not touched by this.") })} />
      <${Button} onPress=${reset}>${t("Try again")}<//>
    </div>`;
  }
  if (!found) return html`<${MissingPage} />`;
  const { route, values } = found;
  const identity = values.id ? identityFor(values.id) : hostIdentity();
  if (!route.open && !(identity && (identity.role === "host" || route.guests))) {
    return html`<${SignedOutPage} />`;
  }
  return html`<${route.page} key=${path} ...${values} identity=${identity} />`;
}

function Console() {
  const path = usePath();
  const [, redraw] = useState(0);
  useEffect(() => {
    const again = () => redraw((count) => count + 1);
    addEventListener("redoma:signed-out", again);
    const stop = onPreference((name) => name === "language" && again());
    return () => {
      removeEventListener("redoma:signed-out", again);
      stop();
    };
  }, []);
  const found = match(ROUTES, path);
  const identity = found?.values.id ? identityFor(found.values.id) : hostIdentity();
  const guest = !identity || identity.role === "guest";
  useEffect(() => {
    document.title = `${t(found?.route.title ?? word("Not found"))} · Redoma`;
  });
  const current = found && { section: found.route.section, key: path };
  return html`<${Frame} routes=${ROUTES} current=${current} guest=${guest} full=${found?.route.full}>
    <${Page} found=${found} path=${path} />
  <//>`;
}

async function begin() {
  const place = document.getElementById("page");
  const token = takeFromFragment("login");
  if (token !== null) {
    render(html`<div class="arrival"><${Dome} size=${72} scene="waiting" /></div>`, place);
    try {
      keepHost((await api.login(token)).bearer);
    } catch (error) {
      if (!hostIdentity()) {
        render(null, place);
        render(html`<${Frame} routes=${ROUTES} guest><${SignedOutPage} error=${error} /><//>`, place);
        return;
      }
    }
    render(null, place);
  }
  render(html`<${Console} />`, place);
}

// A link that is opened in this very tab changes only the fragment: the page begins anew with it.
addEventListener("hashchange", () => {
  if (/^#(.*&)?(login|code)=/.test(location.hash)) location.reload();
});
begin();
