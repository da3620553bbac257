// An agent's session of tool calls, as pi keeps it: what tests of single decisions are made of.

const START = 1_700_000_000_000;
const BY = { api: "anthropic-messages", provider: "anthropic", model: "claude-opus-4-5" };

/** The text of a message in lines. */
export const textOf = ({ content }) => content.map(({ text }) => text ?? "").join("\n");

/** The first answer's report: it turns the ladder on. */
export const REPORT = { input: 9000, output: 100, cacheRead: 0, cacheWrite: 0 };

/**
 * Steps of `[tool, arguments, text of the result]`, ten seconds apart. `answer(i)` is what else the call of step `i` has. With
 * `pauseMs` the user says to go on after such a pause.
 */
export function agentSession(steps, options = {}) {
  const { ask = "Make every module build again.", answer = () => ({}), stepMs = 10_000, pauseMs } = options;
  const messages = [{ role: "user", content: ask, timestamp: START }];
  for (const [i, [name, args, text]] of steps.entries()) {
    const timestamp = START + stepMs * (i + 1);
    const content = [{ type: "toolCall", id: `call${i}`, name, arguments: args }];
    messages.push({ role: "assistant", content, ...BY, stopReason: "toolUse", timestamp, ...answer(i) });
    const of = { toolCallId: `call${i}`, toolName: name, isError: false, timestamp: timestamp + 1 };
    messages.push({ role: "toolResult", ...of, content: [{ type: "text", text }] });
  }
  if (pauseMs !== undefined)
    messages.push({ role: "user", content: "Go on.", timestamp: START + stepMs * steps.length + pauseMs });
  return messages;
}
