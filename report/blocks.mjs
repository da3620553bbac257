// The messages of one call as blocks on a canvas: as wide as they are long, coloured by kind, hatched where something was
// removed. A click or Enter asks for the text of one.

import { messageCanvas } from "./canvas.mjs";
import { color, el, whole } from "./dom.mjs";
import { fateOf, legendItem, statesAt } from "./map.mjs";

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
export function kindOf(role) {
  return KIND_OF_ROLE[role] ?? "other";
}

/** The blocks of the call that `show(data, call)` sets. `onOpen(number)` gets the message to read. */
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
    steps: () => ({ ArrowLeft: -1, ArrowRight: 1 }),
    count: () => blocks.length,
    describe: (index) => describe(blocks[index], words),
    open: (index) => onOpen(blocks[index].number),
  };
  const canvas = messageCanvas(words.blocksTitle, drawing);

  /** Keeps the picked block as long as its message is there. */
  function show(data, call) {
    const number = blocks[canvas.picked()]?.number;
    blocks = blocksOf(data, call);
    canvas.legend.replaceChildren(...legendOf(blocks, words));
    canvas.setWidth();
    canvas.pick(blocks.findIndex((block) => block.number === number));
  }
  return { ...canvas, show };
}

function describe({ tool, kind, number, tokens, change }, words) {
  const name = tool === "" ? words.kinds[kind] : `${words.kinds[kind]} ${tool}`;
  const said = words.cell(whole(number + 1), name, whole(tokens));
  return change === undefined ? said : `${said} · ${fateOf(change, words)}`;
}

/** The messages a call had before it, in the provider's tokens, each with the share of it that was sent. */
function blocksOf(data, call) {
  const { role, tool, tokens } = data.messages;
  const there = [];
  for (const [number, { state, change }] of statesAt(data, call).entries()) {
    if (state !== "later" && state !== "replaced") there.push({ number, change });
  }
  const counted = there.reduce((sum, { number }) => sum + tokens[number], 0);
  const scale = counted > 0 ? data.calls.before[call - 1] / counted : 0;
  return there.map(({ number, change }) => {
    const size = tokens[number] * scale;
    return {
      number,
      kind: kindOf(role[number]),
      tool: tool[number],
      tokens: size,
      change,
      share: change === undefined ? 1 : shareSent(change, size),
    };
  });
}

function shareSent([, action, , , tokensSaved], size) {
  if (action === "drop") return 0;
  return size > 0 ? Math.max(0, Math.min(1, 1 - tokensSaved / size)) : 1;
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
