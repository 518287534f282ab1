// A recording as asciicast v3 or v2: what was shown, when, and the markers between.
const CLEAR = "\x1bc";

/** Events with absolute times; lines that are none are passed over, as a recording may end in the middle. */
export function parse(text) {
  const lines = text.split("\n").filter((line) => line && !line.startsWith("#"));
  const header = JSON.parse(lines[0] ?? "null");
  if (header?.version !== 2 && header?.version !== 3) throw new TypeError("not an asciicast");
  const term = header.term ?? {};
  const events = [];
  let now = 0;
  for (const line of lines.slice(1)) {
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      continue;
    }
    if (!Array.isArray(event) || typeof event[0] !== "number" || typeof event[2] !== "string") continue;
    now = header.version === 3 ? now + Math.max(0, event[0]) : Math.max(now, event[0]);
    events.push({ time: now, code: event[1], data: event[2] });
  }
  return {
    cols: term.cols ?? header.width ?? 80,
    rows: term.rows ?? header.height ?? 24,
    title: typeof header.title === "string" ? header.title : "",
    length: now,
    events,
    markers: events.filter((event) => event.code === "m"),
  };
}

/** Plays a recording into a terminal; `onTime` is told where it is. */
export class CastPlayer {
  constructor(cast, view, onTime) {
    this.cast = cast;
    this.view = view;
    this.onTime = onTime;
    this.time = 0;
    this.at = 0;
    this.speed = 1;
    this.playing = false;
    this.rewind();
  }

  rewind() {
    this.at = 0;
    this.view.write(CLEAR);
    this.view.follow(this.cast.cols, this.cast.rows);
  }

  seek(time) {
    const to = Math.min(Math.max(0, time), this.cast.length);
    if (to < this.time) this.rewind();
    this.time = to;
    this.show();
    this.onTime(this.time, this.playing);
  }

  show() {
    const { events } = this.cast;
    let written = "";
    while (this.at < events.length && events[this.at].time <= this.time) {
      const event = events[this.at];
      this.at += 1;
      if (event.code === "o") written += event.data;
      if (event.code !== "r") continue;
      const size = /^(\d{1,4})x(\d{1,4})$/.exec(event.data);
      if (!size) continue;
      this.view.write(written);
      written = "";
      this.view.follow(Number(size[1]), Number(size[2]));
    }
    if (written) this.view.write(written);
  }

  play() {
    if (this.time >= this.cast.length) this.seek(0);
    this.playing = true;
    let before = performance.now();
    const step = (now) => {
      if (!this.playing) return;
      this.time = Math.min(this.time + ((now - before) / 1000) * this.speed, this.cast.length);
      before = now;
      this.show();
      if (this.time >= this.cast.length) this.playing = false;
      this.onTime(this.time, this.playing);
      if (this.playing) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
    this.onTime(this.time, true);
  }

  pause() {
    this.playing = false;
    this.onTime(this.time, false);
  }
}
