// Reads a recorded file line by line, and recognises its recorder by the content. A line that cannot be read is reported with its
// number and left out; its text is never quoted.

import { attempt } from "../../helpers.js";
import { Shapes } from "../../shapes/index.js";
import { claude } from "./claude.mjs";
import { pi } from "./pi.mjs";
import { isRecord, Recording, timeOf } from "./recording.mjs";

/** Types of items of OpenAI's Responses API that have no role. */
const ITEM = /^(?:reasoning|\w+_call(?:_output)?)$/;

/** Bare messages: pi's, or those of a stack whose shape is known. */
const bare = {
  isLine: ({ role, type }) => typeof role === "string" || ITEM.test(type),
  // Cursor writes `{ role, message: { content } }`.
  entryOf: (line) =>
    bare.isLine(line)
      ? { message: isRecord(line.message) ? { ...line.message, role: line.role } : line }
      : { problem: "This is not a message: it has no role." },
  forms: {},
  recordingOf(entries) {
    const steps = [];
    for (const message of new Shapes().read(entries.flatMap(({ message }) => message ?? []))) {
      const last = steps.at(-1)?.message;
      // The items of a response are one answer.
      if (last?.leadsNext && message.leadsNext) last.content.push(...message.content);
      else steps.push({ message });
    }
    return new Recording("messages", steps);
  },
};

/**
 * The formats of recorders. `isLine(line)` recognises a line that only this recorder writes. `entryOf(line)` returns its entry.
 * `forms` says what an entry of each type adds, or the `problem` with it. `recordingOf(entries)` plays the entries.
 */
const FORMATS = [pi, claude, bare];

/**
 * The recording in a file that comes as chunks of bytes: a session of pi's, a transcript of Claude Code's, one
 * message a line, a JSON array of messages, or an object with such `messages`.
 */
export async function readLines(chunks) {
  const found = { objects: [], problems: [] };
  let [number, whole] = [0, undefined];
  for await (const line of linesOf(chunks)) {
    number += 1;
    const isFirst = found.objects.length + found.problems.length === 0;
    if (whole !== undefined) whole.text += `\n${line}`;
    else if (isFirst && /^\s*(?:\[|\{\s*$)/.test(line)) whole = { text: line, number };
    else if (line.trim() !== "") parse("line", line, number, found);
  }
  if (whole !== undefined) parse("file", whole.text, whole.number, found);
  const { objects, problems } = found;
  const formatOf = ({ object }) => FORMATS.find(({ isLine }) => isLine(object));
  const { entryOf, forms, recordingOf } = formatOf(objects.find(formatOf) ?? { object: {} }) ?? bare;
  const entries = objects.map(({ object, line }) => {
    const { type, timestamp } = object;
    const form = Object.hasOwn(forms, type) ? forms[type]({ ...object, timestamp: timeOf(timestamp) }) : {};
    const { problem, ...entry } = { ...entryOf(object), ...form };
    if (problem !== undefined) problems.push({ line, message: problem });
    return entry;
  });
  problems.sort((a, b) => a.line - b.line);
  return Object.assign(recordingOf(entries), { problems });
}

/** Adds the objects of a JSON text, or the problem with it. */
function parse(what, text, line, { objects, problems }) {
  const value = attempt(() => JSON.parse(text));
  if (value === undefined) {
    problems.push({ line, message: `The ${what} is not valid JSON.` });
    return;
  }
  const { type, role, messages } = value ?? {};
  const isList = type === undefined && role === undefined && Array.isArray(messages);
  for (const object of [isList ? messages : value].flat()) {
    if (isRecord(object)) objects.push({ object, line });
    else problems.push({ line, message: `The ${what} is JSON, but holds something that is not an object.` });
  }
}

/** A decoder for a text that begins with these bytes: of UTF-16 if a byte order mark says so, as in Windows, else of UTF-8. */
export function decoderOf([first, second] = [], options = {}) {
  const mark = [first, second].join();
  const encoding = mark === "255,254" ? "utf-16le" : mark === "254,255" ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding, options);
}

/** The lines of a file; broken UTF-8 becomes U+FFFD. */
async function* linesOf(chunks) {
  let decoder;
  let line = "";
  for await (const chunk of chunks) {
    decoder ??= decoderOf(chunk);
    const [first, ...others] = decoder.decode(chunk, { stream: true }).split("\n");
    line += first;
    for (const next of others) {
      yield line;
      line = next;
    }
  }
  yield line + (decoder?.decode() ?? "");
}
