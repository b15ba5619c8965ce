// Results of the diagram tools: the link with its length, the picture, or what is wrong and in which line.

import { codeBlock, copyButton, h, put, save, shown } from "./dom.js";

const LONG_LINK = 2_000;

/** Show the result of a diagram tool; `view.diagram` tells which kind it is. */
export function showDiagram(place, view, result) {
  const draw = { link: showLink, picture: showPicture, check: showCheck }[view.diagram];
  put(place, draw(result));
}

function showLink(result) {
  const length = result.url.length;
  return [
    h("p", { class: "link" }, h("a", { href: result.url, rel: "noopener noreferrer nofollow", target: "_blank" }, shown(result.url))),
    h("p", { class: "help" }, `${length.toLocaleString("en")} characters, ${result.format}. Following the link sends the diagram to that server.`),
    length > LONG_LINK && h("p", { class: "note" }, `Some browsers and servers refuse links over ${LONG_LINK.toLocaleString("en")} characters.`),
    result.warning && h("p", { class: "note" }, shown(result.warning)),
    h("div", { class: "row" }, copyButton(result.url, "Copy link"), copyButton(result.encoded, "Copy code")),
  ];
}

function showPicture(result) {
  if (result.format === "txt") return codeBlock(result.data, "The diagram");
  const bytes = result.format === "png" ? Uint8Array.from(atob(result.data), (char) => char.charCodeAt(0)) : result.data;
  const blob = new Blob([bytes], { type: result.format === "png" ? "image/png" : "image/svg+xml" });
  const picture = h("img", { alt: "The diagram", class: "diagram-picture", width: result.width, height: result.height });
  picture.src = URL.createObjectURL(blob);
  picture.addEventListener("load", () => URL.revokeObjectURL(picture.src), { once: true });
  return [
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Picture" }, picture),
    h("div", { class: "row" }, h("span", { class: "help" }, `${result.format}, ${result.width} × ${result.height}`),
      h("button", { type: "button", class: "quiet", onclick: () => save(`diagram.${result.format}`, blob) }, "Save picture")),
  ];
}

function showCheck(result) {
  if (result.ok) return h("p", { class: "good" }, "✓ The diagram can be drawn", result.diagram && ["; it is of the kind ", h("code", {}, shown(result.diagram))], ".");
  const errors = result.errors.map((error) => h("li", {},
    h("strong", {}, error.line === null ? "No line" : `Line ${error.line}`), ": ", shown(error.message),
    error.source && h("pre", {}, h("code", {}, shown(error.source)))));
  return [h("p", { class: "bad" }, "✗ The diagram cannot be drawn."), h("ul", { class: "places" }, errors)];
}
