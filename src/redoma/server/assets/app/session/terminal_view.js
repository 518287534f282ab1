// A terminal on the page: it draws what the server sends, and answers no question of a program.
import { Terminal } from "../../vendor/xterm/xterm.mjs";
import { FitAddon } from "../../vendor/xterm-addon-fit/addon-fit.mjs";
import { isDark, wantsLessMotion } from "../preferences.js";

const FONT = '"JetBrains Mono Variable", ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
const SIZE = 14;
const SMALLEST = 5;
const nonce = document.querySelector("meta[name=csp-nonce]")?.nonce ?? "";

const DARK = {
  background: "#0a1416", foreground: "#dfeae8", cursor: "#7fe0d0", cursorAccent: "#0a1416",
  selectionBackground: "#2c5a57", black: "#22312f", red: "#ff8a80", green: "#8ddb9b", yellow: "#f2cf7a",
  blue: "#86bdfb", magenta: "#d7a6f5", cyan: "#74dccb", white: "#dfeae8", brightBlack: "#7d9490",
  brightRed: "#ffb1aa", brightGreen: "#b1efbb", brightYellow: "#ffe3a3", brightBlue: "#b0d5ff",
  brightMagenta: "#e9caff", brightCyan: "#a5f2e5", brightWhite: "#ffffff",
};
const LIGHT = {
  background: "#fcfefd", foreground: "#152523", cursor: "#0b6e66", cursorAccent: "#fcfefd",
  selectionBackground: "#b9e0da", black: "#152523", red: "#b3261e", green: "#1d6b34", yellow: "#7a5200",
  blue: "#1a5cab", magenta: "#7b3aa6", cyan: "#0b6e66", white: "#55676a", brightBlack: "#566a67",
  brightRed: "#c4362d", brightGreen: "#23783c", brightYellow: "#855a00", brightBlue: "#2566b8",
  brightMagenta: "#8a47b5", brightCyan: "#12766e", brightWhite: "#24393a",
};

/** The page's rules let only what carries the nonce bring styles, and the terminal makes its own. */
function withNonce(work) {
  document.createElement = function createElement(name, options) {
    const made = Document.prototype.createElement.call(document, name, options);
    if (String(name).toLowerCase() === "style") made.nonce = nonce;
    return made;
  };
  try {
    return work();
  } finally {
    delete document.createElement;
  }
}

export class TerminalView {
  constructor(place, { onInput, onLink, onSize, readAloud = false, scrollback = 5000 } = {}) {
    this.place = place;
    this.onSize = onSize;
    this.follows = false;
    this.terminal = new Terminal({
      allowProposedApi: true,
      cursorBlink: !wantsLessMotion(),
      disableStdin: true,
      fontFamily: FONT,
      fontSize: SIZE,
      lineHeight: 1.25,
      linkHandler: onLink && { activate: (_, address) => onLink(address), allowNonHttpProtocols: false },
      minimumContrastRatio: 4.5,
      screenReaderMode: readAloud,
      scrollback,
      theme: isDark() ? DARK : LIGHT,
    });
    this.fitting = new FitAddon();
    this.terminal.loadAddon(this.fitting);
    this.silence();
    withNonce(() => this.terminal.open(place));
    this.terminal.attachCustomKeyEventHandler((event) => this.key(event));
    if (onInput) {
      this.terminal.onData((data) => onInput(data, { binary: false }));
      this.terminal.onBinary((data) => onInput(data, { binary: true }));
    }
    this.observer = new ResizeObserver(() => this.arrange());
    this.observer.observe(place);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => {
      this.terminal.options.theme = isDark() ? DARK : LIGHT;
    };
    this.scheme.addEventListener("change", this.repaint);
    document.fonts.load(`${SIZE}px "JetBrains Mono Variable"`).then(() => {
      if (!this.place) return;
      this.terminal.options.fontFamily = `${FONT}, monospace`; // measured anew with the font there
      this.arrange();
    });
  }

  // Attack: a program asks the terminal who it is, and every viewer's answer is typed into the shell.
  // Only the server's terminal answers; here every question ends without one. Nor may a program
  // write the clipboard (OSC 52).
  silence() {
    const { parser } = this.terminal;
    const swallow = () => true;
    const asks = (data) => /(^|;)\?/.test(typeof data === "string" ? data : "");
    for (const id of [
      { final: "c" }, { prefix: ">", final: "c" }, { prefix: "=", final: "c" },
      { final: "n" }, { prefix: "?", final: "n" }, { final: "x" }, { prefix: ">", final: "q" },
      { intermediates: "$", final: "p" }, { prefix: "?", intermediates: "$", final: "p" },
      { prefix: "?", final: "u" }, { final: "t" }, { intermediates: "$", final: "w" },
      { prefix: "?", final: "S" }, { intermediates: "*", final: "y" },
    ]) {
      parser.registerCsiHandler(id, swallow);
    }
    for (const id of [
      { intermediates: "$", final: "q" }, { intermediates: "+", final: "q" },
    ]) {
      parser.registerDcsHandler(id, swallow);
    }
    for (const number of [4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21]) {
      parser.registerOscHandler(number, asks);
    }
    for (const number of [50, 52]) parser.registerOscHandler(number, swallow);
  }

  key(event) {
    // The keyboard's way out: without it, whoever cannot use a mouse would stay in the terminal.
    if (event.ctrlKey && event.shiftKey && event.key === "ArrowUp") {
      if (event.type === "keydown") this.leave?.();
      event.preventDefault();
      return false;
    }
    // Who may not type has no use for Tab here: it moves on as everywhere.
    return !(event.key === "Tab" && this.terminal.options.disableStdin);
  }

  write(bytes, done) {
    this.terminal.write(bytes, done);
  }

  snapshot({ cols, rows, bytes }, done) {
    // In the order of what is still to be drawn: all of it belongs to the screen before.
    this.terminal.write("\x1bc", () => this.follow(cols, rows));
    this.terminal.write(bytes, done);
  }

  /** The size that the host's terminal has; who follows it changes letters, and not the size. */
  follow(cols, rows) {
    if (!this.follows || !(cols > 0 && rows > 0)) return;
    this.size = { cols, rows };
    this.terminal.resize(cols, rows);
    this.arrange();
  }

  arrange() {
    if (!this.place?.clientWidth) return;
    if (!this.follows) {
      this.fitting.fit();
      this.onSize?.(this.terminal.cols, this.terminal.rows);
      return;
    }
    if (!this.size || this.large) return;
    // As large as fits, so that a watcher sees the whole screen, on a phone too.
    const screen = this.place.querySelector(".xterm-screen");
    const width = screen?.offsetWidth || 1;
    const height = screen?.offsetHeight || 1;
    const now = this.terminal.options.fontSize;
    const room = { width: this.place.clientWidth - 14, height: this.place.clientHeight };
    const factor = Math.min(room.width / width, Math.max(room.height / height, 0.1));
    const next = Math.max(SMALLEST, Math.min(SIZE, Math.floor(now * factor * 2) / 2));
    if (Math.abs(next - now) >= 0.5) this.terminal.options.fontSize = next;
  }

  /** For a watcher: letters of the usual size, and the screen is moved; or all of it, in small ones. */
  enlarge(on) {
    this.large = on;
    if (on) this.terminal.options.fontSize = SIZE;
    else this.arrange();
  }

  setWritable(writable) {
    this.terminal.options.disableStdin = !writable;
    this.terminal.options.cursorInactiveStyle = writable ? "outline" : "none";
  }

  readAloud(on) {
    this.terminal.options.screenReaderMode = on;
  }

  focus() {
    this.terminal.focus();
  }

  dispose() {
    this.place = null;
    this.observer.disconnect();
    this.scheme.removeEventListener("change", this.repaint);
    this.terminal.dispose();
  }
}
