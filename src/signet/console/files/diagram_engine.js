// Who draws: the engine in a worker of this page, or the server. Only the newest diagram is drawn; one that takes too
// long, or ends the worker, is given up, and the worker is started anew for the next.

import { post } from "./api.js";
import { findDiagram, placeOf } from "./diagram_source.js";

const LIMIT_MS = 5_000;
const LOAD_MS = 60_000;
const TOO_SLOW = "the diagram was not drawn within 5 seconds and was stopped: make it smaller";

/** PlantUML in a worker. `draw` answers null for a diagram that was overtaken by another. */
export class PageEngine {
  #worker = null;
  #isReady = false;
  #current = null;
  #next = null;
  #timer = 0;

  /** Return a promise of {svg, width, height}, of {message, line}, or of null. */
  draw(source, dark) {
    const diagram = findDiagram(source);
    this.#next?.resolve(null);
    this.#next = null;
    if (diagram.message) return Promise.resolve(diagram);
    return new Promise((resolve) => {
      this.#next = { id: crypto.randomUUID?.() ?? String(Math.random()), diagram, dark, resolve };
      if (this.#worker === null) this.#start();
      this.#send();
    });
  }

  /** End the worker, which takes some hundred megabytes. */
  close() {
    this.#worker?.terminate();
    this.#worker = null;
    this.#isReady = false;
    clearTimeout(this.#timer);
    for (const order of [this.#current, this.#next]) order?.resolve(null);
    this.#current = this.#next = null;
  }

  #start() {
    this.#worker = new Worker(new URL("diagram_worker.js", import.meta.url));
    this.#worker.addEventListener("message", ({ data }) => this.#receive(data));
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#fail(`the engine ended (${event.message || "it could not be loaded"})`, !this.#isReady);
    });
    this.#wait(LOAD_MS, () => this.#fail("the engine was not loaded within a minute", true));
  }

  #receive(data) {
    if (data.failed) this.#fail(`the engine cannot be loaded (${data.failed})`, true);
    else if (data.ready) this.#ready();
    else if (data.loading === true) this.#wait(LOAD_MS, () => this.#fail(TOO_SLOW));
    else if (data.loading === false) this.#wait(LIMIT_MS, () => this.#fail(TOO_SLOW));
    else if (data.id === this.#current?.id) this.#answer(data);
  }

  #ready() {
    clearTimeout(this.#timer);
    this.#isReady = true;
    this.#send();
  }

  #send() {
    if (!this.#isReady || this.#current || !this.#next) return;
    this.#current = this.#next;
    this.#next = null;
    const { id, diagram, dark } = this.#current;
    this.#wait(LIMIT_MS, () => this.#fail(TOO_SLOW));
    this.#worker.postMessage({ id, text: diagram.text, dark });
  }

  #answer({ id: _, ...drawn }) {
    clearTimeout(this.#timer);
    const { diagram, resolve } = this.#current;
    this.#current = null;
    resolve(drawn.line ? { ...drawn, line: placeOf(diagram, drawn.line) } : drawn);
    this.#send();
  }

  /** Give up what is drawn, and start anew where another waits; an engine that cannot be loaded is broken. */
  #fail(message, isBroken = false) {
    const waiting = isBroken ? null : this.#next;
    const failed = isBroken ? [this.#current, this.#next] : [this.#current];
    this.#current = this.#next = null;
    this.close();
    for (const order of failed) order?.resolve({ message, isBroken, isStopped: !isBroken });
    this.#next = waiting;
    // A new worker is loaded now, so that it is there for the next diagram.
    if (!isBroken) this.#start();
  }

  #wait(time, work) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(work, time);
  }
}

/** The server's engine, asked for each diagram. */
export class ServerEngine {
  #abort = null;

  async draw(source, dark) {
    this.close();
    const mine = (this.#abort = new AbortController());
    try {
      const drawn = await post("-/draw", { source, format: "svg", dark }, { signal: mine.signal });
      if (!drawn.ok) return { message: drawn.message, line: drawn.line };
      return { svg: drawn.data, width: drawn.width, height: drawn.height };
    } catch (error) {
      return mine.signal.aborted ? null : { message: error.message };
    }
  }

  close() {
    this.#abort?.abort();
  }
}
