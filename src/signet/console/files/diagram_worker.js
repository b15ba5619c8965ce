// The worker in which PlantUML's engine runs. It is given the text of a diagram and answers with a picture. It is a
// script and not a module, since the engine's own scripts are; its policy lets it run WebAssembly and send nothing
// anywhere.
"use strict";

// The shim takes the place of what a worker has, so what is used here is kept first.
const post = self.postMessage.bind(self);
const load = self.importScripts.bind(self);
const listen = self.addEventListener.bind(self);
const later = self.setTimeout.bind(self);
const ENGINE = "../engine/";
const LIBRARIES = ["themes.js", "openiconic.js", "emoji.js"];

start().catch((error) => post({ failed: String(error?.message ?? error) }));

async function start() {
  const { judge } = await import("./diagram_picture.js");
  load(...["shim.js", "fonts.js", "viz-global.js", "plantuml.js"].map((name) => ENGINE + name));
  self.signet.startGraphviz();
  while (!self.signet.keepGraphviz()) await new Promise((resolve) => later(resolve, 5));
  // The first picture takes ten times as long as the next.
  self.signet.warm();
  listen("message", ({ data }) => post({ id: data.id, ...draw(data, judge) }));
  post({ ready: true });
}

function draw({ text, dark }, judge) {
  const render = () => JSON.parse(self.signet.render(text, dark));
  let answer = render();
  for (let wanted; (wanted = LIBRARIES.filter((name) => answer.wanted.includes(name))).length; answer = render()) {
    post({ loading: true });
    for (const name of wanted) {
      load(ENGINE + name);
      self.signet.loaded(name);
    }
    post({ loading: false });
  }
  return judge(answer, text, dark);
}
