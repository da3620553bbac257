// The public face of pi-strata. Each part is loaded when something of it is first used, the native addon with the
// first that needs it. An import reads three small files and takes 2.4 ms of processor time; with all of lib/ it would
// take 16 ms. That is what the proxies below are for.
"use strict";

const { hookOptions } = require("./lib/contract.js");
const { getContextWindow } = require("./lib/hook/options.js");

// Bundlers follow a `require` only where the file's name is written out.
const { countTokens, countTokensAsync, estimateTokens, fitsTokens, isWithinTokenLimit } = lateFunctions(() =>
  require("./lib/tools/count.js"),
);
const { encodingForModel, getEncoding, getEncodingNameForModel } = lateFunctions(() =>
  require("./lib/tokens/encoding.js"),
);
const { countChatTokens, encodeChat } = lateFunctions(() => require("./lib/tokens/chat.js"));
const { Tiktoken } = lateClasses(() => require("./lib/tokens/js-tiktoken/tiktoken.js"));
const { explain } = lateFunctions(() => require("./lib/tools/explain.js"));
const { ledger } = lateFunctions(() => require("./lib/tools/ledger.js"));
const { createContextGuard, guardContext, truncateToolResult } = lateFunctions(() =>
  require("./lib/tools/guard.js"),
);
const { createTransformContext, transformContext } = lateFunctions(() => require("./lib/hook/hook.js"));
const { status } = lateFunctions(() => require("./lib/native/native.js"));
const { fromOpenAIMessages, toOpenAIMessages } = lateFunctions(() => require("./lib/pipeline/openai.js"));
const { pipelineConfigFromEnv } = lateFunctions(() => require("./lib/pipeline/parts.js"));
const { createRecallTool } = lateFunctions(() => require("./lib/tools/recall.js"));
const { fromAgentMessage, toAgentMessages } = lateFunctions(() => require("./lib/sessions/conversation.js"));
const { repair, repairAsync, validate, validateAsync } = lateFunctions(() =>
  require("./lib/tools/validate.js"),
);
const { Pipeline, SimpleCompressor, StandardAssembler } = lateClasses(() =>
  require("./lib/pipeline/parts.js"),
);
const { SqliteProvider } = lateClasses(() => require("./lib/pipeline/provider.js"));
const { PostgresProvider } = lateClasses(() => require("./lib/pipeline/postgres.js"));
const { PostgresStore } = lateClasses(() => require("./lib/sessions/store/postgres.js"));
const { ContextManager } = lateClasses(() => require("./lib/sessions/manager.js"));
const { RollingMemory } = lateClasses(() => require("./lib/sessions/rolling.js"));

/** Functions of a module, by name, that load it when the first of them is called. */
function lateFunctions(load) {
  const late = (name) => {
    let found;
    const call = (...given) => {
      found ??= load()[name];
      return found(...given);
    };
    return Object.defineProperty(call, "name", { value: name });
  };
  return new Proxy({}, { get: (_, name) => late(name) });
}

/** Classes of a module, by name: whatever is done to one loads the module and is done to the class itself. */
function lateClasses(load) {
  // A proxy can be constructed only if its target can. A bound class can, and has no `prototype` property that the proxy
  // would have to report as its own.
  const target = class {}.bind();
  const late = (name) =>
    new Proxy(
      target,
      // The handler's own proxy answers for every trap alike.
      new Proxy(
        {},
        {
          get:
            (_, trap) =>
            (_target, ...given) =>
              Reflect[trap](load()[name], ...given),
        },
      ),
    );
  return new Proxy({}, { get: (_, name) => late(name) });
}

module.exports = {
  transformContext,
  createTransformContext,
  explain,
  ledger,
  countTokens,
  countTokensAsync,
  estimateTokens,
  fitsTokens,
  isWithinTokenLimit,
  countChatTokens,
  encodeChat,
  getEncoding,
  encodingForModel,
  getEncodingNameForModel,
  Tiktoken,
  getContextWindow,
  truncateToolResult,
  guardContext,
  createContextGuard,
  SqliteProvider,
  PostgresProvider,
  SimpleCompressor,
  StandardAssembler,
  Pipeline,
  pipelineConfigFromEnv,
  toOpenAIMessages,
  fromOpenAIMessages,
  createRecallTool,
  status,
  validate,
  validateAsync,
  repair,
  repairAsync,
  ContextManager,
  PostgresStore,
  RollingMemory,
  fromAgentMessage,
  toAgentMessages,
  KEEP_RECENT_TOOL_RESULTS: hookOptions.keepRecentToolResults.default,
  KEEP_RECENT_THINKING: hookOptions.keepRecentThinking.default,
  CONTEXT_RATIO: hookOptions.contextRatio.default,
  KEEP_RECENT_MESSAGES: hookOptions.keepRecentMessages.default,
  SUMMARY_HEAD_LINES: hookOptions.summaryHeadLines.default,
  SUMMARY_TAIL_LINES: hookOptions.summaryTailLines.default,
};
