// Messages in other shapes than pi's (OpenAI's, and the provider-neutral ones of sessions and pipelines) as the core
// reads them, and back. A stand-in is read in place of each; what is not edited comes back as the very object it was.
"use strict";

const { withText } = require("../hook/plan.js");

/** On a stand-in, and on any copy of one: the message it stands for. */
const ORIGINAL = Symbol("original");

class Shapes {
  /** Stand-ins by message, so that each is measured once. */
  #standIns = new WeakMap();
  #made = new WeakSet();

  /** The messages with stand-ins; the same array where all are pi's. Anything but an array is left to the reader. */
  read(messages) {
    if (!Array.isArray(messages) || !messages.some(isForeign)) return messages;
    const names = new Map();
    return messages.map((message) => {
      for (const { id, name } of callsOf(message)) names.set(id, name);
      return isForeign(message) ? this.#standIn(message, names) : message;
    });
  }

  /** The messages that edited stand-ins stand for. */
  write(messages) {
    return messages.map((message) => {
      const original = message[ORIGINAL];
      if (original === undefined) return message;
      return this.#made.has(message) ? original : { ...original, ...edited(original, message.content) };
    });
  }

  #standIn(message, names) {
    const { role, content, blocks, tool_calls: calls, toolCalls, tool_call_id: callId, toolCallId } = message;
    const read = [role, content, blocks, calls, toolCalls, callId, toolCallId];
    const known = this.#standIns.get(message);
    if (known !== undefined && read.every((value, index) => value === known.read[index]))
      return known.standIn;
    const standIn = { ...standInFor(message, names), timestamp: message.timestamp, [ORIGINAL]: message };
    this.#standIns.set(message, { read, standIn });
    this.#made.add(standIn);
    return standIn;
  }
}

function isForeign(message) {
  const { role, content, blocks, tool_calls: calls, toolCalls } = message ?? {};
  if (role === "tool" || role === "function" || role === "developer") return true;
  if (role === "assistant" && (Array.isArray(calls) || Array.isArray(toolCalls))) return true;
  return (
    Array.isArray(blocks) || (Array.isArray(content) && content.some((part) => part?.type === "image_url"))
  );
}

function standInFor(message, names) {
  const content = blocksOf(message);
  switch (message.role) {
    case "tool":
    case "function": {
      const toolCallId = String(message.tool_call_id ?? message.toolCallId ?? "");
      const toolName = message.name ?? names.get(toolCallId) ?? "unknown";
      return { role: "toolResult", toolCallId, toolName, content };
    }
    case "developer":
      return { role: "system", content };
    case "assistant":
      return { role: "assistant", content: [...content, ...callsOf(message)] };
    default:
      return { role: message.role, content };
  }
}

function blocksOf({ content, blocks }) {
  const parts = Array.isArray(blocks) ? blocks : content;
  if (typeof parts === "string") return [{ type: "text", text: parts }];
  if (!Array.isArray(parts)) return [];
  return parts.map((part) => (part?.type === "image_url" ? { type: "image" } : part));
}

/** Calls in either form, as blocks. */
function callsOf(message) {
  const { tool_calls: calls, toolCalls } = message ?? {};
  return [...arrayOf(calls), ...arrayOf(toolCalls)].map((call) => {
    const { name, arguments: given } = call?.function ?? call ?? {};
    return { type: "toolCall", id: call?.id, name, arguments: parsed(given) };
  });
}

function arrayOf(value) {
  return Array.isArray(value) ? value : [];
}

function parsed(given) {
  if (typeof given !== "string") return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

/** The fields of the message that change: its one text, or the first of its text parts in place of all. */
function edited({ content, blocks }, cut) {
  const text = cut.find((block) => block?.type === "text")?.text ?? "";
  const changes = {};
  if (typeof content === "string") changes.content = text;
  for (const [name, parts] of Object.entries({ content, blocks })) {
    if (Array.isArray(parts)) changes[name] = withText(parts, text);
  }
  return changes;
}

module.exports = { Shapes };
