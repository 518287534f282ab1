// A session as a component uses it: the channel, the terminal that it draws on, and the state.
import { useCallback, useEffect, useReducer, useRef } from "../view.js";
import { onPreference, preference } from "../preferences.js";
import { SessionChannel } from "./channel.js";
import { initial, next } from "./state.js";
import { TerminalView } from "./terminal_view.js";

export function useLiveSession(id, identity, { onLink, onControl, leave }) {
  const [state, dispatch] = useReducer(next, initial);
  const channel = useRef(null);
  const view = useRef(null);
  const pending = useRef([]);
  const host = identity.role === "host";

  useEffect(() => {
    const draw = (work) => (view.current ? work(view.current) : pending.current.push(work));
    const made = new SessionChannel(id, identity, {
      state: (link, error) => dispatch({ type: "link", link, error }),
      transport: (transport) => dispatch({ type: "transport", transport }),
      control: (message) => {
        onControl?.(message);
        dispatch(message);
      },
      resize: ({ cols, rows }) => draw((each) => each.write("", () => each.follow(cols, rows))),
      snapshot: (frame) =>
        draw((each) => each.snapshot(frame, () => made.acknowledge(frame.sequence))),
      more: ({ bytes }) => draw((each) => each.write(bytes)),
      output: ({ sequence, bytes }) =>
        draw((each) => each.write(bytes, () => made.drawn(sequence + BigInt(bytes.length)))),
    });
    channel.current = made;
    return () => made.close();
  }, [id, identity.bearer]);

  const writable = state.phase === "inside" && (host || state.permission === "read_write");
  const mayType = useRef(false);
  mayType.current = writable;

  const mount = useCallback((place) => {
    view.current?.dispose();
    view.current = null;
    if (!place) return;
    let sent = "";
    const made = new TerminalView(place, {
      onLink,
      readAloud: preference("read-aloud") === "on",
      // The server decides on every byte; this only spares a guest the typing into nothing.
      onInput: (data, options) => mayType.current && channel.current?.type(data, options),
      onSize: (cols, rows) => {
        if (sent === `${cols}x${rows}` || !host || !channel.current) return;
        if (channel.current.socket?.readyState !== WebSocket.OPEN) return;
        sent = `${cols}x${rows}`;
        channel.current.resize(cols, rows);
      },
    });
    made.leave = leave;
    made.follows = !host;
    made.resend = () => {
      sent = "";
      made.arrange();
    };
    view.current = made;
    pending.current.splice(0).forEach((work) => work(made));
  }, []);

  useEffect(() => {
    view.current?.setWritable(writable);
    // Nobody's keys are taken away: only where they would go nowhere do they go to the terminal.
    const idle = [document.body, document.getElementById("main")].includes(document.activeElement);
    if (writable && idle) view.current?.focus();
  }, [writable]);
  useEffect(() => {
    if (state.phase === "inside") view.current?.resend();
  }, [state.phase]);
  useEffect(
    () =>
      onPreference((name, value) => {
        if (name === "theme") view.current?.repaint();
        if (name === "read-aloud") view.current?.readAloud(value === "on");
      }),
    [],
  );
  return { state, dispatch, mount, view, channel, writable };
}
