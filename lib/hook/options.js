// Checks the options of a hook when it is made, and fills in defaults. A TypeError names the option, the value and what is
// allowed.
"use strict";

const { attempt } = require("../helpers.js");
const contract = require("../contract.js");
const rules = require("../options.js");

const { checkOptions, checkValue, oneOf, orFunction, positive, record, rule, show } = rules;

const autoOrRecord = rule('"auto", or an object', (value) => value === "auto" || record.accepts(value));

const modelRecord = rule("a model with contextWindow", record.accepts);

/** The names are loaded on first use: importing the package must stay cheap. */
const encodingName = {
  get allowed() {
    return `"auto" or an encoding: ${require("../tokens/models.js").knownNames().join(", ")}`;
  },
  accepts: (value) => value === "auto" || require("../tokens/models.js").isEncoding(value),
};

const economy = {
  allowed: `${Object.keys(contract.economies).map(show).join(", ")}, or a number of tokens greater than 0`,
  accepts: (value) => Object.hasOwn(contract.economies, value) || positive.accepts(value),
};

const keep = {
  allowed:
    'false, or an object with files and tools: arrays of tools and of file names, "docs/plan.md" or "*.mdc"',
  accepts: (value) => value === false || (record.accepts(value) && Object.entries(value).every(isKeepList)),
};
const isKeepList = ([name, list]) =>
  list === undefined ||
  (rules.names.accepts(list) && (name === "tools" || (name === "files" && list.every(isFileName))));
/** Returns true for a name, the end of a path, or `*` before the end of a name. */
const isFileName = (file) => /^(?:\*[^*/\\]+|[^*]*[^*/\\])$/.test(file);

const RULES = { ...rules, keep, encoding: encodingName, cache: autoOrRecord, economy };

/** Options with their defaults and rules, as `checkOptions` takes them. */
function optionTable(options) {
  const ruleOf = ({ is, orFunction: isOrFunction = false }) => {
    const own = Array.isArray(is) ? oneOf(...is) : RULES[is];
    return isOrFunction ? orFunction(own) : own;
  };
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, [option.default, ruleOf(option)]]),
  );
}

const HOOK_OPTIONS = optionTable(contract.hookOptions);
/** Prices relative to input, Anthropic's; omitted seconds are learned. */
const CACHE_OPTIONS = optionTable(contract.cacheOptions);
const CONTEXT_WINDOW = contract.hookOptions.contextWindow.default;
/** Largest default reserve, as a share of the window. */
const MOST_RESERVE = 1 / 4;

/** The host's cache settings now, with defaults; undefined if they are learned. */
function cacheNow(option) {
  const cache = valueNow(option, record);
  return cache && attempt(() => checkOptions("cache", cache, CACHE_OPTIONS));
}

/** The host's window now; the default if its function names none (an Agent without a model says 0). */
function windowNow(option, failed) {
  return valueNow(option, positive, failed) ?? CONTEXT_WINDOW;
}

/** Tokens that are kept free in a window: the `given` number if there is one. */
function reserveIn(contextWindow, given) {
  return given ?? Math.min(contract.hookOptions.reserveTokens.default, MOST_RESERVE * contextWindow);
}

/** Checks a hook's options. `own` is the table of those that `owner` has beside them. */
function checkHookOptions(owner, given, own) {
  const options = checkOptions(owner, given, { ...HOOK_OPTIONS, ...own });
  // Given values are obeyed exactly; defaults may be capped.
  const { reserveTokens, summaryHeadLines, summaryTailLines } = given ?? {};
  Object.defineProperty(options, "given", { value: { reserveTokens, summaryHeadLines, summaryTailLines } });
  // Copies, because the host may change its objects later. Times are read at each call: a host adds to them.
  const { cache, keep, excludeTools } = options;
  if (record.accepts(cache)) options.cache = checkOptions(`${owner}: cache`, cache, CACHE_OPTIONS);
  if (record.accepts(keep)) options.keep = { files: keep.files?.slice(), tools: keep.tools?.slice() };
  options.excludeTools = excludeTools.slice();
  return options;
}

/** Checked options as JSON for the native side, which ignores unknown fields. */
function nativeOptions(options, encoding, language) {
  const { given, economy, keep, recall, schedule, summaryHeadLines, summaryTailLines } = options;
  // By default only the ladder of the sticky schedule keeps the newest states whole.
  const keepsNothing = keep === false || (keep === undefined && schedule === "everyCall");
  const all = {
    ...options,
    // The default is at most a quarter of the window.
    reserveTokens: given.reserveTokens,
    shortening: {
      headLines: summaryHeadLines,
      tailLines: summaryTailLines,
      leastHead: given.summaryHeadLines ?? 0,
      leastTail: given.summaryTailLines ?? 0,
      minLen: options.minSummaryChars,
    },
    keep: keepsNothing ? undefined : { ...keep },
    keeping: keepsNothing ? "nothing" : keep === undefined ? "ladder" : "layers",
    namesHandle: recall,
    encoding: encoding === undefined ? undefined : require("../tokens/models.js").numberOf(encoding),
    marker: language,
    economy: contract.economies[economy]?.default ?? economy,
  };
  // UTF-8 cannot hold lone surrogates.
  return JSON.stringify(all, (_, value) => (typeof value === "string" ? value.toWellFormed() : value));
}

/** A model's context window in tokens; 200 000 if it names none. */
function getContextWindow(model) {
  const contextWindow = model?.contextWindow ?? CONTEXT_WINDOW;
  if (model !== undefined && model !== null) checkValue("getContextWindow: model", model, modelRecord);
  checkValue("getContextWindow: contextWindow", contextWindow, positive);
  return contextWindow;
}

/** Describes a value: a number itself, otherwise only its kind, since it may hold the user's text. */
function kindOf(value) {
  if (value === undefined || value === null || typeof value === "number") return String(value);
  if (typeof value === "string" && value.trim() === "") return "a blank text";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/**
 * The value of an option, or what its function returns for `given`. Undefined if the function throws or the rule refuses the value: the
 * host may have changed it since the check. If a function fails, calls `failed(cause)`.
 */
function valueNow(option, rule, failed, ...given) {
  if (typeof option !== "function") return rule.accepts(option) ? option : undefined;
  try {
    const answer = option(...given);
    if (rule.accepts(answer)) return answer;
    if (typeof answer?.then === "function") answer.then(undefined, () => {});
    failed?.(`returned ${kindOf(answer)}`);
  } catch {
    // Not its message, which may hold the user's text.
    failed?.("threw an error");
  }
  return undefined;
}

module.exports = {
  getContextWindow,
  optionTable,
  cacheNow,
  checkHookOptions,
  nativeOptions,
  reserveIn,
  valueNow,
  windowNow,
};
