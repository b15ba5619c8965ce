// The picture: an image, which runs no script and follows no link whatever its SVG holds, with zoom by buttons and
// keys, and moved by scrolling, by the arrow keys or by dragging.

import { h, put } from "./dom.js";

const STEP = 1.25;
const SMALLEST = 0.1;
const READABLE = 0.7;
const LARGEST = 8;
const MAX_PIXELS = 40_000_000;
const MAX_SIDE = 16_000;

/** Make the place of the picture. */
export function makePaper() {
  const alt = "The diagram as a picture; its text is in the editor";
  const image = h("img", { alt, draggable: "false", hidden: true });
  const empty = h("p", { class: "help" }, "No picture yet.");
  const sheet = h("div", {
    class: "paper", tabindex: "0", role: "region", "aria-label": "Picture", "aria-describedby": "picture-keys",
  }, empty, image);
  const shownZoom = h("output", { class: "zoom", "aria-label": "Zoom" }, "100 %");
  const state = { zoom: 1, isFitted: true, size: null, blob: null };

  const apply = () => {
    if (!state.size) return;
    if (state.isFitted) state.zoom = fitting(sheet, state.size);
    image.style.width = `${state.size.width * state.zoom}px`;
    image.style.height = `${state.size.height * state.zoom}px`;
    shownZoom.textContent = `${Math.round(state.zoom * 100)} %`;
  };
  const zoomTo = (zoom) => {
    state.isFitted = zoom === null;
    if (zoom !== null) state.zoom = Math.min(LARGEST, Math.max(SMALLEST, zoom));
    apply();
  };
  const keys = {
    "+": () => zoomTo(state.zoom * STEP), "=": () => zoomTo(state.zoom * STEP), "-": () => zoomTo(state.zoom / STEP),
    0: () => zoomTo(1), f: () => zoomTo(null),
  };
  sheet.addEventListener("keydown", (event) => {
    const work = event.ctrlKey || event.metaKey || event.altKey ? null : keys[event.key];
    if (!work) return;
    event.preventDefault();
    work();
  });
  letDrag(sheet);
  const watch = new ResizeObserver(() => state.isFitted && apply());
  watch.observe(sheet);

  const button = (sign, label, key) => h("button", {
    type: "button", class: "quiet", "aria-label": label, title: `${label} (${key})`, onclick: keys[key],
  }, sign);
  const tools = h(
    "div", { class: "row zooming", role: "group", "aria-label": "Zoom" },
    button("−", "Zoom out", "-"), shownZoom, button("+", "Zoom in", "+"),
    button("1:1", "1:1, actual size", "0"), button("Fit", "Fit the picture", "f"),
  );

  return {
    sheet, tools,
    /** Show a picture of a size. */
    async show({ svg, width, height }) {
      const blob = new Blob([svg], { type: "image/svg+xml" });
      const address = URL.createObjectURL(blob);
      const old = image.src;
      image.src = address;
      await image.decode().catch(() => {});
      if (old) URL.revokeObjectURL(old);
      state.size = { width: width || image.naturalWidth, height: height || image.naturalHeight };
      state.blob = blob;
      image.hidden = false;
      empty.hidden = true;
      sheet.classList.remove("old");
      apply();
    },
    /** Tell whether another picture is on its way. */
    wait: (isBusy) => sheet.setAttribute("aria-busy", String(isBusy)),
    /** Tell that the picture is not that of the text as it is now. */
    age: () => sheet.classList.toggle("old", state.blob !== null),
    clear(text) {
      image.hidden = true;
      empty.hidden = false;
      state.size = state.blob = null;
      put(empty, text);
    },
    svg: () => state.blob,
    png: () => (state.size ? toPng(image, state.size) : null),
    close() {
      watch.disconnect();
      if (image.src) URL.revokeObjectURL(image.src);
    },
  };
}

/** Return the zoom at which a picture is seen whole; a long one as wide as it can be, so that it can be read. */
function fitting(sheet, { width, height }) {
  const wide = Math.min(1, (sheet.clientWidth - 2) / width);
  const whole = Math.min(wide, (sheet.clientHeight - 2) / height);
  return Math.max(SMALLEST, whole, Math.min(wide, READABLE));
}

/** Return a promise of the picture as PNG, twice as fine as the SVG where that is not too large. */
function toPng(image, { width, height }) {
  const fits = (zoom) => width * height * zoom * zoom <= MAX_PIXELS && Math.max(width, height) * zoom <= MAX_SIDE;
  const zoom = [2, 1, 0.5, 0.25].find(fits) ?? 0.1;
  const canvas = h("canvas");
  canvas.width = Math.max(1, Math.round(width * zoom));
  canvas.height = Math.max(1, Math.round(height * zoom));
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this browser cannot make a PNG of that size"))));
  });
}

/** Let a mouse move what is in an element; fingers do so already. */
function letDrag(sheet) {
  let from = null;
  sheet.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    if (event.offsetX > sheet.clientWidth || event.offsetY > sheet.clientHeight) return;
    from = { x: event.clientX + sheet.scrollLeft, y: event.clientY + sheet.scrollTop };
    sheet.setPointerCapture(event.pointerId);
  });
  sheet.addEventListener("pointermove", (event) => {
    if (from) sheet.scrollTo(from.x - event.clientX, from.y - event.clientY);
  });
  for (const name of ["pointerup", "pointercancel"]) sheet.addEventListener(name, () => (from = null));
}
