// Transcripts of Claude Code. The lines form a tree by `uuid` and `parentUuid`. One API response is several lines of one message
// id, and parallel results have different ones of them as parents. So the path to the last message is completed with the other
// lines of its responses and their results. A compaction begins a new root; the path goes on before it. Sub-agents' lines (sidechains, or reports of
// their progress) are left out.

import { requestIn } from "../../bill/prices.js";
import { joinedText, json } from "../../hook/snapshot.js";
import { blocksOf } from "../../shapes/parts.js";
import { anthropic } from "../../shapes/shapes.js";
import { callsIn } from "../../shapes/text.js";
import { isRecord, pathTo, present, Recording, timeOf } from "./recording.mjs";

/** The text that pi shows in place of reasoning that the provider sent encrypted. */
const REDACTED = "[Reasoning redacted]";
/** The text that Claude Code sends in place of a result that it cleared. */
const CLEARED = "[Old tool result content cleared]";
/** Marks what Claude Code itself told the model. */
const META_TYPE = "claude-code-meta";
const NO_MESSAGE = "This line carries no message.";
const STOP_REASONS = {
  tool_use: "toolUse",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "error",
};

export const claude = {
  isLine: ({ type, message, ...line }) =>
    ((type === "user" || type === "assistant") && isRecord(message)) ||
    "parentUuid" in line ||
    "leafUuid" in line,

  entryOf: (line) => ({
    id: line.uuid,
    parent: line.parentUuid,
    isSide: line.isSidechain === true || typeof line.parent_tool_use_id === "string",
    timestamp: timeOf(line.timestamp),
    replacements: [],
  }),

  forms: {
    // A compaction begins a new root; the path goes on with what it compacted.
    system: ({ subtype, compactMetadata, microcompactMetadata, parentUuid, logicalParentUuid }) =>
      subtype === "compact_boundary"
        ? { boundary: compactMetadata ?? {}, parent: parentUuid ?? logicalParentUuid }
        : {
            replacements: listOf(microcompactMetadata?.compactedToolIds).map((toolUseId) => ({ toolUseId })),
          },
    "content-replacement": ({ replacements }) => ({ replacements: listOf(replacements) }),
    // A sub-agent's message. The line is a link of the path.
    progress: ({ data }) =>
      data?.type === "agent_progress" && data.message?.type === "assistant"
        ? { subAgentResponse: data.message.message?.id }
        : {},
    attachment: ({ attachment }) =>
      attachment?.type === "queued_command" ? { message: { content: attachment.prompt } } : {},
    user({ message, parentUuid, isMeta, isCompactSummary }) {
      if (!isRecord(message)) return { problem: NO_MESSAGE };
      if (isCompactSummary === true) return { message, isSummary: true, parent: parentUuid ?? undefined };
      return { message, isMeta };
    },
    assistant({ message, requestId, isApiErrorMessage }) {
      if (!isRecord(message)) return { problem: NO_MESSAGE };
      return { message, response: message.id ?? requestId ?? message, hasFailed: isApiErrorMessage };
    },
  },

  recordingOf(entries) {
    const known = new Set();
    const isNew = ({ id }) => id === undefined || (!known.has(id) && known.add(id));
    const lines = inOrder(entries.filter(isNew));
    const speaks = ({ message, boundary }) => (message ?? boundary) !== undefined;
    const main = lines.filter(({ isSide }) => !isSide);
    // The file of a sub-agent itself has nothing else.
    const played = main.some(speaks) ? main : lines;
    const path = pathTo(undefined, played.slice(0, played.findLastIndex(speaks) + 1));
    const selected = completed(path, played);
    const ofSubAgents = new Set(lines.flatMap(({ subAgentResponse }) => subAgentResponse ?? []));
    return new Recording("Claude Code transcript", stepsOf(played, selected), {
      abandoned: responsesIn(played.filter((line) => !selected.has(line))).size,
      subAgents: responsesIn(lines).size - responsesIn(played).size + ofSubAgents.size,
    });
  },
};

/**
 * The lines in the order of the conversation. Lines that a compaction preserved go before it; some versions write them after the
 * summary. They become parents of the compaction, whose own parent may be a copy of an early line. A later child of a preserved
 * line follows the summary.
 */
function inOrder(lines) {
  const byId = new Map(lines.map((line) => [line.id, line]));
  const ordered = new Set();
  const summaryBehind = new Map();
  let compaction = { preserved: [] };
  for (const line of lines) {
    if (line.boundary !== undefined) {
      const preserved = preservedBy(line.boundary, lines);
      compaction = { preserved, tokensBefore: line.boundary.preTokens };
      line.parent = [line.parent, ...preserved];
      for (const each of preserved.flatMap((id) => byId.get(id) ?? [])) ordered.add(each);
    } else if (line.isSummary) {
      line.compaction = compaction;
      for (const id of compaction.preserved) summaryBehind.set(id, line.id);
    } else {
      line.parent = summaryBehind.get(line.parent) ?? line.parent;
    }
    ordered.add(line);
  }
  return Array.from(ordered);
}

/** The ids of the lines that a compaction preserved: those it lists; earlier versions name the first and the last. */
function preservedBy({ preservedMessages: list, preservedSegment: ends }, lines) {
  const listed = list?.allUuids ?? list?.uuids;
  if (listed != null || typeof ends?.headUuid !== "string") return [listed ?? []].flat();
  const [from, to] = [ends.headUuid, ends.tailUuid].map((each) => lines.findIndex(({ id }) => id === each));
  return from < 0 ? [] : lines.slice(from, to + 1).flatMap(({ id }) => id ?? []);
}

const listOf = (value) => (Array.isArray(value) ? value : []);
const responsesIn = (lines) => new Set(lines.flatMap(({ response }) => response ?? []));

/** The parts of one type in the content of a line. */
const partsIn = ({ message }, type) => shownParts(message?.content).filter((part) => part?.type === type);

/** The path, the other lines of its responses, and the results of calls that nothing on the path answers. */
function completed(path, lines) {
  const responses = responsesIn(path);
  const selected = new Set(lines.filter(({ response }) => responses.has(response)).concat(path));
  const answered = (line) => partsIn(line, "tool_result").map((part) => part.tool_use_id);
  const calls = Array.from(selected, (line) => partsIn(line, "tool_use").map(({ id }) => id));
  const open = new Set(calls.flat());
  for (const id of Array.from(selected, answered).flat()) open.delete(id);
  for (const line of lines) if (answered(line).filter((id) => open.delete(id)).length > 0) selected.add(line);
  return selected;
}

/** The steps of the selected lines: a response is one message, a summary compacts what was said before it. */
function stepsOf(lines, selected) {
  const calls = lines.flatMap((line) => partsIn(line, "tool_use"));
  const toolNames = new Map(calls.map(({ id, name }) => [id, name]));
  const steps = new Map();
  for (const line of lines) {
    const { id, response, message, isSummary } = line;
    for (const each of line.replacements) steps.set(each, replacementOf(each));
    if (message === undefined || !selected.has(line)) continue;
    if (isSummary) {
      steps.set(message, summaryOf(line, steps.size === 0));
    } else if (response === undefined) {
      for (const each of messagesOf(line, toolNames))
        steps.set(each, { ids: [id], id: each.toolCallId, message: each });
    } else {
      const { ids = [], message: before } = steps.get(response) ?? {};
      steps.set(response, { ids: [...ids, id], message: answerOf(line, before) });
    }
  }
  return withResultsBehindCalls(Array.from(steps.values()));
}

/** The step of a result that Claude Code replaced or cleared. */
const replacementOf = (given) => ({
  target: given?.toolUseId,
  replace: (result) => ({ ...result, content: [{ type: "text", text: given.replacement ?? CLEARED }] }),
});

/** The step of a summary: a message where nothing is before it. */
function summaryOf({ message, timestamp, compaction: { preserved, tokensBefore } }, isFirst) {
  const summary = joinedText(message.content);
  const own = present({ role: "compactionSummary", summary, tokensBefore, timestamp });
  const known = new Set(preserved);
  const keeps = ({ ids }) => ids?.some((id) => known.has(id));
  return isFirst ? { message: own } : { compaction: { head: [own], keeps } };
}

/** The steps with each result right behind the answer that called for it, as they were sent. */
function withResultsBehindCalls(steps) {
  const idsOf = ({ message }) => (message === undefined ? [] : callsIn(message).map(({ id }) => id));
  const results = new Map(steps.flatMap(idsOf).map((id) => [id, []]));
  const others = steps.filter((step) => !results.get(step.message?.toolCallId)?.push(step));
  return others.flatMap((step) => [step, ...idsOf(step).flatMap((id) => results.get(id).splice(0))]);
}

/** The messages of a line of the user's side: tool results, and the words beside them. */
function messagesOf({ message: { content }, isMeta, timestamp }, toolNames) {
  const isText = typeof content === "string";
  const read = isText
    ? [{ role: "user", content }]
    : anthropic.read({ role: "user", content: shownParts(content) });
  const meta = { role: "custom", customType: META_TYPE, display: false };
  return read.map((each) => ({
    ...each,
    ...(each.role === "toolResult" && { toolName: toolNames.get(each.toolCallId) ?? "unknown" }),
    ...(each.role === "user" && isMeta && meta),
    timestamp,
  }));
}

/** The assistant message of a response, from one more of its lines. What an earlier line said is not repeated. */
function answerOf({ message, hasFailed, timestamp }, before = { content: [], timestamp }) {
  // JSON cannot hold a block of great depth.
  const keyOf = (block) => json(block) || block;
  const known = new Set(before.content.map(keyOf));
  const isNew = (block) => !known.has(keyOf(block));
  const content = before.content.concat(blocksOf(shownParts(message.content)).filter(isNew));
  const hasCalls = content.some(({ type }) => type === "toolCall");
  const stopReason = STOP_REASONS[message.stop_reason ?? (hasCalls ? "tool_use" : undefined)] ?? "stop";
  return present({
    role: "assistant",
    content,
    api: "anthropic-messages",
    provider: "anthropic",
    model: before.model ?? message.model ?? "unknown",
    usage: message.usage ? usageOf(message.usage) : before.usage,
    stopReason: hasFailed ? "error" : stopReason,
    errorMessage: hasFailed ? joinedText(content) : undefined,
    timestamp: before.timestamp,
  });
}

/** The parts of a content, encrypted reasoning as pi shows it. */
function shownParts(content) {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return listOf(content).map((part) =>
    part?.type === "redacted_thinking"
      ? { type: "thinking", thinking: REDACTED, signature: part.data }
      : part,
  );
}

/** The usage of an answer. With tools of the server it sums up several prompts; the first of them is the request. */
function usageOf(usage) {
  const request = requestIn(usage) ?? usage;
  const count = (key, { [key]: tokens } = request) => Math.max(0, Number(tokens) || 0);
  const [input, output] = [count("input_tokens"), count("output_tokens", usage)];
  const [cacheRead, cacheWrite] = [count("cache_read_input_tokens"), count("cache_creation_input_tokens")];
  const cacheWrite1h =
    Number((request.cache_creation ?? usage.cache_creation)?.ephemeral_1h_input_tokens) || undefined;
  const totalTokens = input + output + cacheRead + cacheWrite;
  return present({ input, output, cacheRead, cacheWrite, cacheWrite1h, totalTokens });
}
