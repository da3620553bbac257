// Checks the options of a hook when it is made: one clear TypeError that names the option, the value and what is
// allowed. What comes out is complete: every option has its value.
"use strict";

const contract = require("../contract.js");

/** The errors that a slip in a host's function causes; the engine names them. */
const ENGINE_ERRORS = [TypeError, ReferenceError, RangeError];

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
const atLeastOne = {
  allowed: "a whole number from 1 on",
  accepts: (value) => count.accepts(value) && value > 0,
};
const text = { allowed: "a text", accepts: (value) => typeof value === "string" };
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

const times = {
  allowed: "an array of finite numbers, ms since 1970",
  accepts: (value) => Array.isArray(value) && value.every(Number.isFinite),
};

const autoOrRecord = {
  allowed: '"auto", or an object',
  accepts: (value) => value === "auto" || record.accepts(value),
};

/** The names are read when one is asked for: importing the package reads no more than it must. */
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

const RULES = {
  count,
  positive,
  amount,
  ratio,
  flag,
  handler,
  names,
  times,
  encoding: encodingName,
  cache: autoOrRecord,
  economy,
};

/** Options with their defaults and rules, as `checkOptions` takes them. */
function optionTable(options) {
  const ruleOf = ({ is, orFunction: isOrFunction = false }) => {
    const rule = Array.isArray(is) ? oneOf(...is) : RULES[is];
    return isOrFunction ? orFunction(rule) : rule;
  };
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, [option.default, ruleOf(option)]]),
  );
}

const HOOK_OPTIONS = optionTable(contract.hookOptions);
/** Prices relative to input, Anthropic's; seconds that are not given are learned. */
const CACHE_OPTIONS = optionTable(contract.cacheOptions);
const CONTEXT_WINDOW = contract.hookOptions.contextWindow.default;

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

/** The answer of a host's `cache` function, completed with the defaults; undefined where it is off. */
function completeCache(given) {
  if (given === undefined) return undefined;
  try {
    return checkOptions("cache", given, CACHE_OPTIONS);
  } catch {
    return undefined;
  }
}

/** Tokens of context that an economy stands for. */
const economyTokens = (economy) => contract.economies[economy]?.default ?? economy;

function checkHookOptions(owner, given) {
  const options = checkOptions(owner, given, HOOK_OPTIONS);
  if (typeof options.cache !== "function") {
    const learnsPrices = options.cache === "auto";
    const cache = learnsPrices ? {} : options.cache;
    options.cache = { ...checkOptions(`${owner}: cache`, cache, CACHE_OPTIONS), learnsPrices };
  }
  return options;
}

function show(value) {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (value === null || typeof value !== "object") return String(value);
  return Array.isArray(value) ? "an array" : "an object";
}

/** Throws a TypeError that names the argument, unless it is an array of objects. */
function checkMessages(method, messages, name = "messages") {
  const isObject = (message) => typeof message === "object" && message !== null;
  if (Array.isArray(messages) && messages.every(isObject)) return;
  const said = Array.isArray(messages) ? "an array with something else in it" : show(messages);
  throw new TypeError(`${method}: ${name} is ${said}; it must be an array of messages`);
}

/** A model's context window in tokens; 200 000 where it names none. */
function getContextWindow(model) {
  return model?.contextWindow ?? CONTEXT_WINDOW;
}

/** A number as it is; of all else only its kind, as it may hold the user's text. */
function kindOf(value) {
  if (value === undefined || value === null || typeof value === "number") return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** The kind of error that was thrown; never its message, for the same reason. */
function thrownBy(error) {
  try {
    const kind = ENGINE_ERRORS.find((one) => error instanceof one);
    if (kind !== undefined) return `a ${kind.name}`;
  } catch {
    // A Proxy that will not be looked at.
  }
  return "an error";
}

module.exports = {
  count,
  atLeastOne,
  amount,
  text,
  times,
  flag,
  handler,
  oneOf,
  orFunction,
  getContextWindow,
  optionTable,
  kindOf,
  thrownBy,
  checkOptions,
  checkHookOptions,
  checkMessages,
  completeCache,
  economyTokens,
  positive,
  ratio,
  record,
  show,
};
