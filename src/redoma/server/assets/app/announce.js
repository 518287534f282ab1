// Short words for everybody: said by a screen reader, and shown as a toast unless the page shows it anyway.
const listeners = new Set();
let count = 0;

export function announce(text, { tone = "calm", hint = "", heard = false } = {}) {
  count += 1;
  const said = { id: count, text, hint, tone, heard };
  listeners.forEach((each) => each(said));
}

export function announceError(error) {
  announce(error.message, { tone: "danger", hint: error.hint ?? "" });
}

export function onAnnounce(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
