// pi's session files: version 1 is a list, 2 and 3 are trees of entries. The conversation is the path from the root to the leaf,
// with the context that pi itself builds at each compaction and each edit.

import { isRecord, pathTo, present, Recording, timeOf } from "./recording.mjs";

/** Names of the entries of our own extension. */
export const OWN_TYPE = "pi-strata";
/** Roles whose content pi replaces, and those of them whose content is never a plain text. */
const EDITABLE = ["user", "custom", "assistant", "toolResult"];
const IN_BLOCKS = ["assistant", "toolResult"];

/** Newest version of pi's sessions that is read. */
const NEWEST = 3;
const isHeader = ({ type, kind }) => type === "session" || kind === "header";
/** A later format names its version `v`. */
const versionOf = ({ version, v }) => version ?? v ?? 1;

export const pi = {
  isLine: ({ type, message }) => type === "session" || (type === "message" && isRecord(message)),

  entryOf(line) {
    const isUnknown = isHeader(line) && versionOf(line) > NEWEST;
    const problem = isUnknown
      ? `This version is not known: the file is read as version ${NEWEST}.`
      : undefined;
    return { line, id: line.id, parent: line.parentId, problem };
  },

  forms: {
    message({ message, timestamp }) {
      if (typeof message?.role !== "string")
        return { problem: "This message entry carries no message with a role." };
      // Version 2 has another name for the role.
      const role = message.role === "hookMessage" ? "custom" : message.role;
      return { message: { ...message, role, ...present({ timestamp: message.timestamp ?? timestamp }) } };
    },
    custom_message({ customType, display = false, content, details, timestamp }) {
      const said = { role: "custom", customType, display, content: content ?? [], details, timestamp };
      return { message: present(said) };
    },
    branch_summary({ summary, fromId, timestamp }) {
      if (typeof summary !== "string" || summary === "") return {};
      return { message: present({ role: "branchSummary", summary, fromId, timestamp }) };
    },
    compaction({ summary, tokensBefore, timestamp, systemMessage, ...line }) {
      if (typeof summary !== "string") return { problem: "This compaction carries no summary." };
      const own = present({ role: "compactionSummary", summary, tokensBefore, timestamp });
      const head = typeof systemMessage?.role === "string" ? [systemMessage, own] : [own];
      return { compaction: { head, firstId: line.firstKeptEntryId, firstLine: line.firstKeptEntryIndex } };
    },
    context_edit({ targetId: target, replacement }) {
      if (typeof target !== "string" || replacement === undefined)
        return { problem: "This context edit names no target or no replacement." };
      return { target, replace: (edited) => replaced(edited, replacement) };
    },
  },

  recordingOf(entries) {
    const last = entries.at(-1)?.line;
    const path = pathTo(last?.type === "leaf" ? last.targetId : undefined, entries);
    const header = entries.find(({ line }) => isHeader(line));
    const steps = path.map(({ compaction, ...entry }, at) => {
      if (compaction === undefined) return { ...entry, at };
      const { head, firstId, firstLine } = compaction;
      const first = typeof firstId === "string" ? path.find(({ id }) => id === firstId) : entries[firstLine];
      const from = path.includes(first) && first !== header ? path.indexOf(first) : Infinity;
      // The compaction's checkpoint already includes the system messages.
      const keeps = (earlier) => earlier.at >= from && earlier.message.role !== "system";
      return { compaction: { head, keeps } };
    });
    return new Recording(`pi session, version ${versionOf(header?.line ?? {})}`, steps, {
      abandoned: answersIn(entries) - answersIn(path),
      times: cacheTimesOf(path.map(({ line }) => line)),
    });
  },
};

const answersIn = (entries) => entries.filter(({ message }) => message?.role === "assistant").length;

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
