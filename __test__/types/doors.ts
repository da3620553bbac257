// Compiled, never run: the guard and the recall tool fit into every pi version as they are.

import type { AgentOptions as Options73, AgentTool as Tool73 } from "pi-agent-core-0.73";
import type {
  AgentMessage as Message74,
  AgentOptions as Options74,
  AgentTool as Tool74,
} from "pi-agent-core-0.74";
import type { AgentOptions as Options87, AgentTool as Tool87 } from "pi-agent-core-0.87";
import {
  type Assembler,
  type Compressor,
  createContextGuard,
  createRecallTool,
  fromOpenAIMessages,
  guardContext,
  Pipeline,
  type Provider,
  SimpleCompressor,
  SqliteProvider,
  StandardAssembler,
  toOpenAIMessages,
  truncateToolResult,
} from "pi-strata";

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

const recall = createRecallTool(() => []);
export const tools: [Tool73, Tool74, Tool87] = [recall, recall, recall];

export async function keepsTheMessageType(messages: Message74[]): Promise<Message74[]> {
  const guarded = await guardContext(messages, {
    contextWindow: 200_000,
    onEvent: (e) => console.warn(e.message),
  });
  return guarded.messages;
}

export const parts: [Provider, Compressor, Assembler] = [
  new SqliteProvider(":memory:"),
  new SimpleCompressor({ maxMessages: 12 }),
  new StandardAssembler(),
];
export const pipeline = new Pipeline({
  provider: parts[0],
  compressor: { compress: async (messages) => messages },
});
export const roundTrip = (messages: Message74[]) => fromOpenAIMessages(toOpenAIMessages(messages));

// @ts-expect-error: a window must be given
createContextGuard({});
// @ts-expect-error: a text, not a message
truncateToolResult({ role: "user" });
// @ts-expect-error: a chat is a number
parts[0].getHistory("1", 2);
