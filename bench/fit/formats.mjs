// Reads recorded sessions of coding agents, each format as its agent writes it, as the messages of one conversation.
// pi's and Claude Code's own files are read as everywhere else. No times and no usage: what is fitted needs neither.

import { readFile } from "node:fs/promises";
import { uncompacted } from "../../__test__/support/recordings.mjs";
import { loadSession } from "../../lib/cli/session.mjs";

const FORMATS = { anthropic, chat, codex, gemini, managed, opencode, sweagent };

/** The messages in a file of that format, in order; what a model said in one call is one message. */
export async function messagesIn(file, format) {
  if (format === "pi" || format === "claude") {
    return uncompacted(await loadSession(file)).messages.all;
  }
  const messages = [];
  for (const message of FORMATS[format](await readFile(file, "utf8"))) {
    const last = messages.at(-1);
    if (message.content.length === 0) continue;
    if (message.role === "assistant" && last?.role === "assistant") last.content.push(...message.content);
    else messages.push(message);
  }
  return messages;
}

const text = (said) => (said ? [{ type: "text", text: said }] : []);
const thinking = (thought) => (thought ? [{ type: "thinking", thinking: thought }] : []);
const call = (id, name, given) => ({ type: "toolCall", id, name, arguments: given });
const user = (said) => ({ role: "user", content: text(said) });
const answer = (...blocks) => ({ role: "assistant", content: blocks.flat() });
const result = (toolCallId, said) => ({ role: "toolResult", toolCallId, content: text(said) });

/** The text of what is a string here and a list of blocks there. */
function flat(content) {
  if (Array.isArray(content)) return content.map(flat).join("\n");
  if (typeof content !== "object") return content ?? "";
  return content?.text ?? content?.output ?? content?.content ?? "";
}

/** One object per line. */
function lines(file) {
  return file.split("\n").flatMap((line) => parsed(line) ?? []);
}

function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

const given = (json) => (typeof json === "string" ? (parsed(json) ?? { input: json }) : (json ?? {}));

/** Codex: one item of the Responses API per line. */
function codex(file) {
  return lines(file).flatMap(({ type, payload }) =>
    type === "response_item" ? (itemOf(payload) ?? []) : [],
  );
}

function itemOf({ type, role, content, summary, call_id: id, output, name = type, ...rest }) {
  if (type === "message")
    return { user: user, assistant: (said) => answer(text(said)) }[role]?.(flat(content));
  if (type === "reasoning") return answer(thinking(flat(summary)));
  if (type.endsWith("_call"))
    return answer(call(id, name, given(rest.arguments ?? rest.input ?? rest.action)));
  return type.endsWith("_output") ? result(id, flat(parsed(output)?.output ?? output)) : undefined;
}

/** Chat completions, one object or one list; some exporters write the calls into the content as well. */
function* chat(file) {
  const whole = JSON.parse(file);
  for (const { role, content, tool_calls: calls, tool_call_id: id } of whole.fncall_messages ??
    whole.messages ??
    whole) {
    if (role === "user") yield user(flat(content));
    if (role === "tool") yield result(id, flat(content));
    if (role !== "assistant") continue;
    const called = (calls ?? []).map((one) => call(one.id, one.function.name, given(one.function.arguments)));
    yield answer(text(flat(content)), called);
  }
}

/** One message of the Messages API per line. */
function* anthropic(file) {
  for (const { role, content } of lines(file)) {
    const blocks = typeof content === "string" ? text(content) : (content ?? []);
    if (role === "assistant") yield answer(blocks.flatMap(blockOf));
    else
      for (const b of blocks)
        yield b.type === "tool_result" ? result(b.tool_use_id, flat(b.content)) : user(b.text);
  }
}

function blockOf({ type, id, name, input, ...said }) {
  return type === "tool_use" ? call(id, name, input) : [...text(said.text), ...thinking(said.thinking)];
}

/** `opencode export`. */
function* opencode(file) {
  for (const { info, parts } of JSON.parse(file).messages) {
    const blocks = parts.map(({ type, text: said, callID, tool, state }) => {
      if (type === "tool") return call(callID, tool, state.input);
      return type === "reasoning" ? thinking(said) : type === "text" ? text(said) : [];
    });
    yield info.role === "user" ? user(flat(parts)) : answer(...blocks);
    for (const { type, callID, state } of parts)
      if (type === "tool") yield result(callID, state.output ?? state.error);
  }
}

/** A chat that Gemini CLI keeps. */
function* gemini(file) {
  for (const { type, content, thoughts = [], toolCalls = [] } of JSON.parse(file).messages) {
    if (type === "user") yield user(flat(content));
    if (type !== "gemini") continue;
    const thought = thoughts.map(({ subject, description }) => `${subject}: ${description}`).join("\n");
    yield answer(
      thinking(thought),
      text(flat(content)),
      toolCalls.map((c) => call(c.id, c.name, c.args)),
    );
    for (const { id, result: parts } of toolCalls)
      yield result(id, parts.map((part) => flat(part.functionResponse?.response ?? part)).join("\n"));
  }
}

/** Events of a managed agent, as they were sent. */
function* managed(file) {
  for (const { raw } of lines(file)) {
    if (raw?.type === "user.define_outcome") yield user(`${raw.description}\n${flat(raw.rubric)}`);
    else if (raw?.type === "user.message") yield user(flat(raw.content));
    else if (raw?.type === "agent.message") yield answer(text(flat(raw.content)));
    else if (raw?.type === "agent.tool_use") yield answer(call(raw.id, raw.name, raw.input));
    else if (raw?.type === "agent.tool_result") yield result(raw.tool_use_id, flat(raw.content));
  }
}

/** A trajectory of SWE-agent without tool calls: each answer ends in a command. */
function* sweagent(file) {
  let steps = 0;
  for (const { role, content, thought, action, is_demo: isDemo } of JSON.parse(file).history) {
    if (isDemo) continue;
    if (role === "assistant")
      yield answer(text(thought), call(`step ${steps++}`, "bash", { command: action }));
    else if (role === "user")
      yield steps === 0 ? user(flat(content)) : result(`step ${steps - 1}`, flat(content));
  }
}
