// Asks the server: every path is below the place that this file comes from, and the token is kept in memory alone.

import { readJson } from "./exact_json.js";

/** Where the server is: the page may be served below a path. */
export const ROOT = new URL("../../", import.meta.url);

let token = "";
let askForToken = null;
let asking = null;

/** Remember the token of this visit; it is gone when the page is. */
export function useToken(given) {
  token = given;
}

export function hasToken() {
  return token !== "";
}

/** Set what is called when the server wants a token, once for all requests that wait: it returns a promise of one. */
export function onTokenWanted(ask) {
  askForToken = ask;
}

/** An answer of the server that is a refusal. */
export class Refusal extends Error {
  constructor(status, error) {
    super(error.message ?? `status ${status}`);
    this.status = status;
    this.code = error.code ?? "";
    this.error = error;
  }
}

/** The server cannot be reached. */
export class NoAnswer extends Error {
  constructor() {
    super("The server does not answer");
  }
}

/** Send a request to a path such as "-/tools"; return the response. Asks for a token once the server wants one. */
export async function request(path, options = {}) {
  for (;;) {
    const sent = token;
    const response = await send(path, options, sent);
    if (response.status !== 401 || askForToken === null) return response;
    const { message } = await refusalOf(response);
    // Another request may have got a token while this one was under way.
    if (sent === token) await newToken(sent ? message : "");
  }
}

/** Return what a path answers to a token that is tried out, or throw a Refusal. */
export async function tryToken(path, given) {
  return read(await send(path, {}, given));
}

function newToken(why) {
  asking ??= askForToken(why).then(useToken).finally(() => (asking = null));
  return asking;
}

async function send(path, options, given) {
  const headers = { ...options.headers, ...(given ? { authorization: `Bearer ${given}` } : {}) };
  try {
    return await fetch(new URL(path, ROOT), { ...options, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    throw error instanceof TypeError ? new NoAnswer() : error;
  }
}

/** Return the JSON of a path, or throw a Refusal. */
export async function get(path, options = {}) {
  return read(await request(path, options));
}

/** Post a value as JSON and return the JSON of the answer, or throw a Refusal. */
export async function post(path, value, options = {}) {
  const headers = { "content-type": "application/json", ...options.headers };
  return read(await request(path, { ...options, method: "POST", headers, body: JSON.stringify(value) }));
}

async function read(response) {
  if (!response.ok) throw await refusalOf(response);
  return readJson(await response.text());
}

async function refusalOf(response) {
  let body = {};
  try {
    body = await response.json();
  } catch {
    body = {};
  }
  return new Refusal(response.status, body.error ?? {});
}

/** Post a value and call a function with each event of the answer, until the signal or the server ends it. */
export async function follow(path, value, onEvent, signal) {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const response = await request(path, { method: "POST", headers, body: JSON.stringify(value), signal });
  if (!response.ok) throw await refusalOf(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value: piece, done } = await reader.read();
    if (done) return;
    const events = (rest + piece).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      if (event.startsWith("data: ")) onEvent(readJson(event.slice(6)));
    }
  }
}
