// Compiled, never run: the hook is what every pi version takes as `transformContext`, with nothing cast.
import type { AgentMessage as Message73, AgentOptions as Options73 } from "pi-agent-core-0.73";
import type { AgentMessage as Message74, AgentOptions as Options74 } from "pi-agent-core-0.74";
import type { AgentMessage as Message87, AgentOptions as Options87 } from "pi-agent-core-0.87";
import { createTransformContext, type TransformContextOptions, transformContext } from "pi-strata";

type Hook<Options extends { transformContext?: unknown }> = NonNullable<Options["transformContext"]>;

export const hooks73: Hook<Options73>[] = [transformContext, createTransformContext()];
export const hooks74: Hook<Options74>[] = [transformContext, createTransformContext()];
export const hooks87: Hook<Options87>[] = [transformContext, createTransformContext()];

/** What goes in comes out: an application's own messages keep their type. */
interface Note {
  role: "note";
  content: string;
  pinned: boolean;
}
export async function keepsTheMessageType(own: (Message74 | Note)[], old: Message73[], recent: Message87[]) {
  const notes: (Message74 | Note)[] = await transformContext(own, new AbortController().signal);
  const before: Message73[] = await transformContext(old);
  const now: Message87[] = await transformContext(recent);
  return { notes, before, now };
}

export const options: TransformContextOptions[] = [
  {},
  { contextWindow: 200_000, contextRatio: 0.75, keepRecentToolResults: 6, keepRecentThinking: 1 },
  {
    contextWindow: () => 128_000,
    maxPromptTokens: () => undefined,
    keepRecentMessages: 20,
    summaryHeadLines: 3,
    summaryTailLines: 2,
  },
  { minSummaryChars: 500, marker: "en", excludeTools: ["recall"] },
  { marker: (omittedLines, originalChars) => `${omittedLines.toFixed()} of ${originalChars.toFixed()}` },
  {
    thinkingScope: "closedTurns",
    overflow: "keep",
    reserveTokens: 0,
    imageTokens: 1200,
    schedule: "everyCall",
  },
  { onEvent: (event) => (event.type === "transformed" ? console.log(event.tokensAfter) : undefined) },
];

// @ts-expect-error: the schedule has no such mode
createTransformContext({ schedule: "sometimes" });
// @ts-expect-error: a number of tokens, not a text
createTransformContext({ contextWindow: "200k" });
// @ts-expect-error: an unknown option is a typing mistake
createTransformContext({ keepRecentToolResult: 6 });
// @ts-expect-error: messages have a role
transformContext([{ content: "hello" }]);

// pi's own types are really there: were one `any`, all of the above would hold for nothing.
// @ts-expect-error
export const unknown73: Message73 = { role: "nonsense" };
// @ts-expect-error
export const unknown74: Message74 = { role: "nonsense" };
// @ts-expect-error
export const unknown87: Message87 = { role: "nonsense" };
