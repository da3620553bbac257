// A made-up session with usage, thinking and tool results, and the pi file it would have been recorded in.

import { answer, call, result, thinking } from "./messages.mjs";

/** Text that stands in every message, so that a test can see whether text of the conversation got out. */
export const SECRET = "a-word-of-the-conversation";

const LONG = Array.from({ length: 60 }, (_, i) => `line ${i} of a long result, ${SECRET}`).join("\n");

/** One question, `calls` tool calls with thinking, an answer. */
export function sessionWithTools(calls) {
  const messages = [{ role: "user", content: `go ${SECRET}`, timestamp: 1 }];
  for (let i = 0; i < calls; i += 1) {
    const content = [
      thinking(`step ${i} ${SECRET}`, "c2lnbmF0dXJl"),
      call(`c${i}`, { arguments: { path: `${SECRET}-${i}` } }),
    ];
    const usage = { input: 100 + 400 * i, output: 20, cacheRead: 0, cacheWrite: 0 };
    messages.push(
      answer(content, { model: "claude", stopReason: "toolUse", usage, timestamp: 2 * i + 2 }),
      result(`c${i}`, LONG, { timestamp: 2 * i + 3 }),
    );
  }
  messages.push({ role: "assistant", content: [{ type: "text", text: "done" }], timestamp: 2 * calls + 2 });
  return messages;
}

/** `messages` as pi leaves them on disk. */
export function asPiFile(messages) {
  const header = { type: "session", id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" };
  const entries = messages.map((message) => ({ type: "message", timestamp: header.timestamp, message }));
  return [header, ...entries].map((entry) => `${JSON.stringify(entry)}\n`).join("");
}
