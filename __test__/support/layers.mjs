// What the first two layers make of a transcript, written once more from their description and as simply as it
// goes: the oracle the tests compare the package with. `schedule: "everyCall"`, all options at their defaults.

const KEPT_RESULTS = 6;
const KEPT_THINKING = 1;
const MIN_CHARS = 500;
const LINE_CHARS = 500;
const HEAD_LINES = 3;
const TAIL_LINES = 2;

export const MARKER = /^\[\.\.\. 已省略 (\d+) 行，原始 (\d+) 字符 \.\.\.\]$/m;

export function withOldResultsAndThinkingReduced(messages) {
  const results = messages.filter((message) => message.role === "toolResult");
  const thinkers = messages.filter(
    (message) => message.role === "assistant" && message.content.some(isThinking),
  );
  const freshResults = new Set(results.slice(-KEPT_RESULTS));
  const freshThinkers = new Set(thinkers.slice(-KEPT_THINKING));
  return messages.map((message) => {
    if (message.role === "toolResult" && !freshResults.has(message)) return summarised(message);
    if (thinkers.includes(message) && !freshThinkers.has(message)) return withoutThinking(message);
    return message;
  });
}

const isThinking = (block) => block.type === "thinking";
const isText = (block) => block.type === "text";

function withoutThinking(message) {
  const content = message.content.filter((block) => !isThinking(block));
  return content.length === 0 ? message : { ...message, content };
}

function summarised(message) {
  const text = message.content
    .filter(isText)
    .map((block) => block.text)
    .join("\n");
  const summary = summaryOf(text);
  if (text.length <= MIN_CHARS || summary.length >= text.length) return message;
  const first = message.content.findIndex(isText);
  const content = message.content.flatMap((block, index) => {
    if (index === first) return [{ ...block, text: summary }];
    return isText(block) ? [] : [block];
  });
  return { ...message, content };
}

function summaryOf(text) {
  const lines = text.split("\n");
  const omitted = Math.max(0, lines.length - HEAD_LINES - TAIL_LINES);
  const head = lines.slice(0, HEAD_LINES);
  const tail = lines.slice(Math.max(HEAD_LINES, lines.length - TAIL_LINES));
  return [
    ...head.map(cut),
    `[... 已省略 ${omitted} 行，原始 ${text.length} 字符 ...]`,
    ...tail.map(cut),
  ].join("\n");
}

function cut(line) {
  if (line.length <= LINE_CHARS) return line;
  const last = line.charCodeAt(LINE_CHARS - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return `${line.slice(0, splitsPair ? LINE_CHARS - 1 : LINE_CHARS)}…`;
}
