// Writes the summary by rules: counts, first requests, tools, files, commands and open errors of the replaced messages.
// Each replaced message leaves a short note, from which the digest is made again when one of them is deleted.
"use strict";

const { native } = require("../native/native.js");
const { readCall } = require("../shapes/calls.js");
const { callsIn } = require("../shapes/text.js");

/** Start of a summary in a session. */
const SUMMARY_LABEL = "[上下文总结]";
/** Longest summary taken from a summariser, characters. The prompt asks for 500 tokens. */
const SUMMARY_CHARS = 8000;
/** User messages quoted from the start of a session. */
const REQUESTS = 3;
/** Longest lists. Tools stand in the order of their first use; of the others the newest stay. */
const TOOLS = 30;
const FILES = 20;
const COMMANDS = 10;
const ERRORS = 5;
/** Longest quotation of a message, a command or an error line, characters. */
const QUOTE_CHARS = 200;
/** Longest part of a summariser's summary that a later summary by rules repeats, characters: 500 tokens of English. */
const EARLIER_CHARS = 2000;
/** Start of a line that reports an error, in any case. */
const ERROR = /^\s*(?:error|fatal|traceback|exception|panic|failed|fail:|错误|失败|异常)/i;
/** Endings of file names in prose. Without this list `console.log` would be a file. */
const EXTENSIONS = new Set(
  `bat c cc cfg cjs conf cpp cs css csv db doc docx env gif go gz h hpp html ini ipynb java jpg js json jsonl jsx kt
  less lock lua md mjs mts pdf php png proto ps1 py rb rs scss sh sql sqlite svg swift tar toml ts tsv tsx txt vue wasm
  xls xlsx xml yaml yml zip`.split(/\s+/),
);
/** Part of a text that is searched for files, UTF-16 units. The search runs on the main thread. */
const SCANNED_UNITS = 16 * 1024;
/** Ending of a file name in prose, and the characters that can stand before the name. */
const ENDING = /\.([a-z\d]{1,6})(?![\w/\\~@+-]|\.\w)/gi;
const BORDER = /[^\p{L}\p{N}/\\._~@+-]|[\u3000-\u303f\uff00-\uff0f]/u;

/** The words of a summary in both languages. */
const WORDS = {
  zh: {
    counts: ([all, users, assistants, tools]) =>
      `已压缩 ${all} 条消息：用户 ${users}，助手 ${assistants}，工具 ${tools}。`,
    titles: ["最初的用户消息", "使用的工具", "涉及的文件", "执行的命令", "未解决的错误", "先前的总结"],
    colon: "：",
    comma: "、",
    about: (target) => `（${target}）`,
  },
  en: {
    counts: ([all, users, assistants, tools]) =>
      `${all} messages compressed: ${users} from the user, ${assistants} from the assistant, ${tools} from tools.`,
    titles: [
      "First user messages",
      "Tools used",
      "Files",
      "Commands run",
      "Errors still open",
      "Earlier summary",
    ],
    colon: ": ",
    comma: ", ",
    about: (target) => ` (${target})`,
  },
};

/** Returns the note on a message that a compression replaces. */
function noteOf(message) {
  const { role, content, toolCallId, isError } = message;
  const toolCalls = callsIn(message).map(noteOfCall);
  if (role === "tool") {
    const lines = content.split("\n");
    const first = lines.find((line) => line.trim() !== "") ?? "";
    const hasFailed = isError ?? ERROR.test(first);
    return {
      role,
      toolCallId,
      ...(hasFailed && { error: quote(lines.find((line) => ERROR.test(line)) ?? first) }),
    };
  }
  const request = role === "user" ? quote(content) : "";
  const files = filesIn(content);
  return {
    role,
    ...(request !== "" && { request }),
    ...(files.length > 0 && { files }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}

function noteOfCall(call) {
  const { id, name, arguments: text } = readCall(call);
  const [kind, subject] = subjectOf(name, text);
  return { id, tool: quote(name), ...(kind !== undefined && { [kind]: quote(subject) }) };
}

/** Returns `["file", path]`, `["command", text]` or nothing. */
function subjectOf(tool, text) {
  try {
    return native().callSubject(tool, text);
  } catch {
    // Without the addon a summary names the tool alone.
    return [];
  }
}

/** Returns the newest file names in prose, without line numbers behind a colon. */
function filesIn(text) {
  const files = new Set();
  for (const { 0: ending, 1: extension, index } of text.slice(0, SCANNED_UNITS).matchAll(ENDING)) {
    if (!EXTENSIONS.has(extension.toLowerCase())) continue;
    const stem = text
      .slice(Math.max(0, index - QUOTE_CHARS), index)
      .split(BORDER)
      .at(-1);
    if (stem !== "" && stem.length < QUOTE_CHARS && !stem.startsWith("//")) files.add(stem + ending);
  }
  return [...files].slice(-FILES);
}

/** Adds the notes on further messages to a digest. */
function withNotes(digest, notes) {
  const made = { ...emptyDigest(), ...digest };
  const open = new Map();
  for (const { role, request, files = [], toolCalls = [], toolCallId, error } of notes) {
    made.counts = made.counts.map((count, n) => count + Number(n === 0 || role === COUNTED[n]));
    if (request !== undefined) made.requests = [...made.requests, request].slice(0, REQUESTS);
    for (const file of files) made.files = newest(made.files, file, FILES);
    for (const call of toolCalls) {
      open.set(call.id, call);
      addCall(made, call);
    }
    if (role === "tool" && open.has(toolCallId)) addResult(made, open.get(toolCallId), error);
  }
  return made;
}

function addCall(digest, { tool, file, command }) {
  digest.tools = withUse(digest.tools, tool);
  if (file !== undefined) digest.files = newest(digest.files, file, FILES);
  if (command !== undefined) digest.commands = newest(digest.commands, command, COMMANDS);
}

/** A later success of the same tool on the same target removes its error. */
function addResult(digest, { tool, file, command }, error) {
  const target = file ?? command ?? "";
  const others = digest.errors.filter((other) => other.tool !== tool || other.target !== target);
  digest.errors = error === undefined ? others : [...others, { tool, target, line: error }].slice(-ERRORS);
}

const COUNTED = ["", "user", "assistant", "tool"];

function emptyDigest() {
  return { counts: [0, 0, 0, 0], requests: [], tools: [], files: [], commands: [], errors: [], earlier: "" };
}

/** Counts one more use of `tool`. `tools` are pairs of a name and its uses. */
function withUse(tools, tool) {
  if (tools.some(([name]) => name === tool))
    return tools.map(([name, times]) => [name, name === tool ? times + 1 : times]);
  return tools.length < TOOLS ? [...tools, [tool, 1]] : tools;
}

function newest(items, item, max) {
  return [...items.filter((kept) => kept !== item), item].slice(-max);
}

/** A quotation on one line. */
function quote(text) {
  const start = text.trimStart().slice(0, 4 * QUOTE_CHARS);
  return clip(start.trim().replace(/\s+/g, " "), QUOTE_CHARS);
}

/** Cuts a text to `max` characters, the last of which is an ellipsis. */
function clip(text, max) {
  if (text.length <= max) return text;
  // A character has at most two units.
  const chars = Array.from(text.slice(0, 2 * (max + 1)));
  return chars.length > max ? `${chars.slice(0, max - 1).join("")}…` : text;
}

/** Writes the digest as text. Skips parts without entries. */
function render(digest, language) {
  const { counts, requests, tools, files, commands, errors, earlier } = digest;
  const { titles, colon, comma, about, ...words } = WORDS[languageOf(language, [...requests, earlier])];
  const inline = (items) => colon + items.join(comma);
  const onLines = (items) => [colon.trimEnd(), ...items].join("\n");
  const parts = [
    [onLines, requests.map((request, n) => `${n + 1}. ${request}`)],
    [inline, tools.map(([name, times]) => `${name} ×${times}`)],
    [inline, files],
    [onLines, commands.map((command) => `- ${command}`)],
    [onLines, errors.map(({ tool, target, line }) => `- ${tool}${target && about(target)}${colon}${line}`)],
    [inline, earlier === "" ? [] : [earlier]],
  ];
  const said = parts.map(([join, items], n) => (items.length === 0 ? "" : `\n${titles[n]}${join(items)}`));
  return words.counts(counts) + said.join("");
}

/** More than a tenth of Chinese letters make a conversation Chinese: it can have many Latin names. */
function languageOf(language, texts) {
  if (language !== "auto") return language;
  const text = texts.join("");
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  const chinese = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  return chinese * 10 > letters ? "zh" : "en";
}

/**
 * Returns the summary of messages, from the summariser's answer or else by rules: `{ text, digest, isFromHost }`. The digest
 * continues the last one, so summaries never nest.
 */
function summarise(digest, notes, answer, language) {
  const words = answer === undefined ? "" : clip(withoutLabel(answer), SUMMARY_CHARS);
  const made = withNotes(digest, notes);
  if (words !== "") made.earlier = clip(words, EARLIER_CHARS);
  const text = `${SUMMARY_LABEL} ${words || render(made, language)}`;
  return { text, digest: made, isFromHost: words !== "" };
}

function withoutLabel(answer) {
  let text = answer.trim();
  while (text.startsWith(SUMMARY_LABEL)) text = text.slice(SUMMARY_LABEL.length).trimStart();
  return text;
}

module.exports = { SUMMARY_LABEL, noteOf, summarise };
