// Compiled, never run: the guard, the recall tool, sessions and the rolling memory fit into every pi version as they
// are, and pi-ai's `complete` is a summariser in one line.

import { type Api, complete, type Model } from "@earendil-works/pi-ai";
import type { Agent as Agent73, AgentOptions as Options73, AgentTool as Tool73 } from "pi-agent-core-0.73";
import type {
  Agent as Agent74,
  AgentMessage as Message74,
  AgentOptions as Options74,
  AgentTool as Tool74,
} from "pi-agent-core-0.74";
import type { Agent as Agent87, AgentOptions as Options87, AgentTool as Tool87 } from "pi-agent-core-0.87";
import { createRecallTool } from "pi-strata";
import { pruneForBudget } from "pi-strata/ai-sdk";
import { createContextGuard, guardContext, truncateToolResult } from "pi-strata/guard";
import { type Ledger, ledger } from "pi-strata/ledger";
import {
  type Assembler,
  type Compressor,
  Pipeline,
  type Provider,
  SimpleCompressor,
  SqliteProvider,
  StandardAssembler,
} from "pi-strata/pipeline";
import {
  type AIService,
  ContextManager,
  type ConversationMessage,
  createSharedContextManager,
  fromOpenAIMessages,
  RollingMemory,
  type Summarize,
  toAgentMessages,
  toOpenAIMessages,
} from "pi-strata/sessions";

const guard = createContextGuard({
  contextWindow: () => 128_000,
  counting: "chars",
  contextWindowOverride: null,
});
export const guards: [Options73, Options74, Pick<Options87, "transformContext">] = [
  { transformContext: guard },
  { transformContext: guard },
  { transformContext: guard },
];

export async function billed(messages: Message74[]): Promise<[Ledger, number | undefined]> {
  const bill = await ledger(messages, { prices: { input: 3 }, economy: "thrifty" });
  return [bill, bill.dollars.saved];
}

const recall = createRecallTool(() => []);
export const tools: [Tool73, Tool74, Tool87] = [recall, recall, recall];

export async function keepsTheMessageType(messages: Message74[]): Promise<Message74[]> {
  const guarded = guardContext(messages, { contextWindow: 200_000, onEvent: (e) => console.warn(e.message) });
  return guarded.messages;
}

export const parts: [Provider, Compressor, Assembler] = [
  new SqliteProvider({ db: {} }),
  new SimpleCompressor({ maxMessages: 12 }),
  new StandardAssembler(),
];
export const pipeline = new Pipeline({
  provider: parts[0],
  compressor: { compress: async (messages) => messages },
});
export const roundTrip = (messages: Message74[]) => fromOpenAIMessages(toOpenAIMessages(messages));

export const summariser =
  (model: Model<Api>): Summarize =>
  async (_, { prompt, ...options }) =>
    (await complete(model, { messages: [{ role: "user", content: prompt, timestamp: 0 }] }, options)).content
      .map((block) => (block.type === "text" ? block.text : ""))
      .join("");

export function attachesToEveryAgent(agents: [Agent73, Agent74, Agent87], summarize: Summarize) {
  const manager = new ContextManager({ summarize });
  return agents.map((agent) => manager.attach(agent, "s"));
}

export async function goesOnForEver(agent: Agent74, memory: RollingMemory, question: string) {
  agent.state.messages = (await memory.beforePrompt(agent.state.messages, question)).messages;
  await agent.continue();
  agent.state.messages = (await memory.afterReply(agent.state.messages)).messages;
}

export const answered = toAgentMessages([{ role: "user", content: "a" }]);
// @ts-expect-error: a tool's answer is "tool" here, "toolResult" in pi
toAgentMessages([{ role: "toolResult", content: "a" }]);
// @ts-expect-error: a memory needs to know the window
new RollingMemory({});
// @ts-expect-error: a window must be given
createContextGuard({});
// @ts-expect-error: a text, not a message
truncateToolResult({ role: "user" });
// @ts-expect-error: a chat is a number or a text
parts[0].getHistory({}, 2);

/** What a session keeps goes into an agent as it is, whatever the pi version. */
export function sessions(old: Agent73, middle: Agent74, young: Agent87, manager: ContextManager) {
  const { messages } = manager.getOrCreateContext("s", "Be brief.");
  old.state.messages = toAgentMessages(messages, old.state.model);
  middle.state.messages = toAgentMessages(messages, middle.state.model);
  young.state.messages = toAgentMessages(messages, young.state.model);
  manager.addMessage("s", { role: "user", content: [{ type: "image", data: "", mimeType: "image/png" }] });
  for (const message of fromOpenAIMessages([])) manager.addMessage("s", message);
  manager.setMetadata("s", { goal: null });
  const gone: string[] = manager.deleteMessages("s", [manager.listSessions()[0]?.sessionId ?? ""]);
  const memory = new RollingMemory({
    contextWindow: 1,
    overheadTokens: () => 2,
    history: [{ q: gone[0] ?? "", a: "" }],
  });
  memory.reset();
  return ContextManager.getInstance({ database: {}, maxMessages: 1 });
}

export async function shared(pool: object, aiService: AIService): Promise<ConversationMessage[]> {
  const manager = createSharedContextManager({ pool, summarize: aiService });
  await manager.addMessage("s", { role: "user", content: "a" });
  await manager.compressContext("s", aiService);
  manager.setMaxMessages(10);
  // @ts-expect-error: a pool must be given
  createSharedContextManager({});
  return await manager.getMessages("s", false);
}

/** A step that is not there yet has no usage. */
export const pruned = pruneForBudget([], {}, { model: undefined, usage: undefined });
