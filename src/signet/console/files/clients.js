// The view "Clients": for each client of `signet install` its file, and the entry to write into it.

import { ROOT, post } from "./api.js";
import { codeBlock, h, put } from "./dom.js";

const WAYS = {
  "over HTTP": "The client calls this server, which has to run.",
  "on stdio": "The client starts a server of its own; the program signet must be on its PATH.",
};

export async function show(place, [chosen], app) {
  const url = (app.about.root || ROOT.href).replace(/\/$/, "");
  const { clients, isSecured } = await post("-/clients", { url });
  const client = clients.find(({ name }) => name === chosen) ?? clients[0];
  put(
    place,
    h("h1", {}, "Clients"),
    h("p", {}, "How a client is told of this server. The command edits the client's file and keeps the rest of it; by hand, put the entry into the file yourself."),
    isSecured && h("p", { class: "note" }, "This server wants a token: give it to the client as the header ", h("code", {}, "Authorization: Bearer …"), ". An entry has no token in it."),
    h("div", { class: "layout" }, menu(clients, client), page(client, url)),
  );
}

function menu(clients, chosen) {
  const links = clients.map(({ name, title }) =>
    h("li", {}, h("a", { href: `#/clients/${name}`, "aria-current": name === chosen.name ? "true" : null }, title)));
  return h("nav", { class: "side", "aria-label": "Clients" }, h("ul", {}, links));
}

function page(client, url) {
  return h(
    "section",
    { "aria-label": client.title },
    h("h2", {}, client.title),
    client.entries.map((entry) => [
      h("h3", {}, entry.way === "over HTTP" ? `Over HTTP, at ${url}/mcp` : "On stdio"),
      entry.text ? [
        h("p", { class: "help" }, WAYS[entry.way]),
        codeBlock(entry.command, `the command for ${client.title}, ${entry.way}`),
        h("p", {}, "or, by hand:"),
        codeBlock(entry.text, `the entry for ${client.title}, ${entry.way}`),
        entry.text.includes("[redacted]") && h("p", { class: "help" }, "Where [redacted] stands, write the secret."),
      ] : h("p", {}, `${client.title} takes remote servers in its settings, not in a file: add ${url}/mcp there.`),
    ]),
    h("h3", {}, "Its files"),
    h("dl", { class: "files" }, client.files.map(({ place, path }) => [h("dt", {}, place), h("dd", {}, h("code", {}, path))])),
  );
}
