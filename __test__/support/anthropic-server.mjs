// Anthropic's server in place of the network, for programs that are run with `--import`: the steps of the guide's program, then
// summaries.

import { APIS } from "./apis.mjs";

const read = (id, path) => ({ calls: [{ id, name: "read", arguments: { path } }] });
const steps = process.argv[1].endsWith("agent.js")
  ? [read("t1", "package.json"), read("t2", "agent.js"), { text: "A folder with one program.", calls: [] }]
  : [];
const summary = { text: JSON.stringify([{ q: "words", a: "many" }]), calls: [] };
const usage = { input: 900, output: 20, cacheRead: 0, cacheWrite: 0 };

globalThis.asked = 0;
globalThis.fetch = async (input) => {
  const { href } = new URL(input.url ?? input);
  if (!href.startsWith("https://api.anthropic.com/v1/messages")) throw new Error(`asked ${href}`);
  globalThis.asked += 1;
  const events = APIS["/v1/messages"].answer(steps.shift() ?? summary, usage, { id: "m", model: "claude" });
  return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
};
