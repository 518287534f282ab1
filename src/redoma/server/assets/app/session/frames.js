// The frames of a terminal's channel: one byte of type, then the payload; the same on both transports.
export const OUTPUT = 0x01;
export const SNAPSHOT = 0x02;
export const INPUT = 0x03;
export const RESIZE = 0x04;
export const CONTROL = 0x05;
export const ACK = 0x06;
export const PING = 0x07;
export const PONG = 0x08;
export const MORE = 0x09; // what did not fit into the snapshot before it

/** What one frame may carry of what is typed or pasted: well below what the server takes at once. */
export const LONGEST_INPUT = 16 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function frame(type, length) {
  const bytes = new Uint8Array(1 + length);
  bytes[0] = type;
  return { bytes, view: new DataView(bytes.buffer, 1) };
}

export function resizeFrame(cols, rows) {
  const { bytes, view } = frame(RESIZE, 4);
  view.setUint16(0, cols);
  view.setUint16(2, rows);
  return bytes;
}

export function ackFrame(sequence) {
  const { bytes, view } = frame(ACK, 8);
  view.setBigUint64(0, sequence);
  return bytes;
}

export function pongFrame(payload) {
  const { bytes } = frame(PONG, payload.length);
  bytes.set(payload, 1);
  return bytes;
}

export function controlFrame(message) {
  const text = encoder.encode(JSON.stringify(message));
  const { bytes } = frame(CONTROL, text.length);
  bytes.set(text, 1);
  return bytes;
}

/** What was typed as frames, in order; `data` is text, or one character per byte. */
export function* inputFrames(data, { binary = false } = {}) {
  const typed = binary ? Uint8Array.from(data, (each) => each.charCodeAt(0) & 255) : encoder.encode(data);
  for (let from = 0; from < typed.length; from += LONGEST_INPUT) {
    const piece = typed.subarray(from, from + LONGEST_INPUT);
    const { bytes } = frame(INPUT, piece.length);
    bytes.set(piece, 1);
    yield bytes;
  }
}

/** A frame as a value, or null where it is none that we know: such a frame is passed over. */
export function read(buffer) {
  const bytes = new Uint8Array(buffer);
  const view = new DataView(buffer);
  const type = bytes[0];
  if (type === OUTPUT && bytes.length >= 9) {
    return { type, sequence: view.getBigUint64(1), bytes: bytes.subarray(9) };
  }
  if (type === SNAPSHOT && bytes.length >= 13) {
    const [cols, rows] = [view.getUint16(9), view.getUint16(11)];
    return { type, sequence: view.getBigUint64(1), cols, rows, bytes: bytes.subarray(13) };
  }
  if (type === RESIZE && bytes.length === 5) {
    return { type, cols: view.getUint16(1), rows: view.getUint16(3) };
  }
  if (type === MORE) return { type, bytes: bytes.subarray(1) };
  if (type === PING) return { type, bytes: bytes.subarray(1) };
  if (type === CONTROL) {
    try {
      const message = JSON.parse(decoder.decode(bytes.subarray(1)));
      return message && typeof message.type === "string" ? { type, message } : null;
    } catch {
      return null;
    }
  }
  return null;
}
