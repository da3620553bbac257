// Writes the summary by rules: counts, first requests, tools, files, commands and open errors of the replaced messages.
// Each replaced message leaves a short note, from which the digest is made again when one of them is deleted.
"use strict";

const { attempt } = require("../helpers.js");
const { filled, isChinese } = require("../hook/markers.js");
const { native } = require("../native/native.js");
const { callsIn, clip, readCall } = require("../shapes/text.js");

/** Start of a summary in a session. */
const SUMMARY_LABEL = "[上下文总结]";
/** Longest summary taken from a summariser, UTF-16 units. The prompt asks for 500 tokens. */
const SUMMARY_CHARS = 8000;
/** User messages quoted from the start of a session. */
const REQUESTS = 3;
/** Longest lists. Tools are in the order of first use; the others keep the newest. */
const TOOLS = 30;
const FILES = 20;
const COMMANDS = 10;
const ERRORS = 5;
/** Longest quotation of a message, a command or an error line, UTF-16 units. */
const QUOTE_CHARS = 200;
/** Longest part of a summariser's summary that a later summary by rules repeats, UTF-16 units: 500 tokens of English. */
const EARLIER_CHARS = 2000;
/** Start of a line that reports an error, in any case. */
const ERROR = /^\s*(?:error|fatal|traceback|exception|panic|failed|fail:|错误|失败|异常)/i;
/** Extensions of files named in prose (without a list `console.log` would be a file), and the words of a summary. */
const { extensions, ...WORDS } = require("./digest.json");
/** Part of a text to search for files, UTF-16 units. The search runs on the main thread. */
const SCANNED_UNITS = 16 * 1024;
/**
 * A file name in prose: a run of path characters, perhaps after a Windows drive. Chinese and Japanese put no space before it, so
 * there it begins with the first Latin letter, `./` or `~/`: `打开src/a.ts` names `src/a.ts`.
 */
const PATH = "[\\p{L}\\p{N}/\\\\._~@+-]";
const UNSPACED = "[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}]";
const BEGIN = "(?:[a-z]|\\.{1,2}/|~/)";
const FILE = new RegExp(
  `(?:(?<!${PATH})(?!${UNSPACED}+${BEGIN})|(?<=${UNSPACED})(?=${BEGIN}))(?:[a-z]:(?=[/\\\\]))?(?!//)` +
    `${PATH}{1,199}?\\.(?:${extensions.replaceAll(" ", "|")})(?![\\w/\\\\~@+-]|\\.\\w)`,
  "giu",
);

/** Returns the note on a message that a compression replaces. */
function noteOf(message) {
  const { role, content, toolCallId, isError } = message;
  const note = { role, toolCallId, toolCalls: callsIn(message).map(noteOfCall) };
  if (role !== "tool")
    return { ...note, request: role === "user" ? quote(content) : "", files: filesIn(content) };
  const lines = content.split("\n");
  const first = lines.find((line) => line.trim() !== "") ?? "";
  const hasFailed = isError ?? ERROR.test(first);
  return { ...note, error: hasFailed ? quote(lines.find((line) => ERROR.test(line)) ?? first) : undefined };
}

function noteOfCall(call) {
  const { id, name, arguments: text } = readCall(call);
  const [kind, subject] = subjectOf(name, text);
  return { id, tool: quote(name), ...(kind !== undefined && { [kind]: quote(subject) }) };
}

/** Returns `["file", path]`, `["command", text]` or nothing. Without the addon a summary names only the tool. */
const subjectOf = (tool, text) => attempt(() => native().callSubject(tool, text), []);

/** Returns the newest file names in prose, without line numbers behind a colon. */
function filesIn(text) {
  return [...new Set(text.slice(0, SCANNED_UNITS).match(FILE))].slice(-FILES);
}

/** Adds the notes on further messages to a digest, and the words of a summariser. */
function withNotes(known, notes, words) {
  const digest = JSON.parse(JSON.stringify({ ...EMPTY, ...known }));
  const open = new Map();
  for (const { role, request, files = [], toolCalls, toolCallId, error } of notes) {
    digest.counts.all += 1;
    digest.counts[role] += 1;
    if (request && digest.requests.length < REQUESTS) digest.requests.push(request);
    for (const file of files) digest.files = newest(digest.files, file, FILES);
    for (const call of toolCalls) addCall(digest, call);
    for (const call of toolCalls) open.set(call.id, call);
    if (open.has(toolCallId)) addResult(digest, open.get(toolCallId), error);
  }
  if (words !== "") digest.earlier = clip(words, EARLIER_CHARS);
  return digest;
}

const EMPTY = {
  counts: { all: 0, system: 0, user: 0, assistant: 0, tool: 0 },
  requests: [],
  /** Pairs of a name and its uses. */
  tools: [],
  files: [],
  commands: [],
  errors: [],
  earlier: "",
};

function addCall(digest, { tool, file, command }) {
  const known = digest.tools.find(([name]) => name === tool);
  if (known !== undefined) known[1] += 1;
  else if (digest.tools.length < TOOLS) digest.tools.push([tool, 1]);
  if (file !== undefined) digest.files = newest(digest.files, file, FILES);
  if (command !== undefined) digest.commands = newest(digest.commands, command, COMMANDS);
}

/** A later success of the same tool on the same target removes its error. */
function addResult(digest, { tool, file, command }, error) {
  const target = file ?? command ?? "";
  const others = digest.errors.filter((other) => other.tool !== tool || other.target !== target);
  digest.errors = error === undefined ? others : [...others, { tool, target, line: error }].slice(-ERRORS);
}

const newest = (items, item, max) => [...items.filter((kept) => kept !== item), item].slice(-max);

/** A quotation on one line. */
function quote(text) {
  const start = text.trimStart().slice(0, 4 * QUOTE_CHARS);
  return clip(start.trim().replace(/\s+/g, " "), QUOTE_CHARS);
}

/** Writes the digest as text. Skips parts without entries. */
function render(digest, language) {
  const { counts, requests, tools, files, commands, errors, earlier } = digest;
  const told = isChinese([...requests, earlier].join("")) ? "zh" : "en";
  const words = WORDS[language === "auto" ? told : language];
  const { titles, colon, comma } = words;
  const about = (target) => target && filled(words.about, target);
  const inline = (items) => colon + items.join(comma);
  const onLines = (items) => [colon.trimEnd(), ...items].join("\n");
  const parts = [
    [onLines, requests.map((request, n) => `${n + 1}. ${request}`)],
    [inline, tools.map(([name, times]) => `${name} ×${times}`)],
    [inline, files],
    [onLines, commands.map((command) => `- ${command}`)],
    [onLines, errors.map(({ tool, target, line }) => `- ${tool}${about(target)}${colon}${line}`)],
    [inline, earlier === "" ? [] : [earlier]],
  ];
  const said = parts.map(([join, items], n) => (items.length === 0 ? "" : `\n${titles[n]}${join(items)}`));
  const { all, user, assistant, tool } = counts;
  return filled(words.counts, all, user, assistant, tool) + said.join("");
}

/** Returns the text of a summary: the summariser's words, or else the digest. */
const summaryText = (digest, words, language) => `${SUMMARY_LABEL} ${words || render(digest, language)}`;

/** Returns the words of a summariser's answer without the label. */
function wordsOf(answer) {
  let text = answer.trim();
  while (text.startsWith(SUMMARY_LABEL)) text = text.slice(SUMMARY_LABEL.length).trimStart();
  return clip(text, SUMMARY_CHARS);
}

module.exports = { SUMMARY_LABEL, noteOf, summaryText, withNotes, wordsOf };
