// Transcripts of Claude Code, converted. The lines form a tree by `uuid` and `parentUuid`; one API response is several lines of
// one message id, and parallel results hang on different ones of them, so the path to the last line is completed with its
// responses' other lines and their results. A compaction begins a new root and a new stretch; the path goes on before it.
// Sub-agents' lines (sidechains) are left out.

import { blocksOf, contentOf, responseOf } from "./claude_messages.mjs";
import { Recording } from "./recording.mjs";
import { parentOf, pathTo, placeOf, timeOf } from "./tree.mjs";

export class ClaudeReader {
  #lines = [];
  #known = new Set();
  /** The tool of each call so far. */
  #tools = new Map();

  add(line) {
    const content = contentOf(line, this.#tools);
    if (content.problem !== undefined) return content.problem;
    const uuid = typeof line.uuid === "string" ? line.uuid : undefined;
    const speaks = Object.keys(content).length > 0;
    if (uuid === undefined ? !speaks : this.#known.has(uuid)) return undefined;
    this.#known.add(uuid);
    this.#lines.push({
      uuid,
      parent: parentOf(line, "parentUuid"),
      after: line.logicalParentUuid,
      isSidechain: line.isSidechain === true || typeof line.parent_tool_use_id === "string",
      speaks,
      time: timeOf(line.timestamp),
      ...content,
    });
    return undefined;
  }

  finish() {
    const main = this.#lines.filter(({ isSidechain }) => !isSidechain);
    const isOwnFile = !main.some(({ speaks }) => speaks);
    const lines = isOwnFile ? this.#lines : main;
    const side = isOwnFile ? [] : this.#lines.filter(({ isSidechain }) => isSidechain);
    const selected = completed(pathIn(lines), lines);
    const left = lines.filter((line) => !selected.has(line));
    const unplayed = { abandoned: responsesIn(left), subAgents: responsesIn(side) };
    const recording = new Recording("Claude Code transcript", unplayed);
    record(lines, selected, recording);
    return recording;
  }
}

/** Number of API responses in these lines. */
function responsesIn(lines) {
  return new Set(lines.flatMap(({ answer }) => (answer ? (answer.id ?? answer) : []))).size;
}

/** The lines from the beginning to the last message, compactions on the way left behind. */
function pathIn(lines) {
  const places = new Map(lines.map(({ uuid }, at) => [uuid, at]));
  const before = (at) => {
    const { parent, compaction, after, isSummary } = lines[at];
    if (parent !== null) return placeOf(parent, at, places);
    if (compaction !== undefined) return placeOf(after, at, places);
    return isSummary ? at - 1 : -1;
  };
  const last = lines.findLastIndex(({ speaks }) => speaks);
  return pathTo(last, before).map((at) => lines[at]);
}

/** The path, the other lines of its responses, and the results of calls that nothing on the path answers. */
function completed(path, lines) {
  const responses = new Set(path.flatMap(({ answer }) => answer?.id ?? []));
  const selected = new Set(lines.filter((line) => responses.has(line.answer?.id)).concat(path));
  const callsOf = ({ answer }) => blocksOf(answer, "tool_use").map(({ id }) => id);
  const answersOf = ({ messages = [] }) => messages.flatMap(({ toolCallId }) => toolCallId ?? []);
  const open = new Set(Array.from(selected, callsOf).flat());
  for (const id of Array.from(selected, answersOf).flat()) open.delete(id);
  for (const line of lines) {
    const answers = answersOf(line).filter((id) => open.delete(id));
    if (answers.length > 0) selected.add(line);
  }
  return selected;
}

/** Adds the messages of the selected lines. A compaction begins a stretch with its summary and the lines it preserved. */
function record(lines, selected, recording) {
  const isOn = (line) => selected.has(line);
  const cuts = lines.flatMap((_, at) => (isCut(lines, at, isOn) ? [at] : []));
  for (const [nth, start] of [0, ...cuts].entries()) {
    const stretch = lines.slice(start, cuts[nth] ?? lines.length);
    const summary = nth === 0 ? undefined : stretch.find(({ isSummary }) => isSummary);
    if (nth > 0) {
      const { tokensBefore = 0, preserved } = lines[start].compaction ?? {};
      const kept = lines.slice(0, start).filter(({ uuid }) => preserved?.has(uuid));
      const opening = (summary?.messages ?? []).map((message) =>
        recording.pushAside({ ...message, tokensBefore }),
      );
      const numbers = messagesOf(kept).map((message) => numberOf(message, recording));
      recording.cut("compaction", opening.concat(numbers));
    }
    for (const message of messagesOf(stretch.filter((line) => isOn(line) && line !== summary)))
      recording.push(message);
  }
}

/** True if a compaction of this conversation took place at the position. */
function isCut(lines, at, isOn) {
  const { compaction, isSummary, parent } = lines[at];
  if (compaction === undefined) return isOn(lines[at]) && at > 0 && isSummary === true && parent === null;
  // A preserved line keeps its old parent, so such a path goes around the boundary.
  const isPreserved = (line) => isOn(line) && compaction.preserved.has(line.uuid);
  return isOn(lines[at]) || lines.slice(0, at).some(isPreserved);
}

/** The number of the very message that a compaction preserved; a new one if its response went on later. */
function numberOf(message, recording) {
  const text = JSON.stringify(message);
  for (let number = 0; number < recording.length; number += 1) {
    const known = recording.message(number);
    if (known.timestamp === message.timestamp && JSON.stringify(known) === text) return number;
  }
  return recording.pushAside(message);
}

/** The messages of some lines, each response as one. */
function messagesOf(lines) {
  const merged = [];
  const places = new Map();
  for (const { answer, messages = [], time } of lines) {
    if (answer === undefined) {
      merged.push(...messages);
      continue;
    }
    const place = places.get(answer.id) ?? merged.length;
    merged[place] = responseOf(answer, time, merged[place]);
    if (answer.id !== undefined) places.set(answer.id, place);
  }
  return withResultsBehindCalls(merged);
}

/** The messages with each result right behind the answer that called for it, as they were sent. */
function withResultsBehindCalls(messages) {
  const callsOf = (message) => blocksOf(message, "toolCall").map(({ id }) => id);
  const results = new Map(messages.flatMap(callsOf).map((id) => [id, []]));
  const others = messages.filter((message) => !results.get(message.toolCallId)?.push(message));
  return others.flatMap((message) => {
    const own = callsOf(message).flatMap((id) => results.get(id)?.splice(0) ?? []);
    return [message, ...own];
  });
}
