// pi's session files: version 1 is a list, 2 and 3 are trees of entries, 4 is the log of records of pi's agent harness. The
// conversation is the path from the root to the leaf; each compaction and each edit on it begins a stretch with the context
// that pi itself builds there.

import { parentOf, pathTo, placeOf, present, Timeline, timeOf } from "./timeline.mjs";

/** The last version without `id` and `parentId`; its entries form one list. */
const LINEAR_VERSION = 1;
/** Names the entries of our own extension. */
const OWN_TYPE = "pi-strata";

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
    this.#nodes.push({ id, parent: parentOf(line, "parentId"), line: this.#lines, ...entry });
    this.#lines += 1;
    return problem;
  }

  finish() {
    const version = this.#version ?? LINEAR_VERSION;
    const path = this.#path(version);
    const answers = (nodes) => nodes.filter(({ message }) => message?.role === "assistant").length;
    const unplayed = { abandoned: answers(this.#nodes) - answers(path) };
    const context = new Context(path);
    return {
      format: `pi session, version ${version}`,
      timeline: context.timeline,
      unplayed,
      times: timesOf(path),
    };
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

/** What an entry carries: a message, a compaction, an edit, or a time; or the problem with it. */
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
    case "usage":
      return line.kind === "cache_warm" ? { warmed: { ...line, time: timestamp } } : {};
    case "custom":
      return line.customType === OWN_TYPE ? { cutAt: line.data?.cutAt } : {};
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

/** A message with the content of an edit, where its role has such content. */
function edited(message, { content }) {
  const needsBlocks = message.role === "assistant" || message.role === "toolResult";
  if (content === undefined || !(needsBlocks || message.role === "user" || message.role === "custom"))
    return message;
  const isText = needsBlocks && typeof content === "string";
  return { ...message, content: isText ? [{ type: "text", text: content }] : content };
}

/** The context as it was built up along the path. */
class Context {
  timeline = new Timeline();
  /** The newest edit of each entry: its replacement, null where the entry was taken away. */
  #edits = new Map();
  /** The number of each message entry as it now reads, by its step. */
  #numbers = new Map();
  /** The step and the message of each entry with an id. */
  #originals = new Map();

  constructor(path) {
    for (const [step, node] of path.entries()) {
      if (node.message !== undefined) this.#append(step, node);
      else if (node.edit !== undefined) this.#edit(node.edit);
      else if (node.compaction !== undefined) this.#compact(path.slice(0, step), node.compaction);
    }
  }

  #append(step, { id, message }) {
    if (id !== undefined) this.#originals.set(id, { step, message });
    const replacement = this.#edits.get(id);
    if (replacement === null) return;
    this.#numbers.set(step, this.timeline.push(replacement ? edited(message, replacement) : message));
  }

  #edit({ target, replacement }) {
    this.#edits.set(target, replacement);
    const original = this.#originals.get(target);
    if (original === undefined) return;
    const { step, message } = original;
    const before = this.timeline.transcript;
    const old = this.#numbers.get(step);
    this.#numbers.delete(step);
    const fresh = replacement === null ? [] : [this.timeline.pushAside(edited(message, replacement))];
    for (const number of fresh) this.#numbers.set(step, number);
    const after = before.flatMap((number) => (number === old ? fresh : [number]));
    this.timeline.cut("edit", after);
  }

  #compact(before, { head, firstId, firstLine }) {
    const opening = head.map((message) => this.timeline.pushAside(message));
    const isFirst = ({ id, line }) => (typeof firstId === "string" ? id === firstId : line === firstLine);
    const first = before.findIndex(isFirst);
    for (let step = first; first >= 0 && step < before.length; step += 1) {
      // The checkpoint in the compaction has folded the system messages in.
      const number = this.#numbers.get(step);
      if (number !== undefined && before[step].message.role !== "system") opening.push(number);
    }
    this.timeline.cut("compaction", opening);
  }
}

/**
 * When pi kept the cache warm, and when the user asked our extension for a cut, in ms. What was warmed for another model than
 * the one that answered last kept nothing alive.
 */
function timesOf(path) {
  const times = { warmedAt: [], coldAt: [] };
  let latest;
  for (const { message, warmed, cutAt } of path) {
    if (message?.role === "assistant") latest = message;
    const isSame =
      warmed?.provider === latest?.provider && [latest?.model, latest?.responseModel].includes(warmed?.model);
    if (warmed?.time !== undefined && isSame) times.warmedAt.push(warmed.time);
    if (Number.isFinite(cutAt)) times.coldAt.push(cutAt);
  }
  return times;
}
