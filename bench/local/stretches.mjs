// A stretch of a recorded session as a small local model could have had it.

import { uncompacted } from "../../__test__/support/recordings.mjs";
import { loadSession } from "../../lib/cli/session.mjs";

/** UTF-16 units of a tool result that stay: what a careful local tool returns. */
const RESULT_UNITS = 1_500;

/**
 * `{ messages, calls }`: up to `calls` model calls from message `from` on, behind the question that was being answered there.
 * Provider, model and cost are a local server's, or published prices would decide.
 */
export async function stretchOf(file, { from, calls }) {
  const { messages: recording } = uncompacted(await loadSession(file));
  const all = recording.all.filter(({ stopReason }) => stopReason !== "error" && stopReason !== "aborted");
  const start = all.findIndex(({ role }, at) => at >= from && role !== "toolResult");
  const question =
    all[start]?.role === "user"
      ? []
      : all
          .slice(0, start)
          .filter(({ role }) => role === "user")
          .slice(-1);
  const messages = [...question, ...all.slice(Math.max(0, start))].map(localOf);
  const answers = messages.flatMap(({ role }, at) => (at > 0 && role === "assistant" ? [at] : []));
  if (answers.length === 0) throw new Error(`${file} has no model call from message ${from} on.`);
  const end = answers[calls] ?? messages.length;
  return { messages: messages.slice(0, end), calls: Math.min(calls, answers.length) };
}

function localOf(message) {
  if (message.role === "toolResult") return { ...message, content: message.content.map(cutOf) };
  if (message.role !== "assistant") return message;
  const { usage, cost, responseModel, ...rest } = message;
  // The server is sent no thinking, so the hook is shown none.
  const content = message.content.filter(({ type }) => type !== "thinking");
  return { ...rest, content, provider: "local", model: "smollm2-135m", api: "openai-completions" };
}

function cutOf(block) {
  return block.type === "text" ? { ...block, text: block.text.slice(0, RESULT_UNITS) || " " } : block;
}

/** A message's text as a chat template writes it: texts, then calls as JSON. */
export function textOf({ role, content, summary }) {
  if (typeof content === "string") return content;
  if (typeof summary === "string") return summary;
  const parts = (content ?? []).map((block) => {
    if (block.type === "toolCall") return JSON.stringify({ name: block.name, arguments: block.arguments });
    return block.text ?? (role === "user" ? "[image]" : "");
  });
  return parts.filter(Boolean).join("\n");
}

/** The messages of Chat Completions, with results as user turns: small models know no other roles. Refused answers are not sent. */
export function chatOf(messages) {
  const sent = messages.filter(({ stopReason }) => stopReason !== "error");
  return sent.map((message) => ({
    role: message.role === "assistant" ? "assistant" : "user",
    content: textOf(message) || " ",
  }));
}
