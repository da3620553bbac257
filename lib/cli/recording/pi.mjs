// pi's session files: version 1 is a list, 2 and 3 are trees of entries, 4 is the log of records of pi's agent harness. The
// conversation is the path from the root to the leaf; each compaction and each edit on it begins a stretch with the context
// that pi itself builds there.

import { Recording } from "./recording.mjs";
import { parentOf, pathTo, placeOf, present, timeOf } from "./tree.mjs";

/** The last version without `id` and `parentId`; its entries form one list. */
const LINEAR_VERSION = 1;
/** Names the entries of our own extension. */
export const OWN_TYPE = "pi-strata";

export class PiReader {
  #version;
  #nodes = [];
  /** Lines so far: entries, and the header. */
  #lines = 0;
  /** The entry that the next one would follow. */
  #leaf;

  add(line) {
    const { type, kind } = line;
    if (type === "session" || kind === "header") {
      this.#version ??= Number.isInteger(line.version ?? line.v) ? (line.version ?? line.v) : LINEAR_VERSION;
      this.#lines += 1;
      return undefined;
    }
    const isRecord = kind !== undefined && (kind === "entry" || type === undefined);
    const leafKey = leafKeyOf(line);
    // A log of records names every move of the leaf; elsewhere the leaf follows what is appended.
    if (leafKey !== undefined) this.#leaf = parentOf(line, leafKey);
    else if (!isRecord) this.#leaf = undefined;
    if (isRecord && kind !== "entry") return undefined;
    const { problem, ...entry } = entryOf(line);
    const id = typeof line.id === "string" ? line.id : undefined;
    this.#nodes.push({ id, parent: parentOf(line, "parentId"), number: this.#lines, line, ...entry });
    this.#lines += 1;
    return problem;
  }

  finish() {
    const version = this.#version ?? LINEAR_VERSION;
    const path = this.#path(version);
    const answers = (nodes) => nodes.filter(({ message }) => message?.role === "assistant").length;
    const recording = new Recording(`pi session, version ${version}`, {
      abandoned: answers(this.#nodes) - answers(path),
      times: cacheTimesOf(path.map(({ line }) => line)),
    });
    record(path, recording);
    return recording;
  }

  /** The entries from the root to the leaf. */
  #path(version) {
    const nodes = this.#nodes;
    if (version <= LINEAR_VERSION) return nodes;
    const places = new Map(nodes.flatMap(({ id }, at) => (id === undefined ? [] : [[id, at]])));
    const leaf = placeOf(this.#leaf, nodes.length, places);
    return pathTo(leaf, (at) => placeOf(nodes[at].parent, at, places)).map((at) => nodes[at]);
  }
}

/** The field that names the leaf the harness moved to. */
function leafKeyOf(line) {
  const { type, kind, namespace } = line;
  const isTip = kind === "value" && namespace === "pi.branch.tip";
  const key = type === "leaf" ? "targetId" : isTip ? "value" : undefined;
  return key !== undefined && (typeof line[key] === "string" || line[key] === null) ? key : undefined;
}

/** The content of an entry: a message, a compaction or an edit; nothing; or the problem with it. */
function entryOf(line) {
  const timestamp = timeOf(line.timestamp);
  switch (line.type) {
    case "message":
      if (typeof line.message?.role !== "string")
        return { problem: "This message entry carries no message with a role." };
      return { message: currentShape(line.message, timestamp) };
    case "custom_message": {
      const { customType, content = [], display = false, details } = line;
      return {
        message: present({ role: "custom", customType, display, content: content ?? [], details, timestamp }),
      };
    }
    case "branch_summary": {
      const { summary, fromId } = line;
      if (typeof summary !== "string" || summary === "") return {};
      return { message: present({ role: "branchSummary", summary, fromId, timestamp }) };
    }
    case "compaction":
      return compactionOf(line, timestamp);
    case "context_edit":
      if (typeof line.targetId !== "string" || line.replacement === undefined)
        return { problem: "This context edit names no target or no replacement." };
      return { edit: { target: line.targetId, replacement: line.replacement } };
    default:
      return {};
  }
}

function compactionOf({ summary, tokensBefore, systemMessage, retainedTail, ...line }, timestamp) {
  if (typeof summary !== "string") return { problem: "This compaction carries no summary." };
  const tail = Array.isArray(retainedTail) ? retainedTail : [];
  const own = present({ role: "compactionSummary", summary, tokensBefore, timestamp });
  const head = [systemMessage, own, ...tail].filter((message) => typeof message?.role === "string");
  return { compaction: { head, firstId: line.firstKeptEntryId, firstLine: line.firstKeptEntryIndex } };
}

/** An old message as pi loads it: one role renamed, missing content filled in. */
function currentShape(message, timestamp) {
  const shaped = { ...message };
  if (shaped.role === "hookMessage") shaped.role = "custom";
  const empty = { system: "", user: [], assistant: [], toolResult: [] }[shaped.role];
  if (empty !== undefined) shaped.content ??= empty;
  if (timestamp !== undefined) shaped.timestamp ??= timestamp;
  return shaped;
}

/** A message with the content of an edit, if its role has such content; undefined if the edit takes it away. */
function edited(message, replacement) {
  if (replacement === null) return undefined;
  const { content } = replacement;
  const needsBlocks = message.role === "assistant" || message.role === "toolResult";
  if (content === undefined || !(needsBlocks || message.role === "user" || message.role === "custom"))
    return message;
  const isText = needsBlocks && typeof content === "string";
  return { ...message, content: isText ? [{ type: "text", text: content }] : content };
}

/** Adds the messages along the path. Each compaction and each edit begins a stretch with the context that pi builds there. */
function record(path, recording) {
  /** Numbers of what the newest compaction put first. */
  let head = [];
  /** The message entries since then: each with its step, and the number of its message as it now reads. */
  let entries = [];
  const cut = (cause) => {
    const numbers = entries.flatMap(({ number }) => number ?? []);
    recording.cut(cause, [...head, ...numbers]);
  };
  for (const [step, { id, message, edit, compaction }] of path.entries()) {
    if (message !== undefined) entries.push({ step, id, message, number: recording.push(message) });
    const target = edit && entries.find((entry) => entry.id === edit.target);
    if (target !== undefined) {
      const text = edited(target.message, edit.replacement);
      target.number = text && recording.pushAside(text);
      cut("edit");
    }
    if (compaction !== undefined) {
      const first = firstKept(path.slice(0, step), compaction);
      head = compaction.head.map((each) => recording.pushAside(each));
      // The checkpoint in the compaction has folded the system messages in.
      entries = entries.filter((entry) => entry.step >= first && entry.message.role !== "system");
      cut("compaction");
    }
  }
}

/** The step of the first entry that a compaction kept. */
function firstKept(before, { firstId, firstLine }) {
  const isFirst = ({ id, number }) => (typeof firstId === "string" ? id === firstId : number === firstLine);
  const first = before.findIndex(isFirst);
  return first === -1 ? before.length : first;
}

/**
 * `{ warmedAt, coldAt }` in ms by the entries of a path: when pi sent the latest request again to keep its cache entry alive, and
 * when the user asked our extension for a cut. Warming for another model than the one that answered last kept nothing alive.
 */
export function cacheTimesOf(entries) {
  const [warmedAt, coldAt] = [[], []];
  let latest;
  for (const { type, kind, message, provider, model, timestamp, customType, data } of entries) {
    if (message?.role === "assistant") latest = message;
    const time = type === "usage" && kind === "cache_warm" ? timeOf(timestamp) : undefined;
    const isLatest = latest?.provider === provider && [latest?.model, latest?.responseModel].includes(model);
    if (time !== undefined && isLatest) warmedAt.push(time);
    if (type === "custom" && customType === OWN_TYPE && Number.isFinite(data?.cutAt)) coldAt.push(data.cutAt);
  }
  return { warmedAt, coldAt };
}
