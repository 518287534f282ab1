// One viewer's way to a session: a WebSocket that is always there, and a data channel where it opens.
import { api, ApiError } from "../api.js";
import { t } from "../language/words.js";
import * as frames from "./frames.js";

const PROTOCOL = 1;
const GATHERING = 1000; // ms to wait for this browser's own addresses
const ACK_EVERY = 64 * 1024;
const LONGEST_PAUSE = 15000;

export class SessionChannel {
  /** `on` has one function for each thing that arrives: control, snapshot, more, output, resize, state, transport. */
  constructor(session, identity, on) {
    this.session = session;
    this.identity = identity;
    this.on = on;
    this.transport = "websocket";
    this.pause = 500;
    this.final = false;
    this.acknowledged = 0n;
    this.open();
  }

  async open() {
    this.on.state("connecting");
    let ticket;
    try {
      ticket = await api.ticket(this.session, this.identity);
    } catch (error) {
      // A refusal is an answer and no fault of the line: nothing is tried again.
      if (error.status >= 400 && error.status < 500 && error.status !== 429) {
        this.final = true;
        this.on.state("refused", error);
        return;
      }
      this.again(error);
      return;
    }
    if (this.final) return;
    const address = new URL(`/api/sessions/${encodeURIComponent(this.session)}/channel`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      socket.send(JSON.stringify({ ticket, protocol: PROTOCOL }));
      this.pause = 500;
      this.on.state("open");
    };
    socket.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) this.take(data);
    };
    socket.onclose = ({ reason }) => {
      if (this.socket !== socket) return;
      this.closePeer();
      if (reason === "replaced" && !this.final) {
        // The same guest came by another tab: whoever is newer has it, and nobody fights for it.
        this.final = true;
        this.on.state("refused", new ApiError({ code: reason, message: t("You are in this session in another tab.") }));
        return;
      }
      if (this.final) this.on.state("closed");
      else this.again();
    };
    this.socket = socket;
  }

  again(error) {
    if (this.final) return;
    this.on.state("lost", error);
    this.timer = setTimeout(() => this.open(), this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }

  take(buffer) {
    const frame = frames.read(buffer);
    if (frame === null) return;
    if (frame.type === frames.OUTPUT) this.on.output(frame);
    else if (frame.type === frames.MORE) this.on.more(frame);
    else if (frame.type === frames.SNAPSHOT) {
      this.acknowledged = frame.sequence;
      this.on.snapshot(frame);
    } else if (frame.type === frames.RESIZE) this.on.resize(frame);
    else if (frame.type === frames.PING) this.send(frames.pongFrame(frame.bytes));
    else if (frame.type === frames.CONTROL) this.control(frame.message);
  }

  control(message) {
    if (message.type === "rtc-ticket") this.offer(message.ticket);
    else if (message.type === "rtc-answer") this.answer(message.sdp);
    else {
      if (["ended", "refused", "blocked"].includes(message.type)) this.final = true;
      this.on.control(message);
    }
  }

  /** Offers the server a data channel; where none can be had, all goes on over the WebSocket. */
  async offer(ticket) {
    this.closePeer();
    if (typeof RTCPeerConnection !== "function") return;
    try {
      const peer = new RTCPeerConnection({ iceServers: [] });
      this.peer = peer;
      const data = peer.createDataChannel("redoma", { ordered: true });
      data.binaryType = "arraybuffer";
      data.onopen = () => {
        if (this.peer === peer) this.use(data);
      };
      data.onmessage = (event) => {
        if (event.data instanceof ArrayBuffer) this.take(event.data);
      };
      data.onclose = () => {
        if (this.data === data) this.closePeer();
      };
      await peer.setLocalDescription(await peer.createOffer());
      await gathered(peer);
      if (this.peer !== peer) return;
      this.sendSocket(
        frames.controlFrame({ type: "rtc-offer", ticket, sdp: peer.localDescription.sdp }),
      );
    } catch {
      this.closePeer();
    }
  }

  async answer(sdp) {
    try {
      await this.peer?.setRemoteDescription({ type: "answer", sdp });
    } catch {
      this.closePeer();
    }
  }

  use(data) {
    this.data = data;
    this.transport = "webrtc";
    this.on.transport(this.transport);
  }

  closePeer() {
    const { peer } = this;
    this.peer = null;
    this.data = null;
    peer?.close();
    if (this.transport !== "websocket") {
      this.transport = "websocket";
      this.on.transport(this.transport);
    }
  }

  send(bytes) {
    if (this.data?.readyState === "open") this.data.send(bytes);
    else this.sendSocket(bytes);
  }

  sendSocket(bytes) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(bytes);
  }

  type(data, options) {
    for (const each of frames.inputFrames(data, options)) this.send(each);
  }

  resize(cols, rows) {
    this.send(frames.resizeFrame(cols, rows));
  }

  /** Tells the server how far this viewer has drawn; it waits for nobody, but skips who is far behind. */
  drawn(sequence) {
    if (sequence - this.acknowledged >= BigInt(ACK_EVERY)) {
      this.acknowledge(sequence);
    } else {
      clearTimeout(this.acknowledging);
      this.acknowledging = setTimeout(() => this.acknowledge(sequence), 100);
    }
  }

  acknowledge(sequence) {
    if (sequence <= this.acknowledged) return;
    this.acknowledged = sequence;
    this.send(frames.ackFrame(sequence));
  }

  close() {
    this.final = true;
    clearTimeout(this.timer);
    clearTimeout(this.acknowledging);
    this.sendSocket(frames.controlFrame({ type: "bye" }));
    this.closePeer();
    this.socket?.close();
  }
}

function gathered(peer) {
  if (peer.iceGatheringState === "complete") return Promise.resolve();
  return new Promise((done) => {
    const timer = setTimeout(done, GATHERING);
    peer.addEventListener("icegatheringstatechange", () => {
      if (peer.iceGatheringState !== "complete") return;
      clearTimeout(timer);
      done();
    });
  });
}
