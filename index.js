// The root of pi-strata: the hook, explain, counting, recall, validate and repair, status. A function loads its file when it
// is called: importing takes 1.4 ms of processor time, with all those files it would take 15 ms. Sessions, the pipeline, the
// guard, the ledger and encodings have paths of their own.
"use strict";

require("./lib/native/floor.js");
const { hookOptions } = require("./contract.json");

exports.transformContext = (...given) => require("./lib/hook/hook.js").transformContext(...given);
exports.createTransformContext = (options) => require("./lib/hook/hook.js").createTransformContext(options);
exports.getContextWindow = (model) => require("./lib/hook/options.js").getContextWindow(model);
exports.explain = (...given) => require("./lib/tools/explain.js").explain(...given);

exports.countTokens = (...given) => require("./lib/tools/count.js").countTokens(...given);
exports.countTokensAsync = (...given) => require("./lib/tools/count.js").countTokensAsync(...given);
exports.estimateTokens = (...given) => require("./lib/guard/index.js").estimateTokens(...given);
exports.isWithinTokenLimit = (...given) => require("./lib/tools/count.js").isWithinTokenLimit(...given);

exports.createRecallTool = (messages) => require("./lib/tools/recall.js").createRecallTool(messages);
exports.validate = (...given) => require("./lib/tools/validate.js").validate(...given);
exports.repair = (...given) => require("./lib/tools/validate.js").repair(...given);
exports.status = () => require("./lib/native/native.js").status();

exports.KEEP_RECENT_TOOL_RESULTS = hookOptions.keepRecentToolResults.default;
exports.KEEP_RECENT_THINKING = hookOptions.keepRecentThinking.default;
exports.CONTEXT_RATIO = hookOptions.contextRatio.default;
exports.KEEP_RECENT_MESSAGES = hookOptions.keepRecentMessages.default;
exports.SUMMARY_HEAD_LINES = hookOptions.summaryHeadLines.default;
exports.SUMMARY_TAIL_LINES = hookOptions.summaryTailLines.default;
