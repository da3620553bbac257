// The public face of pi-strata. Importing it loads nothing native; see lib/ for the parts.
"use strict";

const { countTokens, countTokensAsync, fitsTokens } = require("./lib/count.js");
const { getEncoding } = require("./lib/encoding.js");
const { explain } = require("./lib/explain.js");
const { createTransformContext, transformContext } = require("./lib/hook.js");
const { status } = require("./lib/native.js");
const {
  KEEP_RECENT_TOOL_RESULTS,
  KEEP_RECENT_THINKING,
  CONTEXT_RATIO,
  KEEP_RECENT_MESSAGES,
  SUMMARY_HEAD_LINES,
  SUMMARY_TAIL_LINES,
  getContextWindow,
} = require("./lib/options.js");
const { fromAgentMessage, toAgentMessages } = require("./lib/sessions/conversation.js");
const { ContextManager } = require("./lib/sessions/manager.js");
const { RollingMemory } = require("./lib/sessions/rolling.js");
const { repair, validate } = require("./lib/validate.js");

module.exports = {
  transformContext,
  createTransformContext,
  explain,
  countTokens,
  countTokensAsync,
  fitsTokens,
  getEncoding,
  getContextWindow,
  status,
  validate,
  repair,
  ContextManager,
  RollingMemory,
  fromAgentMessage,
  toAgentMessages,
  KEEP_RECENT_TOOL_RESULTS,
  KEEP_RECENT_THINKING,
  CONTEXT_RATIO,
  KEEP_RECENT_MESSAGES,
  SUMMARY_HEAD_LINES,
  SUMMARY_TAIL_LINES,
};
