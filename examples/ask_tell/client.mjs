// A study from JavaScript: node client.mjs study.toml
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const server = spawn("surefoot", ["serve", process.argv[2]], { stdio: ["pipe", "pipe", "inherit"] });
const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();

async function request(verb, given = {}) {
  server.stdin.write(JSON.stringify({ verb, ...given }) + "\n");
  const { value, done } = await answers.next();
  if (done) throw new Error("surefoot has ended");
  return JSON.parse(value);
}

function measure({ threads, buffer }) {
  return 12 + 3 * Math.log(threads / 10) ** 2 + Math.log(buffer / 20) ** 2;
}

for (;;) {
  const asked = await request("ask");
  if (asked.error) {
    console.log(asked.error);
    break;
  }
  for (const { id, params } of asked.configurations) {
    const told = await request("tell", { id, value: measure(params), worker: "node" });
    console.log(told.error ?? `${told.finished} of ${told.rounds}: ${told.value.toFixed(3)} ms`);
  }
}
const { predictions } = await request("predict", { configurations: ["recommended"] });
console.log("recommended", predictions[0].params, "with", predictions[0].value.toFixed(3), "ms");
server.stdin.end();
