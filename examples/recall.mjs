// Nothing hidden is lost: `node examples/recall.mjs`. An agent reads six files, the hook shows the old ones as
// summaries, and the (scripted) model gets what it needs back with the recall tool, by the handle in the marker.
import { fileURLToPath } from "node:url";
import { Agent } from "@earendil-works/pi-agent-core";
import { createRecallTool, createTransformContext } from "pi-strata";
import { createScriptedModel, scriptedModel } from "./scripted/model.mjs";
import { createTools } from "./scripted/tools.mjs";

let shown = [];

/** The model: reads, meets a marker, searches the original, reads on from the match. */
function* script() {
  for (const path of [
    "README.md",
    "src/lib.rs",
    "src/text.rs",
    "src/plan.rs",
    "src/transcript/mod.rs",
    "Cargo.toml",
  ]) {
    yield { calls: [{ name: "read", arguments: { path } }] };
  }
  const marker = shown.map(textOf).find((text) => text.includes("handle: "));
  const handle = /handle: ([0-9a-f]{8})/.exec(marker)[1];
  console.log(`the model sees:\n${indent(marker)}`);
  const [found] = yield { calls: [{ name: "recall", arguments: { handle, pattern: "transformContext" } }] };
  console.log(`recall("${handle}", pattern):\n${indent(found)}`);
  const offset = Number(/@(\d+):/.exec(found)[1]);
  const [page] = yield { calls: [{ name: "recall", arguments: { handle, offset, limit: 300 } }] };
  console.log(`recall("${handle}", offset ${offset}):\n${indent(page)}`);
  yield { text: "Found it." };
}

const textOf = ({ content }) =>
  Array.isArray(content) ? content.map(({ text }) => text ?? "").join("\n") : "";
const indent = (text) => text.slice(0, 700).replace(/^/gm, "  | ");

const hook = createTransformContext({
  recall: true,
  marker: "auto",
  keepRecentToolResults: 2,
  schedule: "everyCall",
});
const agent = new Agent({
  initialState: { model: scriptedModel, tools: createTools(fileURLToPath(new URL("..", import.meta.url))) },
  streamFn: createScriptedModel(script()).streamFn,
  transformContext: async (messages, signal) => {
    shown = await hook(messages, signal);
    return shown;
  },
});
agent.state.tools = [...agent.state.tools, createRecallTool(() => agent.state.messages)];
await agent.prompt("Where does the hook come in?");
console.log(agent.state.messages.at(-1).content[0].text);
