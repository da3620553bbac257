// `pi-strata/ai-sdk`: the hook for the AI SDK's `prepareStep`, and for lists of its `ModelMessage`.
"use strict";

const { Reporter } = require("../hook/events.js");
const { foreignMark } = require("../hook/foreign.js");
const { requestIn } = require("../bill/prices.js");
const { Hook } = require("../hook/hook.js");
const { show } = require("../options.js");
const aiSdk = require("../shapes/ai-sdk.js");
const { Shapes } = require("../shapes/index.js");
const { PART } = require("../shapes/parts.js");

/** pi's name of a wire protocol, by the provider's name in the AI SDK. */
const APIS = [
  [/\banthropic\b/, "anthropic-messages"],
  [/^azure.*\.responses/, "azure-openai-responses"],
  [/\.responses$|^openai$/, "openai-responses"],
  [/^google\.vertex|^vertex/, "google-vertex"],
  [/^google/, "google-generative-ai"],
  [/bedrock/, "bedrock-converse-stream"],
  [/^mistral/, "mistral-conversations"],
];
const OTHER_API = "openai-completions";
/** Providers whose `inputTokens` exclude cached tokens in version 5. */
const UNCACHED_INPUT = ["anthropic", "bedrock"];

class Pruner {
  #hook;
  #shapes = new Shapes(() => aiSdk);
  #reporter;
  /** Stand-ins that have their model and time. */
  #described = new WeakSet();

  constructor(owner, options) {
    this.#hook = new Hook(owner, options);
    this.#reporter = new Reporter(options?.onEvent, owner);
  }

  /** Resolves with the messages to send. Unedited messages, and an unedited list, are the same objects. */
  async edited(messages, { model, step } = {}) {
    try {
      if (!Array.isArray(messages)) return this.#untouched(messages);
      const odd = messages.findIndex((message) => !aiSdk.isReadable(message));
      if (odd >= 0) return this.#untouched(messages, messages[odd]);
      return await this.#shapes.edited(messages, (list) => {
        const answer = this.#describe(list, originOf(model), step);
        return this.#hook.transform(list, undefined, (found) => {
          // A step names its response. Other usage may be of a call that another process planned, with other cuts.
          const isOurs = step?.response !== undefined || isAnswerTo(found, list, answer);
          if (isOurs && answer !== undefined) hide(answer, { usage: usageOf(step ?? {}, answer) });
        });
      });
    } catch {
      return this.#untouched(messages);
    }
  }

  /** Returns a list of another shape as it is, and reports it once; `odd` is its first unreadable message. */
  #untouched(messages, odd) {
    const mark = foreignMark(odd)?.mark ?? `the role ${show(odd?.role)}`;
    const message = `a message has ${mark}, so the list is no ModelMessage[] of the AI SDK (see convertToModelMessages); it is sent as it came`;
    if (this.#reporter.isFirst("unknownShape")) this.#reporter.warn({ type: "unknownShape", mark, message });
    return messages;
  }

  /**
   * Gives new stand-ins their model and time, hidden from comparisons of copies. Returns the newest answer if it is new.
   */
  #describe(list, origin, step) {
    const isFresh = (standIn) => !this.#described.has(standIn);
    const fresh = list.filter(isFresh);
    for (const standIn of fresh) {
      this.#described.add(standIn);
      if (standIn.role === "assistant") hide(standIn, { ...origin, api: standIn.api ?? origin.api });
    }
    const answer = fresh.findLast(({ role }) => role === "assistant");
    if (answer !== undefined && step !== undefined) {
      const { modelId = origin.model, timestamp } = step.response ?? {};
      // The provider's clock can differ, so times never go back.
      const earlier = list
        .slice(0, list.indexOf(answer))
        .findLast(({ timestamp }) => timestamp !== undefined);
      const answeredAt = Math.max(earlier?.timestamp ?? 0, timestamp?.getTime?.() ?? 0);
      hide(answer, {
        model: modelId,
        timestamp: Math.min(answeredAt || Date.now(), Date.now()),
      });
    }
    const newest = fresh.at(-1);
    if (newest !== undefined && newest === list.at(-1)) hide(newest, { timestamp: Date.now() });
    return answer;
  }
}

/** True if `answer` is of the turn that the last call on the found conversation began. Its last message may have changed since. */
function isAnswerTo({ shared, newFrom = shared?.knownEnd }, list, answer) {
  const at = list.indexOf(answer);
  return at >= newFrom && !list.slice(newFrom + 1, at).some(({ role }) => role === "user");
}

function hide(standIn, fields) {
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) Object.defineProperty(standIn, name, { value, configurable: true });
  }
}

/** Returns a model as pi names it. A text is a gateway's "provider/model". */
function originOf(model) {
  if (typeof model === "string")
    return originOf({ provider: model.split("/")[0], modelId: model.slice(model.indexOf("/") + 1) });
  if (model?.provider === "gateway") return originOf(model.modelId);
  if (typeof model?.provider !== "string") return {};
  const [, api = OTHER_API] = APIS.find(([pattern]) => pattern.test(model.provider)) ?? [];
  return { api, provider: model.provider.split(".")[0], model: model.modelId };
}

/**
 * Returns the usage of a step as pi reports it: `input` without cached tokens. Version 5 reports less than 6 and 7. If the provider
 * ran a tool, the usage is the sum of several prompts. Anthropic lists them; the first is the request.
 */
function usageOf({ usage, providerMetadata }, { content }) {
  const { inputTokens, outputTokens, cachedInputTokens, inputTokenDetails: details, raw } = usage ?? {};
  const request = requestIn(raw ?? providerMetadata?.anthropic?.usage);
  if (request !== undefined) {
    const { cache_read_input_tokens: cacheRead, cache_creation_input_tokens: cacheWrite } = request;
    return { input: request.input_tokens, cacheRead, cacheWrite, output: outputTokens ?? 0 };
  }
  if (content.some(({ [PART]: part }) => part?.providerExecuted)) return undefined;
  if (!Number.isFinite(inputTokens)) return undefined;
  const { anthropic, bedrock } = providerMetadata ?? {};
  const written = anthropic?.cacheCreationInputTokens ?? bedrock?.usage?.cacheWriteInputTokens ?? 0;
  const cacheRead = details?.cacheReadTokens ?? cachedInputTokens ?? 0;
  const cacheWrite = details?.cacheWriteTokens ?? written;
  const isUncached =
    details === undefined && UNCACHED_INPUT.some((name) => providerMetadata?.[name] !== undefined);
  const input = isUncached ? inputTokens : Math.max(0, inputTokens - cacheRead - cacheWrite);
  return { input, cacheRead, cacheWrite, output: outputTokens ?? 0 };
}

function createPrepareStep(options) {
  const pruner = new Pruner("createPrepareStep", options);
  return async ({ messages, steps, model }) => ({
    messages: await pruner.edited(messages, { model, step: steps?.at(-1) }),
  });
}

/** Pruners by their options object. Calls with the same object share one conversation state. */
const pruners = new WeakMap();
const DEFAULTS = {};

async function pruneForBudget(messages, options = DEFAULTS, call = {}) {
  if (!pruners.has(options)) pruners.set(options, new Pruner("pruneForBudget", options));
  const { model, usage, providerMetadata } = call;
  return pruners.get(options).edited(messages, { model, step: usage && { usage, providerMetadata } });
}

module.exports = { createPrepareStep, pruneForBudget };
