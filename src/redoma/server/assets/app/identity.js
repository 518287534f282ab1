// Who this tab speaks as. It lives in this tab alone: a cookie would go to every port of this host.
const HOST = "redoma.host";
const GUEST = "redoma.guest.";

function kept(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

export function hostIdentity() {
  return kept(HOST);
}

export function keepHost(bearer) {
  sessionStorage.setItem(HOST, JSON.stringify({ role: "host", bearer }));
}

export function forgetHost() {
  sessionStorage.removeItem(HOST);
}

export function keepGuest({ bearer, session, guest, name }) {
  const identity = { role: "guest", bearer, session, guest, name };
  sessionStorage.setItem(GUEST + session, JSON.stringify(identity));
}

export function forgetGuest(session) {
  sessionStorage.removeItem(GUEST + session);
}

/** Who this tab is for a session: a guest who joined it here, or else the host. */
export function identityFor(session) {
  return kept(GUEST + session) ?? hostIdentity();
}

/** Takes a value such as `#login=…` out of the address, so that it is in no history and no link. */
export function takeFromFragment(name) {
  const given = new URLSearchParams(location.hash.slice(1));
  const value = given.get(name);
  if (value !== null) {
    given.delete(name);
    const rest = given.toString();
    history.replaceState(history.state, "", location.pathname + location.search + (rest && `#${rest}`));
  }
  return value;
}
