// Plan, execute, evaluate: three components that share one session, runnable as it is: `node examples/planner.mjs`.
// The first plan names a file that does not exist. The executor fails, the evaluator asks for another plan, and the
// planner, which has no memory but the session, does not make the same mistake twice, although by then the session
// has been compressed. The models are scripts that decide by the messages they are sent; the executor is a real
// agent with real tools.
import { fileURLToPath } from "node:url";
import { Agent } from "@earendil-works/pi-agent-core";
import { ContextManager } from "pi-strata/sessions";
import { createScriptedModel, scriptedModel } from "./scripted/model.mjs";
import { createTools } from "./scripted/tools.mjs";

const SESSION = "release-check";
const GOAL = "Find out which version this package has.";

const manager = new ContextManager({
  maxMessages: 6,
  maxCompressedMessages: 2,
  onEvent: ({ type, before, after, by }) =>
    console.log(`  (${type}: ${before} → ${after} messages, by ${by})`),
});
manager.getOrCreateContext(SESSION, "Three components share this session: planner, executor, evaluator.");
manager.setMetadata(SESSION, { goal: GOAL });
manager.addMessage(SESSION, { role: "user", content: GOAL });

/** The session's knowledge, in one text: all that a component can decide by. */
function known() {
  return manager
    .getMessages(SESSION)
    .map(({ content }) => content)
    .join("\n");
}

function say(who, text) {
  console.log(`${who}: ${text}`);
  manager.addMessage(SESSION, { role: "assistant", content: `${who}: ${text}` });
}

/** Plans to read the first file that has not failed yet. */
function plan() {
  const failed = new Set(Array.from(known().matchAll(/Cannot read (\S+): ENOENT/g), ([, file]) => file));
  const file = failed.has("VERSION.txt") ? "package.json" : "VERSION.txt";
  const planId = `plan-${file}`;
  manager.setMetadata(SESSION, { planId });
  const reason = failed.size > 0 ? `; ${[...failed].join(", ")} was tried before and is not there` : "";
  say("planner", `read ${file}${reason}`);
  return file;
}

/** A real agent; what it says, calls and gets goes into the session by itself. */
async function execute(file) {
  const model = createScriptedModel([
    { text: `Reading ${file}.`, calls: [{ name: "read", arguments: { path: file } }] },
    { text: `That is what ${file} has to say.` },
  ]);
  const tools = createTools(fileURLToPath(new URL("..", import.meta.url)));
  const agent = new Agent({ initialState: { model: scriptedModel, tools }, streamFn: model.streamFn });
  const detach = manager.attach(agent, SESSION);
  await agent.prompt(`Carry out: read ${file}`);
  detach();
  console.log(`executor: ran ${model.sent.length} requests`);
}

/** Content as soon as the session shows a version. */
function evaluate() {
  const version = /"version": "([^"]+)"/.exec(known())?.[1];
  say("evaluator", version ? `done: the version is ${version}` : "not done: plan again");
  return version !== undefined;
}

for (let round = 1; round <= 3; round += 1) {
  console.log(`\nround ${round}`);
  await execute(plan());
  if (evaluate()) break;
}

const { metadata, messages } = manager.getOrCreateContext(SESSION);
console.log("\nThe session in the end:", metadata, manager.getStats(SESSION));
console.log(messages.find(({ content }) => content.startsWith("[上下文总结]"))?.content);
