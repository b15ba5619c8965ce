// The link to a diagram on a PlantUML server, made in the page and followed by nobody until the person clicks it.

import { encode } from "./diagram_link.js";
import { copyButton, h, put, shown } from "./dom.js";

const FORMS = [
  ["svg", "SVG picture"], ["png", "PNG picture"], ["txt", "drawn with characters"], ["uml", "the server's editor"],
];
const count = (number) => number.toLocaleString("en");
const MAX_SHOWN_CHARS = 300;

/** Make the section of the link; `update` gives it another text. */
export function makeLink(means) {
  const host = new URL(means.linkServer).host;
  const place = h("p", { class: "address" });
  const length = h("p", { class: "help", id: "link-length" });
  const warning = h("p", { class: "note", role: "status", hidden: true });
  let text = "";
  let address = "";
  let turn = 0;

  const options = FORMS.map(([value, label]) => h("option", { value }, label));
  const select = h("select", { id: "link-form", onchange: () => update(text) }, options);
  const element = h(
    "section", { class: "link", "aria-labelledby": "link-title" },
    h("div", { class: "row head" },
      h("h2", { id: "link-title" }, "Link"), h("label", { for: "link-form" }, "to"), select,
      copyButton(() => address, "Copy link")),
    place, length, warning,
  );

  async function update(given) {
    text = given;
    const mine = ++turn;
    const encoded = text.trim() ? await encode(text) : "";
    if (mine !== turn) return;
    address = encoded && `${means.linkServer}/${select.value}/${encoded}`;
    const words = address.length > MAX_SHOWN_CHARS ? `${address.slice(0, MAX_SHOWN_CHARS)}…` : address;
    const rules = { target: "_blank", rel: "noopener noreferrer", "aria-describedby": "link-length" };
    put(place, address && h("a", { href: address, ...rules }, shown(words)));
    const told = `${count(address.length)} characters. The text is in the link itself: nothing is sent to ${host} `
      + "until you follow it, and whoever has the link has the text.";
    put(length, address ? told : "No link: the text is empty.");
    warn(address.length);
  }

  function warn(size) {
    const { longLinkChars, tooLongLinkChars } = means;
    const tooLong = `most servers refuse more than ${count(tooLongLinkChars)}: share the picture or the text.`;
    const long = `chats, mail programs and some browsers cut links after ${count(longLinkChars)}.`;
    const why = size > tooLongLinkChars ? tooLong : size > longLinkChars ? long : "";
    const words = why && `The link has ${count(size)} characters, and ${why}`;
    warning.hidden = !words;
    if (warning.textContent !== words) warning.textContent = words;
  }

  return { element, update };
}
