// The root of pi-strata: the hook, explain, counting, recall, validate and repair, status. A function loads its file when it
// is called: importing takes 1.4 ms of processor time, with all those files it would take 15 ms. Sessions, the pipeline, the
// guard, the ledger and encodings have paths of their own.
"use strict";

require("./lib/native/floor.js");
const { hookOptions } = require("./contract.json");

const KEEP_RECENT_TOOL_RESULTS = hookOptions.keepRecentToolResults.default;
const KEEP_RECENT_THINKING = hookOptions.keepRecentThinking.default;
const CONTEXT_RATIO = hookOptions.contextRatio.default;
const KEEP_RECENT_MESSAGES = hookOptions.keepRecentMessages.default;
const SUMMARY_HEAD_LINES = hookOptions.summaryHeadLines.default;
const SUMMARY_TAIL_LINES = hookOptions.summaryTailLines.default;

const transformContext = (...given) => require("./lib/hook/hook.js").transformContext(...given);
const createTransformContext = (options) => require("./lib/hook/hook.js").createTransformContext(options);
const getContextWindow = (model) => require("./lib/hook/options.js").getContextWindow(model);
const explain = (...given) => require("./lib/tools/explain.js").explain(...given);

const countTokens = (...given) => require("./lib/tools/count.js").countTokens(...given);
const countTokensAsync = (...given) => require("./lib/tools/count.js").countTokensAsync(...given);
const estimateTokens = (...given) => require("./lib/guard/index.js").estimateTokens(...given);
const isWithinTokenLimit = (...given) => require("./lib/tools/count.js").isWithinTokenLimit(...given);

const createRecallTool = (messages) => require("./lib/tools/recall.js").createRecallTool(messages);
const validate = (...given) => require("./lib/tools/validate.js").validate(...given);
const repair = (...given) => require("./lib/tools/validate.js").repair(...given);
const status = () => require("./lib/native/native.js").status();

module.exports = {
  transformContext,
  createTransformContext,
  getContextWindow,
  explain,
  countTokens,
  countTokensAsync,
  estimateTokens,
  isWithinTokenLimit,
  createRecallTool,
  validate,
  repair,
  status,
  KEEP_RECENT_TOOL_RESULTS,
  KEEP_RECENT_THINKING,
  CONTEXT_RATIO,
  KEEP_RECENT_MESSAGES,
  SUMMARY_HEAD_LINES,
  SUMMARY_TAIL_LINES,
};
