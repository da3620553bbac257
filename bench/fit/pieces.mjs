// What a conversation consists of, by who brought it: the pieces whose worth is fitted.

import { callsIn, changesOf, stringsIn } from "../economy/lines.mjs";

/** The kinds of content, in the order of the tables. */
export const KINDS = [
  "read result",
  "other result",
  "edit argument",
  "other argument",
  "own text",
  "thinking",
  "user text",
];

const READS = /^(?!.*(?:todo|task|plan)).*(?:read|view|open_file|^cat$)/i;
const WRITES = /^(?!.*(?:todo|task|plan|stdin)).*(?:write|edit|create|patch)/i;
/** Agents without a reading tool read with these. */
const READING_COMMAND =
  /^\s*(?:cd [^&;|]+(?:&&|;)\s*)?(?:cat(?! *>)|sed -n|head|tail|nl|bat|type|Get-Content)\b/;
const WRITING_COMMAND =
  /\*\*\* Begin Patch|>\s*[^\s&|>]+\s*<<|<<-?\s*['"]?\w+['"]?\s*>|\bsed -i|Set-Content|Out-File/;

/** `{ kind, text, call? }` of each part of a message; `calls` are the tool calls so far, by id, and grow. */
export function piecesOf(message, calls) {
  const blocks = Array.isArray(message.content)
    ? message.content
    : [{ type: "text", text: String(message.content ?? "") }];
  if (message.role === "toolResult") {
    const kind = isRead(calls.get(message.toolCallId)) ? "read result" : "other result";
    return blocks.map(({ text = "" }) => ({ kind, text }));
  }
  if (message.role !== "assistant") {
    const { command, output, summary } = message;
    const said = [command, summary, ...blocks.map(({ text }) => text)].map((text) => ({
      kind: "user text",
      text,
    }));
    return [...said, { kind: "other result", text: output }].filter(({ text }) => text);
  }
  for (const call of callsIn(message)) calls.set(call.id, call);
  return blocks.map((block) => {
    if (block.type === "thinking") return { kind: "thinking", text: block.thinking ?? "" };
    if (block.type !== "toolCall") return { kind: "own text", text: block.text ?? "" };
    const text = [block.name, ...stringsIn(block.arguments).reverse()].join("\n");
    return { kind: isEdit(block) ? "edit argument" : "other argument", text, call: block };
  });
}

function isRead(call) {
  if (call === undefined) return false;
  const { command, cmd } = call.arguments ?? {};
  const given = Array.isArray(command) ? command.at(-1) : (command ?? cmd);
  return READS.test(call.name) || READING_COMMAND.test(given ?? "") || given === "view";
}

function isEdit(call) {
  if (READS.test(call.name) && !WRITES.test(call.name)) return false;
  if (changesOf(call).length > 0) return true;
  const { command } = call.arguments ?? {};
  if (command === "view") return false;
  return WRITES.test(call.name) || stringsIn(call.arguments).some((text) => WRITING_COMMAND.test(text));
}
