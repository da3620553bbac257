// The messages of one call as blocks on a canvas: as wide as they are long, coloured by kind, hatched where something was
// removed. A line below says what was done to the picked one, and why. On a live page a click or Enter asks for its text.

import { messageCanvas } from "./canvas.mjs";
import { color, el, whole } from "./dom.mjs";
import { fateOf, inWords } from "./tables.mjs";

const KIND_COLORS = {
  system: "green",
  user: "sky",
  assistant: "purple",
  toolResult: "orange",
  summary: "yellow",
  other: "kept",
};
const KIND_OF_ROLE = {
  __proto__: null,
  system: "system",
  user: "user",
  assistant: "assistant",
  toolResult: "toolResult",
  compactionSummary: "summary",
  branchSummary: "summary",
};
/** CSS pixels. */
const ROW_HEIGHT = 30;
const GAP = 2;
const LEAST_WIDTH = 3;
const MOST_ROWS = 12;

/** The kind that a role is drawn as. */
function kindOf(role) {
  return KIND_OF_ROLE[role] ?? "other";
}

/** The blocks of the call that `show(record, call)` sets. `onOpen(number)`, if there is one, gets the message to read. */
export function blockMap(words, onOpen) {
  let blocks = [];
  let placed = [];
  const drawing = {
    layOut(width) {
      const laid = placesOf(blocks, width);
      placed = laid.placed;
      return Math.max(1, laid.rows) * (ROW_HEIGHT + GAP);
    },
    draw(context) {
      const colors = Object.fromEntries(
        Object.entries(KIND_COLORS).map(([kind, name]) => [kind, color(name)]),
      );
      for (const { block, x, y, width } of placed) {
        const kept = width * block.share;
        context.fillStyle = colors[block.kind];
        context.fillRect(x, y, kept, ROW_HEIGHT);
        if (kept < width) hatch(context, { x: x + kept, y, width: width - kept }, colors[block.kind]);
      }
    },
    placeOf: (index) => placed[index],
    at: (left, top) =>
      placed.findIndex(
        ({ x, y, width }) => left >= x && left < x + width + GAP && top >= y && top < y + ROW_HEIGHT + GAP,
      ),
    count: () => blocks.length,
    describe: (index) => describe(blocks[index], words),
    open: (index) => onOpen?.(blocks[index].number),
  };
  const canvas = messageCanvas(words.blocksTitle, drawing);

  /** Keeps the picked block as long as its message is there. */
  function show(record, call) {
    const number = blocks[canvas.picked()]?.number;
    blocks = blocksOf(record, call);
    canvas.legend.replaceChildren(...legendOf(blocks, words));
    canvas.setWidth();
    canvas.pick(blocks.findIndex((block) => block.number === number));
  }
  return { ...canvas, show };
}

function describe({ tool, kind, number, tokens, scale, change, schedule }, words) {
  const name = tool === "" ? words.kinds[kind] : `${words.kinds[kind]} ${tool}`;
  const said = words.cell({ number: number + 1, what: name, tokens });
  if (change === undefined) return said;
  return [said, fateOf(change, scale, words), words.schedule({ reason: inWords(schedule, words) })].join(
    " · ",
  );
}

/** The messages a call had before it, in the provider's tokens, each with the share of it that was sent. */
export function blocksOf({ messages: { role, tool, tokens, gone }, calls, stretches, changes }, call) {
  const { at, stretch, tokensBefore, scale } = calls[call - 1];
  const { opening, from } = stretches[stretch];
  const known = [...opening, [from, at]].flatMap(([first, end]) => range(first, end));
  // What a stretch opens with was there again.
  const numbers = known.filter((number) => at <= (gone[number] ?? at) || gone[number] <= from);
  const isNow = (change) => change.from <= call && call <= change.to;
  const edits = new Map(changes.filter(isNow).map((change) => [change.message, change]));
  const counted = numbers.reduce((sum, number) => sum + tokens[number], 0);
  const perToken = counted > 0 ? tokensBefore / counted : 0;
  return numbers.map((number) => {
    const change = edits.get(number);
    return {
      number,
      kind: kindOf(role[number]),
      tool: tool[number],
      tokens: tokens[number] * perToken,
      scale,
      change,
      schedule: calls[(change?.from ?? call) - 1].reason,
      share: change === undefined ? 1 : shareSent(change, tokens[number]),
    };
  });
}

const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);

function shareSent({ action, saved }, tokens) {
  if (action === "drop") return 0;
  return tokens > 0 ? Math.max(0, Math.min(1, 1 - saved / tokens)) : 1;
}

/** The places of the blocks, in rows from left to right. */
function placesOf(blocks, width) {
  const tokens = blocks.reduce((sum, block) => sum + block.tokens, 0);
  const room = MOST_ROWS * width - blocks.length * (GAP + LEAST_WIDTH);
  const perToken = Math.max(0, Math.min(0.02, room / Math.max(1, tokens)));
  const placed = [];
  let [x, y] = [0, 0];
  for (const block of blocks) {
    const wide = Math.min(width, LEAST_WIDTH + block.tokens * perToken);
    if (x > 0 && x + wide > width) [x, y] = [0, y + ROW_HEIGHT + GAP];
    placed.push({ block, x, y, width: wide, height: ROW_HEIGHT });
    x += wide + GAP;
  }
  return { placed, rows: placed.length === 0 ? 0 : y / (ROW_HEIGHT + GAP) + 1 };
}

/** Thin strokes instead of a fill. */
function hatch(context, { x, y, width }, stroke) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, ROW_HEIGHT);
  context.clip();
  context.globalAlpha = 0.55;
  context.strokeStyle = stroke;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - ROW_HEIGHT; at < x + width; at += 5) {
    context.moveTo(at, y + ROW_HEIGHT);
    context.lineTo(at + ROW_HEIGHT, y);
  }
  context.stroke();
  context.strokeRect(x + 0.5, y + 0.5, width - 1, ROW_HEIGHT - 1);
  context.restore();
}

/** Kinds with the tokens of them that were sent, and the tokens that were removed. */
function legendOf(blocks, words) {
  const sent = new Map();
  let taken = 0;
  for (const { kind, tokens, share } of blocks) {
    sent.set(kind, (sent.get(kind) ?? 0) + tokens * share);
    taken += tokens * (1 - share);
  }
  const items = Object.entries(KIND_COLORS)
    .filter(([kind]) => sent.has(kind))
    .map(([kind, name]) => legendItem(name, `${words.kinds[kind]} ${whole(sent.get(kind))}`));
  if (taken >= 1)
    items.push(el("span", { class: "taken" }, el("i", {}), ` ${words.takenOut} ${whole(taken)}`));
  return items;
}

/** A patch of colour and what it stands for. */
function legendItem(name, text) {
  return el("span", {}, el("i", { style: `background: var(--${name})` }), ` ${text}`);
}
