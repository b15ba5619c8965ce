// The page: the navigation, the view that the address names, and the login where the server wants a token.

import { NoAnswer, get, onTokenWanted, tryToken, useToken } from "./api.js";
import { h, hush, put, shown, tell } from "./dom.js";

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
let hasShown = false;

/** What every view is given beside its place: who the server is, and what the address says behind the view's name. */
const app = { about: null, go: (address) => (location.hash = address) };

onTokenWanted(logIn);
addEventListener("hashchange", () => isView() && show());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  view.focus();
});
drawNavigation();
show();

/** Tell whether the address names a view: it may name a place on the page. */
function isView() {
  return location.hash === "" || location.hash.startsWith("#/");
}

function drawNavigation() {
  const links = Object.entries(VIEWS).map(([name, [title]]) => h("a", { href: `#/${name}`, id: `to-${name}` }, title));
  put(document.getElementById("navigation"), links);
}

async function show() {
  const mine = ++turn;
  const [name, ...rest] = isView() ? location.hash.slice(2).split("/").map(decodeSafely) : [""];
  const chosen = Object.hasOwn(VIEWS, name) ? name : "tools";
  leave();
  leave = () => {};
  hush();
  markCurrent(chosen);
  document.title = `${VIEWS[chosen][0]} · Signet`;
  try {
    await showView(chosen, rest, mine);
  } catch (error) {
    if (mine === turn) showFailure(error);
  }
}

async function showView(chosen, rest, mine) {
  app.about ??= drawHeader(await get("-/about"));
  const [module] = await Promise.all([VIEWS[chosen][1]().catch(whyNotLoaded), useStyle(`${chosen}.css`)]);
  if (mine !== turn) return;
  const place = h("div", { class: `view ${chosen}` });
  const left = await module.show(place, rest, app);
  if (mine !== turn) {
    left?.();
    return;
  }
  leave = left ?? (() => {});
  put(view, place);
  // The first view is where a reader begins anyway.
  if (hasShown) view.focus({ preventScroll: true });
  hasShown = true;
  scrollTo(0, 0);
}

function markCurrent(chosen) {
  for (const link of document.querySelectorAll("#navigation a")) {
    link.id === `to-${chosen}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
}

function whyNotLoaded(error) {
  throw error instanceof TypeError ? new NoAnswer() : error;
}

function showFailure(error) {
  const isGone = error instanceof NoAnswer;
  put(view, h("div", { class: "failure", role: "alert" },
    h("h1", {}, isGone ? "The server does not answer" : "This view cannot be shown"),
    h("p", {}, isGone ? "It may be stopped, or the network is down." : shown(error.message)),
    h("button", { type: "button", class: "quiet", onclick: tryAgain }, "Try again")));
}

/** Show the view again; a browser that remembers a file as lacking has to load the page anew. */
async function tryAgain() {
  await show();
  const isGone = view.querySelector(":scope > .failure");
  if (isGone && (await get("-/about").then(() => true, () => false))) location.reload();
  view.focus();
}

function drawHeader(found) {
  const { isSandbox, isReplay, isRecording, caller } = found;
  const marks = [isSandbox && "sample data", isReplay && "replay", isRecording && "recording", !caller.mayCall && "read only"];
  put(
    document.getElementById("who"),
    marks.filter(Boolean).map((mark) => h("span", { class: "mark" }, mark)),
    caller.name && h("span", { class: "name" }, shown(caller.name)),
    caller.name && h("button", { type: "button", class: "quiet", onclick: logOut }, "Log out"),
    h("span", { class: "version" }, found.version),
  );
  return found;
}

/** Ask for a token over the view, which waits; who the caller is now is told in the header. */
async function logIn(why) {
  const { askForToken } = await import("./login.js").catch(whyNotLoaded);
  const { token, found } = await askForToken(why, (given) => tryToken("-/about", given));
  app.about = drawHeader(found);
  if (document.activeElement === document.body) view.focus({ preventScroll: true });
  tell(found.caller.name ? `Logged in as ${found.caller.name}` : "Logged in");
  return token;
}

function logOut() {
  useToken("");
  location.reload();
}

const styles = new Map();

/** Load a style sheet beside this file, once. */
function useStyle(name) {
  if (!styles.has(name)) {
    styles.set(name, new Promise((resolve) => {
      const address = new URL(name, import.meta.url).href;
      const forget = () => (styles.delete(name), resolve());
      document.head.append(h("link", { rel: "stylesheet", href: address, onload: resolve, onerror: forget }));
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
