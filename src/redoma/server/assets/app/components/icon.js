// Line icons on a grid of 20, in the colour of the text around them; never the only name of a thing.
import { html } from "../view.js";

const PATHS = {
  plus: "M10 4v12M4 10h12",
  close: "M5 5l10 10M15 5L5 15",
  back: "M12 4l-6 6 6 6",
  share: "M10 12V3M6.5 6L10 2.5 13.5 6M4 10v6.5h12V10",
  record: "M10 5.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z",
  stop: "M6 6h8v8H6z",
  logs: "M5 3.5h10v13H5zM8 7h4M8 10h4M8 13h2.5",
  people: "M7.5 9a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 7.5 9zM2.5 16c.3-3 2.4-4.5 5-4.5s4.700 1.500 5 4.500M13 4a2.500 2.500 0 0 1 0 5M14.500 11.800c1.700.6 2.800 2 3 4.200",
  eye: "M2 10s3-5.500 8-5.500S18 10 18 10s-3 5.500-8 5.500S2 10 2 10zM10 12.250a2.250 2.250 0 1 0 0-4.500 2.250 2.250 0 0 0 0 4.500z",
  hidden: "M3 3l14 14M8 5c.6-.2 1.300-.3 2-.3 5 0 8 5.300 8 5.300s-.8 1.400-2.300 2.800M5 6.800C3 8.200 2 10 2 10s3 5.300 8 5.300c1.200 0 2.200-.3 3.200-.7",
  pencil: "M4 16l.8-3.600L13.500 3.700a1.500 1.500 0 0 1 2.100 0l.7.7a1.500 1.500 0 0 1 0 2.100L7.600 15.200z",
  door: "M6 17V3.500h8.500V17M3 17h14M11.500 10.500v.01",
  block: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM5.200 5.200l9.600 9.600",
  power: "M10 3v6.500M6 5.500a6 6 0 1 0 8 0",
  copy: "M7 7h9v9.500H7zM4 13V3.500h9",
  play: "M6.500 4.500v11l9-5.500z",
  pause: "M7 4.500v11M13 4.500v11",
  download: "M10 3v9M6.500 8.500L10 12l3.500-3.500M4 16.500h12",
  check: "M4 10.500l4 4L16 6",
  warning: "M10 3.500L18 16.500H2zM10 8.500v3.500M10 14.250v.01",
  terminal: "M2.500 4h15v12h-15zM5.500 8l2.500 2-2.500 2M10 12.500h4",
  sound: "M4 8v4h2.500L10 15V5L6.500 8zM13 7.500c1.200 1.500 1.200 3.500 0 5M15 5.500c2.200 2.700 2.200 6.300 0 9",
  clock: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6.500V10l2.500 1.500",
};

export function Icon({ name, size = 18 }) {
  return html`<svg class="icon" width=${size} height=${size} viewBox="0 0 20 20" fill="none" stroke="currentColor"
    stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">
    <path d=${PATHS[name]} />
  </svg>`;
}

/** The glass dome: the mark of the house, and what its empty rooms show. */
export function Dome({ size = 28, scene = "mark" }) {
  const knocking = scene === "waiting";
  return html`<svg class=${`dome dome-${scene}`} width=${size} height=${size} viewBox="0 0 64 64" fill="none"
    aria-hidden="true" focusable="false">
    ${knocking && html`<path class="dome-halo" d="M4 54V32a28 28 0 0 1 56 0v22" />`}
    <circle class="dome-knob" cx="32" cy="8" r="3" />
    <path class="dome-glass" d="M12 52V32a20 20 0 0 1 40 0v20z" />
    <path class="dome-light" d="M18.500 33a13.500 13.500 0 0 1 8.500-12" />
    <path class="dome-prompt" d="M25 34l6 5-6 5" />
    <path class="dome-cursor" d="M35 44h6" />
    <path class="dome-base" d="M6 54h52" />
  </svg>`;
}
