// The map of the messages: a canvas with one cell per message, coloured by what became of it at the chosen call; the
// line below says what happened to the picked one and why.

import { messageCanvas } from "./canvas.mjs";
import { color, el, whole } from "./dom.mjs";

/** Colours of edits and of unedited messages; no other thing on the page has them. */
const COLORS = {
  user: "sky",
  kept: "kept",
  replaced: "replaced",
  later: "later",
  shortened: "orange",
  omitImages: "green",
  stripThinking: "purple",
  drop: "gone",
};
const SHORTENING = ["summarize", "keepLines", "truncate", "dropCalls"];
/** Largest and smallest cell in CSS pixels, and the height the map should stay under. */
const MAX_CELL = 14;
const MIN_CELL = 4;
const MAX_HEIGHT = 480;

export function messageMap(data, words) {
  const { role, tool, tokens } = data.messages;
  const callCount = data.calls.before.length;
  const view = { cell: MAX_CELL, columns: 1, states: statesAt(data, callCount) };
  const placeOf = (index) => ({
    x: (index % view.columns) * view.cell,
    y: Math.floor(index / view.columns) * view.cell,
    width: view.cell - 1,
    height: view.cell - 1,
  });
  const drawing = {
    layOut(width) {
      view.cell = cellSize(width, role.length);
      view.columns = Math.max(1, Math.floor(width / view.cell));
      return Math.ceil(role.length / view.columns) * view.cell;
    },
    draw(context) {
      for (const [kind, name] of Object.entries(COLORS)) {
        context.fillStyle = color(name);
        for (const [index, { state }] of view.states.entries()) {
          if (kindOf(state) !== kind) continue;
          const { x, y, width, height } = placeOf(index);
          context.fillRect(x, y, width, height);
        }
      }
    },
    placeOf,
    at(x, y) {
      const column = Math.floor(x / view.cell);
      return column < view.columns ? Math.floor(y / view.cell) * view.columns + column : -1;
    },
    steps: () => ({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -view.columns, ArrowDown: view.columns }),
    count: () => role.length,
    describe(index) {
      const { state, change } = view.states[index];
      const what = tool[index] === "" ? role[index] : `${role[index]} ${tool[index]}`;
      const said = words.cell(whole(index + 1), what, whole(tokens[index]));
      if (change === undefined) return `${said} · ${words[state]}`;
      return [said, fateOf(change, words), words.schedule(scheduleAt(data, change, words))].join(" · ");
    },
  };
  const canvas = messageCanvas(words.mapTitle, drawing);
  const shown = el("output", {}, whole(callCount));
  const slider = el("input", {
    type: "range",
    min: "1",
    max: String(Math.max(1, callCount)),
    value: String(callCount),
    oninput: () => {
      const call = Number(slider.value);
      shown.textContent = whole(call);
      show(call);
    },
  });

  function show(call) {
    view.states = statesAt(data, call);
    canvas.legend.replaceChildren(...legendOf(view.states, words));
    canvas.redraw();
    canvas.pick(canvas.picked());
  }

  canvas.holder.prepend(el("label", {}, `${words.atCall} `, slider, " ", shown));
  show(callCount);
  return canvas;
}

/** A change in words: its action, since when, and why. */
export function fateOf([, action, from, , tokensSaved, reason, kept = []], words) {
  const inWords = (why) => words.reasons[why] ?? why;
  const fate = words.since(words[action], whole(from), whole(tokensSaved), inWords(reason));
  return [fate, ...kept.map(([lines, why]) => words.linesStay(whole(lines), inWords(why)))].join(
    words.semicolon,
  );
}

/** The schedule's reason at the call that made the change. */
function scheduleAt({ calls }, [, , from], words) {
  const reason = calls.reason[from - 1];
  return words.reasons[reason] ?? reason;
}

/** The state of every message at a call, with the change that made it. */
export function statesAt({ messages, calls, stretches, changes }, call) {
  const { at, opening, from } = standingAt(calls, stretches, call);
  const isThere = new Set(opening.flatMap(([first, end]) => range(first, end)));
  const states = messages.role.map((role, index) => {
    if (index >= at) return { state: "later" };
    if (index < from && !isThere.has(index)) return { state: "replaced" };
    return { state: role === "user" ? "user" : "kept" };
  });
  for (const change of changes) {
    const [index, action, first, last] = change;
    if (first <= call && call <= last) states[index] = { state: action, change };
  }
  return states;
}

/** The stretch a call stands in, and the number of the message that answered it. */
function standingAt({ at, stretch }, stretches, call) {
  const last = Math.min(call, at.length) - 1;
  if (last < 0) return { at: 0, opening: [], from: 0 };
  return { at: at[last], ...stretches[stretch[last]] };
}

function range(from, to) {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

function kindOf(state) {
  return SHORTENING.includes(state) ? "shortened" : state;
}

function legendOf(states, words) {
  const counts = new Map();
  for (const { state } of states) counts.set(kindOf(state), (counts.get(kindOf(state)) ?? 0) + 1);
  return Object.entries(COLORS)
    .filter(([state]) => counts.has(state))
    .map(([state, name]) => legendItem(name, `${words[state]} ${whole(counts.get(state))}`));
}

/** A patch of colour and what it stands for. */
export function legendItem(name, text) {
  return el("span", {}, el("i", { style: `background: var(--${name})` }), ` ${text}`);
}

function cellSize(width, count) {
  for (let cell = MAX_CELL; cell > MIN_CELL; cell -= 1) {
    if (Math.ceil(count / Math.floor(width / cell)) * cell <= MAX_HEIGHT) return cell;
  }
  return MIN_CELL;
}
