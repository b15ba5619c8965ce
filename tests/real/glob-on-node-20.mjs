// The conformance suite links to `globSync` of "fs", which Node.js has from 22 on, and never calls it in our runs.
import fs from "node:fs";
import { register } from "node:module";

const module_of = (source) => `data:text/javascript,${encodeURIComponent(source)}`;
const fs_with_glob = module_of(`
  export * from "node:fs";
  export { default } from "node:fs";
  export const globSync = undefined;
`);

if (!fs.globSync) {
  register(module_of(`
    export const resolve = (name, context, next) =>
      name === "fs" ? { url: ${JSON.stringify(fs_with_glob)}, shortCircuit: true } : next(name, context);
  `));
}
