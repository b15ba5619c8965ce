// The page: the navigation, the view that the address names, and the login where the server wants a token.

import { get, onTokenWanted, useToken } from "./api.js";
import { h, put, shown, tell } from "./dom.js";

const VIEWS = {
  tools: ["Tools", () => import("./tools.js")],
  diagram: ["Diagram", () => import("./diagram.js")],
  journal: ["Journal", () => import("./journal.js")],
  health: ["Health", () => import("./health.js")],
  contracts: ["Contracts", () => import("./contracts.js")],
  clients: ["Clients", () => import("./clients.js")],
};

const view = document.getElementById("view");
let leave = () => {};
let turn = 0;

/** What every view is given beside its place: who the server is, and what the address says behind the view's name. */
const app = { about: null, go: (address) => (location.hash = address) };

onTokenWanted((why, wasWrong) => new Promise((resolve) => showLogin(resolve, wasWrong ? why : "")));
addEventListener("hashchange", show);
start();

async function start() {
  drawNavigation();
  await show();
}

function drawNavigation() {
  const links = Object.entries(VIEWS).map(([name, [title]]) => h("a", { href: `#/${name}`, id: `to-${name}` }, title));
  put(document.getElementById("navigation"), links);
}

async function show() {
  const mine = ++turn;
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decodeSafely);
  const chosen = Object.hasOwn(VIEWS, name) ? name : "tools";
  leave();
  leave = () => {};
  for (const link of document.querySelectorAll("#navigation a")) {
    link.id === `to-${chosen}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  document.title = `${VIEWS[chosen][0]} · Signet`;
  try {
    app.about ??= await about();
    const [module] = await Promise.all([VIEWS[chosen][1](), useStyle(`${chosen}.css`)]);
    if (mine !== turn) return;
    const place = h("div", { class: `view ${chosen}` });
    const left = await module.show(place, rest, app);
    if (mine !== turn) return left?.();
    leave = left ?? (() => {});
    put(view, place);
    view.focus({ preventScroll: true });
    scrollTo(0, 0);
  } catch (error) {
    if (mine === turn) put(view, h("div", { class: "failure", role: "alert" }, h("h1", {}, "This view cannot be shown"), h("p", {}, shown(error.message))));
  }
}

async function about() {
  const found = await get("-/about");
  const marks = [found.isSandbox && "sample data", found.isReplay && "replay", found.isRecording && "recording", !found.caller.mayCall && "read only"];
  put(
    document.getElementById("who"),
    marks.filter(Boolean).map((mark) => h("span", { class: "mark" }, mark)),
    found.caller.name && h("span", { class: "name" }, shown(found.caller.name)),
    found.caller.name && h("button", { type: "button", class: "quiet", onclick: logOut }, "Log out"),
    h("span", { class: "version" }, found.version),
  );
  return found;
}

function logOut() {
  useToken("");
  location.reload();
}

function showLogin(resolve, why) {
  const token = h("input", { id: "token", type: "password", name: "token", autocomplete: "off", required: true, "aria-describedby": "token-help" });
  const form = h(
    "form",
    {
      class: "login",
      onsubmit: (event) => {
        event.preventDefault();
        tell("Logging in");
        resolve(token.value.trim());
      },
    },
    h("h1", {}, "Log in"),
    why && h("p", { class: "failure", role: "alert" }, shown(why)),
    h("label", { for: "token" }, "Token"),
    token,
    h("p", { id: "token-help", class: "help" }, "The bearer token that callers of this server send. It stays in this page's memory and is gone when you close or reload it."),
    h("button", { type: "submit" }, "Log in"),
  );
  put(view, form);
  token.focus();
}

const styles = new Map();

/** Load a style sheet beside this file, once. */
function useStyle(name) {
  if (!styles.has(name)) {
    styles.set(name, new Promise((resolve) => {
      const address = new URL(name, import.meta.url).href;
      document.head.append(h("link", { rel: "stylesheet", href: address, onload: resolve, onerror: resolve }));
    }));
  }
  return styles.get(name);
}

function decodeSafely(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
