// Transcripts of Claude Code, converted. The lines form a tree by `uuid` and `parentUuid`; one API response is several lines of
// one message id, and parallel results hang on different ones of them, so the path to the last line is completed with its
// responses' other lines and their results. A compaction begins a new root and a new stretch; the path goes on before it.
// Sub-agents' lines (sidechains) are left out.

import { blocksOf, contentOf, META, responseOf, resultsIn, saidIn, textOf } from "./claude_messages.mjs";
import { parentOf, pathTo, placeOf, present, Timeline, timeOf } from "./timeline.mjs";

export class ClaudeReader {
  #nodes = [];
  #known = new Set();
  /** The tool of each call in the file. */
  #tools = new Map();

  add(line) {
    const content = contentOf(line);
    if (content.problem !== undefined) return content.problem;
    for (const { id, name } of blocksOf(content.answer, "tool_use")) this.#tools.set(id, name);
    const uuid = typeof line.uuid === "string" ? line.uuid : undefined;
    const speaks = Object.keys(content).length > 0;
    if (!speaks && uuid === undefined && line.type !== "attachment") return undefined;
    if (uuid !== undefined && this.#known.has(uuid)) return undefined;
    this.#known.add(uuid);
    this.#nodes.push({
      uuid,
      parent: parentOf(line, "parentUuid"),
      after: line.logicalParentUuid,
      isSidechain: line.isSidechain === true || typeof line.parent_tool_use_id === "string",
      isSelected: false,
      speaks,
      time: timeOf(line.timestamp),
      ...content,
    });
    return undefined;
  }

  finish() {
    const isMain = ({ isSidechain, speaks }) => !isSidechain && speaks;
    const hasMain = this.#nodes.some(isMain);
    const side = hasMain ? this.#nodes.filter(({ isSidechain }) => isSidechain) : [];
    const nodes = hasMain ? this.#nodes.filter(({ isSidechain }) => !isSidechain) : this.#nodes;
    select(nodes);
    complete(nodes);
    const left = nodes.filter(({ isSelected }) => !isSelected);
    const unplayed = { abandoned: responsesIn(left), subAgents: responsesIn(side) };
    return {
      format: "Claude Code transcript",
      timeline: timelineOf(nodes, this.#tools),
      unplayed,
      times: {},
    };
  }
}

/** Number of API responses in these lines. */
function responsesIn(nodes) {
  const answers = nodes.flatMap(({ answer }) => answer ?? []);
  const ids = answers.map(({ id }) => id);
  return new Set(ids.filter((id) => id !== undefined)).size + ids.filter((id) => id === undefined).length;
}

/** Selects the lines from the last message up to the beginning, compactions on the way left behind. */
function select(nodes) {
  const places = new Map(nodes.flatMap(({ uuid }, at) => (uuid === undefined ? [] : [[uuid, at]])));
  const before = (at) => {
    const { parent, compaction, after, summary } = nodes[at];
    if (parent === null && compaction !== undefined) return placeOf(after, at, places);
    if (parent === null && summary !== undefined) return at - 1;
    return placeOf(parent, at, places);
  };
  for (const at of pathTo(
    nodes.findLastIndex(({ speaks }) => speaks),
    before,
  ))
    nodes[at].isSelected = true;
}

/** Selects the other lines of the responses on the path, and the results of calls that nothing on the path answers. */
function complete(nodes) {
  const selected = () => nodes.filter(({ isSelected }) => isSelected);
  const responses = new Set(selected().flatMap(({ answer }) => answer?.id ?? []));
  for (const node of nodes) node.isSelected ||= responses.has(node.answer?.id);
  const open = new Set(selected().flatMap(({ answer }) => blocksOf(answer, "tool_use").map(({ id }) => id)));
  const answersOf = ({ user }) => blocksOf(user, "tool_result").map((block) => block.tool_use_id);
  for (const id of selected().flatMap(answersOf)) open.delete(id);
  for (const node of nodes.filter(({ isSelected }) => !isSelected)) {
    const answers = answersOf(node);
    node.isSelected = answers.some((id) => open.has(id));
    if (node.isSelected) for (const id of answers) open.delete(id);
  }
}

/** True if a compaction of this conversation took place at the position. */
function isCut(nodes, at) {
  const { compaction, isSelected, summary, parent } = nodes[at];
  if (compaction === undefined) return isSelected && at > 0 && summary !== undefined && parent === null;
  // A preserved line keeps its old parent, so such a path goes around the boundary.
  return (
    isSelected || nodes.slice(0, at).some((node) => node.isSelected && compaction.preserved.has(node.uuid))
  );
}

/** The messages of the selected lines, stretch by stretch. */
function timelineOf(nodes, tools) {
  const timeline = new Timeline();
  /** The number of each message by the place it was read from: a compaction preserves the very message. */
  const numbers = new Map();
  const numberOf = ({ key, message }) => {
    const known = numbers.get(key);
    const isSame = JSON.stringify(timeline.messages[known]) === JSON.stringify(message);
    return isSame ? known : timeline.pushAside(message);
  };
  const cuts = nodes.flatMap((_, at) => (isCut(nodes, at) ? [at] : []));
  for (const [nth, start] of [undefined, ...cuts].entries()) {
    const ordered = itemsOf(nodes, start, cuts[nth] ?? nodes.length, tools);
    if (start !== undefined) timeline.cut("compaction", ordered.filter(({ isOwn }) => !isOwn).map(numberOf));
    for (const { key, message, isOwn } of ordered) if (isOwn) numbers.set(key, timeline.push(message));
  }
  return timeline;
}

/** The messages of the stretch from a compaction, or the beginning, up to `end`. */
function itemsOf(nodes, start, end, tools) {
  const items = new Items(tools);
  const opener = start === undefined ? undefined : open(nodes, start, end, items);
  items.isOpen = true;
  for (let at = start ?? 0; at < end; at += 1)
    // The summary that opens the stretch comes again as a line of it.
    if (nodes[at].isSelected && at !== opener) items.add(nodes[at], at);
  return items.ordered();
}

/** Opens the stretch of the compaction at `start`: with its summary, whose place this returns, then what it preserved. */
function open(nodes, start, end, items) {
  const { compaction } = nodes[start];
  const found = nodes.slice(start, end).findIndex(({ summary }) => summary !== undefined);
  if (found >= 0) items.add(nodes[start + found], start + found, compaction?.tokensBefore);
  for (const [at, node] of nodes.slice(0, start).entries())
    if (compaction?.preserved.has(node.uuid)) items.add(node, at);
  return found >= 0 ? start + found : undefined;
}

/** The messages of one stretch, line by line. */
class Items {
  isOpen = false;
  #list = [];
  #tools;
  /** The item of each response. */
  #responses = new Map();

  constructor(tools) {
    this.#tools = tools;
  }

  /** Adds the messages of the line at `at`; `tokensBefore` is that of the compaction that it sums up. */
  add({ answer, user, isMeta, summary, time }, at, tokensBefore = 0) {
    const timestamp = time;
    if (answer !== undefined) this.#addResponse(answer, timestamp, at);
    if (summary !== undefined) {
      const text = textOf(summary);
      this.#push(present({ role: "compactionSummary", summary: text, tokensBefore, timestamp }), `${at}`);
    }
    if (user === undefined) return;
    for (const result of resultsIn(user, timestamp, this.#tools))
      this.#push(result, `${at}.${result.toolCallId}`, result.toolCallId);
    const content = saidIn(user);
    if (content === undefined) return;
    const told = isMeta ? { role: "custom", ...META, content, display: false } : { role: "user", content };
    this.#push(present({ ...told, timestamp }), `${at}`);
  }

  #addResponse(answer, timestamp, at) {
    const known = this.#responses.get(answer.id);
    const message = responseOf(answer, timestamp, known?.message);
    if (known !== undefined) known.message = message;
    else this.#push(message, `${at}`);
    if (answer.id !== undefined) this.#responses.set(answer.id, known ?? this.#list.at(-1));
  }

  #push(message, key, answers) {
    this.#list.push({ message, key, answers, isOwn: this.isOpen });
  }

  /** Each response with its results right behind it: so they were sent, whatever the user typed meanwhile. */
  ordered() {
    const callsIn = ({ message }) => blocksOf(message, "toolCall").map(({ id }) => id);
    const called = new Set(this.#list.flatMap(callsIn));
    const results = groupBy(this.#list, "answers");
    const others = this.#list.filter(({ answers }) => !called.has(answers));
    return others.flatMap((item) => {
      const own = callsIn(item).flatMap((id) => {
        const found = results.get(id) ?? [];
        results.delete(id);
        return found;
      });
      return [item, ...own];
    });
  }
}

function groupBy(list, field) {
  const groups = new Map();
  for (const item of list) groups.set(item[field], [...(groups.get(item[field]) ?? []), item]);
  return groups;
}
