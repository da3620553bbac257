// `pi-strata/ai-sdk`: the hook for the AI SDK's `prepareStep`, and for lists of its `ModelMessage`.
"use strict";

const { Reporter } = require("../hook/events.js");
const { foreignMark } = require("../hook/foreign.js");
const { requestIn } = require("../bill/prices.js");
const { Hook } = require("../hook/hook.js");
const { handler, show } = require("../options.js");
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
const CLAUDE = /claude/i;
/** Providers whose `inputTokens` exclude cached tokens in version 5. */
const UNCACHED_INPUT = ["anthropic", "bedrock"];

class Pruner {
  #hook;
  #isClaude = false;
  #shape = aiSdk;
  #shapes = new Shapes(() => this.#shape);
  #reporter;
  /** Stand-ins that have their model and time. */
  #described = new WeakSet();
  /** The SDK's live list of steps at the last call of a conversation, and the index of that call's step in it. */
  #asked = new WeakMap();

  constructor(owner, options) {
    const isClaude = () => this.#isClaude;
    this.#hook = new Hook(owner, { ...options, isClaude }, { isClaude: [undefined, handler] });
    this.#reporter = new Reporter(options?.onEvent, owner);
  }

  /**
   * Resolves with the messages to send. Unedited messages, and an unedited list, are the same objects. `steps` are the SDK's,
   * `told` is a step with the usage of the newest answer.
   */
  async edited(messages, { model, steps = [], told } = {}) {
    try {
      if (!Array.isArray(messages)) return this.#untouched(messages);
      const odd = messages.findIndex((message) => !aiSdk.isReadable(message));
      if (odd >= 0) return this.#untouched(messages, messages[odd]);
      const origin = originOf(model);
      this.#shape = sendsText(model) ? aiSdk.textResults : aiSdk;
      return await this.#shapes.edited(messages, (list) => {
        this.#isClaude = CLAUDE.test(origin.model);
        const answer = this.#describe(list, origin);
        return this.#hook.transform(list, undefined, (found, conversation) => {
          const asked = this.#asked.get(found.conversation);
          this.#asked.set(conversation, { steps, at: steps.length });
          // Usage of a call that another process planned, with other cuts, would teach a wrong size.
          const last = isAnswerTo(found, list, answer) ? (told ?? asked?.steps[asked.at]) : undefined;
          const step = steps.at(-1) ?? last;
          if (answer !== undefined && step !== undefined) report(step, answer, list);
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

  /** Gives new stand-ins their model, hidden from comparisons of copies, and the newest message its time. Returns a new answer. */
  #describe(list, origin) {
    const fresh = list.filter((standIn) => !this.#described.has(standIn));
    for (const standIn of fresh) {
      this.#described.add(standIn);
      if (standIn.role === "assistant") hide(standIn, { ...origin, api: standIn.api ?? origin.api });
    }
    const newest = fresh.at(-1);
    if (newest !== undefined && newest === list.at(-1)) hide(newest, { timestamp: Date.now() });
    return fresh.findLast(({ role }) => role === "assistant");
  }
}

/** Gives the answer of a step its model, time and usage. */
function report(step, answer, list) {
  const { modelId, timestamp } = step.response ?? {};
  // The provider's clock can differ, so times never go back.
  const earlier = list.slice(0, list.indexOf(answer)).findLast(({ timestamp }) => timestamp !== undefined);
  const answeredAt = Math.max(earlier?.timestamp ?? 0, timestamp?.getTime?.() ?? 0);
  hide(answer, {
    provider: originOf(step.model).provider,
    model: modelId,
    timestamp: Math.min(answeredAt || Date.now(), Date.now()),
    usage: usageOf(step, answer),
  });
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

/** True for a provider that sends every part of a tool's result as text. DeepSeek's sends images from version 7 on. */
const sendsText = (model) =>
  /^(?!deepseek).*\.chat$/.test(model?.provider) && model.config?.supportsMultiPartToolContent !== true;

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
    messages: await pruner.edited(messages, { model, steps }),
  });
}

/** Pruners by their options object. Calls with the same object share one conversation state. */
const pruners = new WeakMap();
const DEFAULTS = {};

async function pruneForBudget(messages, options = DEFAULTS, call = {}) {
  if (!pruners.has(options)) pruners.set(options, new Pruner("pruneForBudget", options));
  const { model, usage, providerMetadata } = call;
  return pruners.get(options).edited(messages, { model, told: usage && { usage, providerMetadata } });
}

module.exports = { createPrepareStep, pruneForBudget };
