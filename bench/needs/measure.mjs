// What the answers of a recorded session needed, and how much of it a policy left in view: the session is said again in
// the closed loop, and at each call the request is held against the recorded answer.

import { Loop, play } from "../../__test__/support/live/loop.mjs";
import { Provider } from "../../__test__/support/live/provider.mjs";
import { Versions } from "../../lib/cli/report/play.mjs";
import { callsIn, editsIn, linesOf } from "../economy/lines.mjs";
import { Visible } from "../economy/visible.mjs";
import { spansOf, textOf, wantedIn } from "./texts.mjs";

/** What the answers of one session copy and edit, and what its messages show of it. The same for all policies. */
export class Session {
  #wanted;
  #versions;
  #needs;

  /** @param messages of a recording that no host compacted */
  constructor(messages) {
    this.#needs = new Map(
      messages.flatMap((message, number) =>
        message.role === "assistant" ? [[number, needsOf(message)]] : [],
      ),
    );
    this.#wanted = new Set(Array.from(this.#needs.values(), ({ spans }) => spans).flat());
    this.#versions = new Versions((message) => this.#shown(message));
  }

  /** What a version of a message shows of what any answer wants. */
  #shown(message) {
    return {
      spans: wantedIn(message, this.#wanted),
      lines: linesOf(textOf(message)),
      calls: callsIn(message).length,
    };
  }

  get needs() {
    return this.#needs;
  }

  version(message) {
    return this.#versions.of(message);
  }
}

function needsOf(message) {
  return { spans: spansOf(message), edits: editsIn(message) };
}

/** Counts of what was needed and what was in view; add them up over sessions with `addNeeds`. */
export function emptyNeeds() {
  return {
    calls: 0,
    over: 0,
    tokens: 0,
    spans: 0,
    spansInView: 0,
    edits: 0,
    editsInView: 0,
    earlierCalls: 0,
  };
}

export function addNeeds(a, b) {
  return Object.fromEntries(Object.keys(a).map((name) => [name, a[name] + b[name]]));
}

/** The needs of `session`, a `Session` over `recording`, under a policy; `provider` are the settings of `Provider`. */
export async function needsUnder(policy, session, recording, provider) {
  const loop = new Loop(new Provider(provider), {}, { makeHook: () => policy });
  const spans = new Visible((version) => version.spans);
  const lines = new Visible((version) => version.lines);
  const before = { spans: new Set(), lines: new Set(), calls: 0, next: 0 };
  const needs = emptyNeeds();
  for await (const { given, sent, prompt, isRefused } of play(recording, loop)) {
    for (; before.next < given.length; before.next += 1) {
      const version = session.version(given[before.next]);
      for (const span of version.spans) before.spans.add(span);
      for (const line of version.lines) before.lines.add(line);
      before.calls += version.calls;
    }
    const request = sent.map((message) => session.version(message));
    for (const visible of [spans, lines]) visible.show(request);
    needs.calls += 1;
    needs.over += Number(isRefused);
    needs.tokens += prompt;
    needs.earlierCalls += before.calls === 0 ? 1 : sum(request, ({ calls }) => calls) / before.calls;
    score(needs, session.needs.get(given.length), before, { spans, lines });
  }
  return needs;
}

function score(needs, { spans, edits }, before, inView) {
  const copied = spans.filter((span) => before.spans.has(span));
  needs.spans += copied.length;
  needs.spansInView += copied.filter((span) => inView.spans.has(span)).length;
  const shown = (lines) => [...lines].filter((line) => before.lines.has(line));
  const areInView = (lines) => lines.every((line) => inView.lines.has(line));
  const quoting = edits.map(shown).filter(({ length }) => length > 0);
  needs.edits += quoting.length;
  needs.editsInView += quoting.filter(areInView).length;
}

/** Shares for the tables, of counts. */
export function sharesOf({ calls, tokens, ...counts }) {
  const share = (part, all) => (all > 0 ? part / all : 1);
  return {
    tokensPerCall: share(tokens, calls),
    copied: share(counts.spansInView, counts.spans),
    edits: share(counts.editsInView, counts.edits),
    earlierCalls: share(counts.earlierCalls, calls),
  };
}

function sum(values, of) {
  return values.reduce((total, value) => total + of(value), 0);
}
