// The public face of pi-strata. Importing it loads nothing native; see lib/ for the parts.
"use strict";

const { countTokens, countTokensAsync, estimateTokens, fitsTokens } = require("./lib/count.js");
const { getEncoding } = require("./lib/encoding.js");
const { explain } = require("./lib/explain.js");
const { createContextGuard, guardContext, truncateToolResult } = require("./lib/guard.js");
const { createTransformContext, transformContext } = require("./lib/hook.js");
const { status } = require("./lib/native.js");
const { fromOpenAIMessages, toOpenAIMessages } = require("./lib/pipeline/openai.js");
const {
  Pipeline,
  pipelineConfigFromEnv,
  SimpleCompressor,
  StandardAssembler,
} = require("./lib/pipeline/parts.js");
const { SqliteProvider } = require("./lib/pipeline/provider.js");
const { createRecallTool } = require("./lib/recall.js");
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
  estimateTokens,
  fitsTokens,
  getEncoding,
  getContextWindow,
  truncateToolResult,
  guardContext,
  createContextGuard,
  SqliteProvider,
  SimpleCompressor,
  StandardAssembler,
  Pipeline,
  pipelineConfigFromEnv,
  toOpenAIMessages,
  fromOpenAIMessages,
  createRecallTool,
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
