// Records the run of `agent.mjs` without the hook as pi would have left it on disk (session version 3):
// `node examples/record.mjs FILE`. `examples/session.jsonl` was made so. Agent, tools and results are real. The model is the script, and three things are made up
// to be like a provider's: the clock (nobody waits for minutes here), the usage (1.27 times cl100k, what sessions
// with Claude show, and a prefix cache of five minutes) and the thinking's signatures.
import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Agent } from "@earendil-works/pi-agent-core";
import { countTokens } from "pi-strata";
import { createScriptedModel, scriptedModel } from "./scripted/model.mjs";
import { SYSTEM_PROMPT, script, tasks } from "./scripted/tasks.mjs";
import { createTools } from "./scripted/tools.mjs";

/** Tokens of Claude per token of cl100k, as measured on real sessions. */
const CLAUDE_PER_CL100K = 1.27;
/** When the recorded sitting began. */
const START_MS = Date.UTC(2026, 8, 14, 8, 42, 17);
/** Time to the first token of an answer, and per token of it. */
const LATENCY_MS = 1_400;
const TOKEN_MS = 14;
/** The time that a tool takes. */
const TOOL_MS = 90;

const [file] = process.argv.slice(2);
if (file === undefined || existsSync(file)) {
  console.error("Name a file that does not exist yet: node examples/record.mjs FILE");
  process.exit(2);
}

let clock = START_MS;
const lines = [];
let parentId = null;

function record(entry) {
  const id = createHash("sha256").update(String(lines.length)).digest("hex").slice(0, 8);
  lines.push({ type: entry.type, id, parentId, timestamp: new Date(clock).toISOString(), ...entry });
  parentId = id;
}

lines.push({
  type: "session",
  version: 3,
  id: "0199455e-6f1a-7c3e-9d5b-2a8f4c7b1e60",
  timestamp: new Date(clock).toISOString(),
  cwd: "/home/dev/pi-strata",
});
record({ type: "model_change", provider: scriptedModel.provider, modelId: scriptedModel.id });
record({ type: "thinking_level_change", thinkingLevel: "medium" });

const model = createScriptedModel(script(), {
  now: () => clock,
  countTokens: (messages) => Math.round(CLAUDE_PER_CL100K * countTokens(messages)),
});
const agent = new Agent({
  initialState: {
    systemPrompt: SYSTEM_PROMPT,
    model: scriptedModel,
    tools: createTools(fileURLToPath(new URL("..", import.meta.url))),
  },
  streamFn: model.streamFn,
});

agent.subscribe(({ type, message }) => {
  if (type !== "message_end") return;
  if (message.role === "assistant") clock += LATENCY_MS + TOKEN_MS * message.usage.output;
  if (message.role === "toolResult") clock += TOOL_MS;
  const timestamp = message.role === "toolResult" ? clock : message.timestamp;
  record({ type: "message", message: { ...message, timestamp } });
});

for (const { ask, pauseSeconds } of tasks) {
  clock += pauseSeconds * 1_000;
  await agent.prompt({ role: "user", content: [{ type: "text", text: ask }], timestamp: clock });
}

writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""), { flag: "wx" });
console.log(`${lines.length} lines, ${agent.state.messages.length} messages in ${file}`);
