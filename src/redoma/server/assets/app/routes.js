// Addresses and pages: a page is a row here, and a row with a `label` stands in the navigation.
import { html, useEffect, useState } from "./view.js";

const changed = "redoma:route";

export function go(path, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  dispatchEvent(new Event(changed));
}

/** The row that an address belongs to, and what stands in its holes. */
export function match(routes, path) {
  for (const route of routes) {
    const names = [];
    const pattern = route.path.replace(/:(\w+)/g, (_, name) => {
      names.push(name);
      return "([^/]+)";
    });
    const found = new RegExp(`^${pattern}/?$`).exec(path);
    if (!found) continue;
    try {
      const values = found.slice(1).map(decodeURIComponent);
      return { route, values: Object.fromEntries(names.map((name, at) => [name, values[at]])) };
    } catch {
      return null; // an address with a broken escape is nobody's page
    }
  }
  return null;
}

export function usePath() {
  const [path, setPath] = useState(location.pathname);
  useEffect(() => {
    const follow = () => setPath(location.pathname);
    addEventListener("popstate", follow);
    addEventListener(changed, follow);
    return () => {
      removeEventListener("popstate", follow);
      removeEventListener(changed, follow);
    };
  }, []);
  return path;
}

/** A link that changes the page without loading it anew. */
export function Link({ to, children, ...rest }) {
  const follow = (event) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return html`<a href=${to} onClick=${follow} ...${rest}>${children}</a>`;
}
