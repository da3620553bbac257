// Checks the options of a hook when it is made: one clear TypeError that names the option, the value and what is
// allowed. What comes out is complete: every option has its value.
"use strict";

const KEEP_RECENT_TOOL_RESULTS = 6;
const KEEP_RECENT_THINKING = 1;
const CONTEXT_RATIO = 0.75;
const KEEP_RECENT_MESSAGES = 20;
const SUMMARY_HEAD_LINES = 3;
const SUMMARY_TAIL_LINES = 2;
/** Tokens; that of the Claude models. */
const CONTEXT_WINDOW = 200_000;

/** UTF-16 units of another's error that are passed on. */
const MAX_CAUSE_LENGTH = 200;

/** Greatest whole-number option: what fits an unsigned 32-bit integer, far beyond any sense. */
const MAX_COUNT = 0xffff_ffff;

const count = {
  allowed: "a whole number from 0 on",
  accepts: (value) => Number.isInteger(value) && value >= 0 && value <= MAX_COUNT,
};
const positive = {
  allowed: "a finite number above 0",
  accepts: (value) => typeof value === "number" && Number.isFinite(value) && value > 0,
};
const amount = {
  allowed: "a finite number from 0 on",
  accepts: (value) => typeof value === "number" && Number.isFinite(value) && value >= 0,
};
const ratio = {
  allowed: "a number above 0 and at most 1",
  accepts: (value) => typeof value === "number" && value > 0 && value <= 1,
};
const flag = { allowed: "true or false", accepts: (value) => typeof value === "boolean" };
const handler = { allowed: "a function", accepts: (value) => typeof value === "function" };
const oneOf = (...names) => ({
  allowed: names.map((name) => JSON.stringify(name)).join(", "),
  accepts: (value) => names.includes(value),
});
const orFunction = (rule) => ({
  allowed: `${rule.allowed}, or a function`,
  accepts: (value) => typeof value === "function" || rule.accepts(value),
});
const names = {
  allowed: "an array of strings",
  accepts: (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
};

const record = {
  allowed: "an object",
  accepts: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

/** The names are read when one is asked for: importing the package reads no more than it must. */
const encodingName = {
  allowed:
    '"auto" or an encoding: cl100k_base, o200k_base, o200k_harmony, p50k_base, p50k_edit, r50k_base, gpt2',
  accepts: (value) => value === "auto" || require("./tokens/models.js").ENCODINGS.includes(value),
};

/** Prices relative to input and seconds; Anthropic's, for its five-minute cache. */
const CACHE_OPTIONS = {
  read: [0.1, amount],
  write: [1.25, amount],
  ttlSeconds: [300, amount],
};

const HOOK_OPTIONS = {
  contextWindow: [CONTEXT_WINDOW, orFunction(positive)],
  contextRatio: [CONTEXT_RATIO, ratio],
  keepRecentToolResults: [KEEP_RECENT_TOOL_RESULTS, count],
  keepRecentThinking: [KEEP_RECENT_THINKING, count],
  keepRecentMessages: [KEEP_RECENT_MESSAGES, count],
  summaryHeadLines: [SUMMARY_HEAD_LINES, count],
  summaryTailLines: [SUMMARY_TAIL_LINES, count],
  minSummaryChars: [500, count],
  summaryLineChars: [500, count],
  marker: ["zh", orFunction(oneOf("zh", "en"))],
  recall: [false, flag],
  excludeTools: [[], names],
  thinkingScope: ["all", oneOf("all", "closedTurns")],
  overflow: ["shrink", oneOf("shrink", "keep")],
  reserveTokens: [8192, amount],
  overheadTokens: [undefined, orFunction(amount)],
  imageTokens: [1200, count],
  calibrate: [true, flag],
  encoding: ["auto", encodingName],
  schedule: ["auto", oneOf("auto", "everyCall", "sticky")],
  cache: [{}, record],
  economy: ["balanced", oneOf("faithful", "balanced", "thrifty")],
  highWater: [undefined, ratio],
  lowWater: [undefined, ratio],
  onEvent: [undefined, handler],
};

/** `given` completed by the defaults of `table`; throws a TypeError for the first option that is off. */
function checkOptions(owner, given, table) {
  if (given !== undefined && (typeof given !== "object" || given === null || Array.isArray(given))) {
    throw new TypeError(`${owner}: options must be an object, not ${show(given)}`);
  }
  for (const name of Object.keys(given ?? {})) {
    if (!Object.hasOwn(table, name)) {
      throw new TypeError(`${owner}: there is no option ${name}; there are ${Object.keys(table).join(", ")}`);
    }
  }
  const checked = {};
  for (const [name, [fallback, rule]] of Object.entries(table)) {
    const value = given?.[name];
    if (value !== undefined && !rule.accepts(value)) {
      throw new TypeError(`${owner}: option ${name} is ${show(value)}; it must be ${rule.allowed}`);
    }
    checked[name] = value === undefined ? fallback : value;
  }
  return checked;
}

function checkHookOptions(owner, given) {
  const options = checkOptions(owner, given, HOOK_OPTIONS);
  options.cache = checkOptions(`${owner}: cache`, options.cache, CACHE_OPTIONS);
  const { highWater, lowWater } = options;
  if (highWater !== undefined && lowWater !== undefined && lowWater >= highWater) {
    throw new TypeError(`${owner}: option lowWater is ${lowWater}; it must be below highWater, ${highWater}`);
  }
  return options;
}

function show(value) {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (value === null || typeof value !== "object") return String(value);
  return Array.isArray(value) ? "an array" : "an object";
}

/** A model's context window in tokens; 200 000 where it names none. */
function getContextWindow(model) {
  return model?.contextWindow ?? CONTEXT_WINDOW;
}

/**
 * The window a host's function names, in tokens. Where it names none (an Agent without a model says 0, and a function
 * may throw), the default stands in and `cause` says why.
 */
function askedWindow(contextWindow) {
  try {
    const tokens = contextWindow();
    if (positive.accepts(tokens)) return { tokens };
    return { tokens: CONTEXT_WINDOW, cause: `returned ${show(tokens)}` };
  } catch (error) {
    return { tokens: CONTEXT_WINDOW, cause: `threw ${thrownBy(error)}` };
  }
}

/** What was thrown, in a line; a host may throw anything, even what cannot be looked at. */
function thrownBy(error) {
  try {
    return String(error).slice(0, MAX_CAUSE_LENGTH);
  } catch {
    return "something unreadable";
  }
}

module.exports = {
  askedWindow,
  count,
  amount,
  flag,
  handler,
  oneOf,
  orFunction,
  KEEP_RECENT_TOOL_RESULTS,
  KEEP_RECENT_THINKING,
  CONTEXT_RATIO,
  KEEP_RECENT_MESSAGES,
  SUMMARY_HEAD_LINES,
  SUMMARY_TAIL_LINES,
  getContextWindow,
  checkOptions,
  checkHookOptions,
  positive,
  ratio,
  show,
};
