// pi's session files: version 1 is a list, 2 and 3 are trees of entries, 4 is the log of records of pi's agent harness. The
// conversation is the path from the root to the leaf, with the context that pi itself builds at each compaction and each edit.

import { isObject, pathTo, present, Recording, timeOf } from "./recording.mjs";

/** Names the entries of our own extension. */
export const OWN_TYPE = "pi-strata";
/** The content of a message that pi wrote without any, by its role. */
const NO_CONTENT = { system: "", user: [], assistant: [], toolResult: [] };
/** Roles whose content pi replaces, and those of them whose content is never a plain text. */
const EDITABLE = ["user", "custom", "assistant", "toolResult"];
const IN_BLOCKS = ["assistant", "toolResult"];

export const pi = {
  isLine: ({ type, kind, message, v }) =>
    type === "session" || (type === "message" && isObject(message)) || (kind === "header" && v !== undefined),

  entryOf: (line) => ({ line, id: line.id, parent: line.parentId }),

  forms: {
    message({ message, timestamp }) {
      if (typeof message?.role !== "string")
        return { problem: "This message entry carries no message with a role." };
      return { message: currentShape(message, timestamp) };
    },
    custom_message({ customType, display = false, content, details, timestamp }) {
      const said = { role: "custom", customType, display, content: content ?? [], details, timestamp };
      return { message: present(said) };
    },
    branch_summary({ summary, fromId, timestamp }) {
      if (typeof summary !== "string" || summary === "") return {};
      return { message: present({ role: "branchSummary", summary, fromId, timestamp }) };
    },
    compaction({ summary, tokensBefore, timestamp, systemMessage, retainedTail, ...line }) {
      if (typeof summary !== "string") return { problem: "This compaction carries no summary." };
      const own = present({ role: "compactionSummary", summary, tokensBefore, timestamp });
      const head = [systemMessage, own, retainedTail].flat().filter((each) => typeof each?.role === "string");
      return { compaction: { head, firstId: line.firstKeptEntryId, firstLine: line.firstKeptEntryIndex } };
    },
    context_edit({ targetId: target, replacement }) {
      if (typeof target !== "string" || replacement === undefined)
        return { problem: "This context edit names no target or no replacement." };
      return { target, replace: (edited) => replaced(edited, replacement) };
    },
  },

  recordingOf(entries) {
    const nodes = entries.filter(({ line }) => !isRecord(line) || isNode(line));
    const path = pathTo(leafOf(entries), nodes);
    const { version, v = version ?? 1 } = nodes.find(({ line }) => isHeader(line))?.line ?? {};
    const steps = path.map(({ compaction, ...entry }, at) => {
      if (compaction === undefined) return { ...entry, at };
      const { head, firstId, firstLine } = compaction;
      const first = typeof firstId === "string" ? path.find(({ id }) => id === firstId) : nodes[firstLine];
      const from = path.includes(first) && !isHeader(first.line) ? path.indexOf(first) : Infinity;
      // The checkpoint in the compaction has folded the system messages in.
      const keeps = (earlier) => earlier.at >= from && earlier.message.role !== "system";
      return { compaction: { head, keeps } };
    });
    return new Recording(`pi session, version ${v}`, steps, {
      abandoned: answersIn(nodes) - answersIn(path),
      times: cacheTimesOf(path.map(({ line }) => line)),
    });
  },
};

const isHeader = ({ type, kind }) => type === "session" || kind === "header";
/** True for a line of the harness's log. */
const isRecord = ({ type, kind }) => kind !== undefined && (kind === "entry" || type === undefined);
/** True for a record that is counted in the log, as the lines of the other versions are. */
const isNode = (line) => line.kind === "entry" || isHeader(line);
const answersIn = (nodes) => nodes.filter(({ message }) => message?.role === "assistant").length;

/** The id of the leaf: null before the first entry, undefined for the last. */
function leafOf(entries) {
  let leaf;
  for (const { line } of entries) {
    const isTip = line.kind === "value" && line.namespace === "pi.branch.tip";
    const named = line.type === "leaf" ? line.targetId : isTip ? line.value : undefined;
    // A log of records names every move of the leaf; elsewhere the leaf follows what is appended.
    if (named !== undefined || !isRecord(line)) leaf = named;
  }
  return leaf;
}

/** An old message as pi loads it: one role renamed, missing content filled in. */
function currentShape(message, timestamp) {
  const role = message.role === "hookMessage" ? "custom" : message.role;
  const content = message.content ?? NO_CONTENT[role];
  return { ...message, role, ...present({ content, timestamp: message.timestamp ?? timestamp }) };
}

/** A message with the content of an edit, if its role has such content; undefined if the edit takes it away. */
function replaced(message, replacement) {
  if (replacement === null) return undefined;
  const { content } = replacement;
  if (content === undefined || !EDITABLE.includes(message.role)) return message;
  const isText = typeof content === "string" && IN_BLOCKS.includes(message.role);
  return { ...message, content: isText ? [{ type: "text", text: content }] : content };
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
