// `pi-strata/sessions`: session managers, rolling memory, and the ways to and from pi's and OpenAI's messages.
"use strict";

exports.ContextManager = require("./manager.js").ContextManager;
exports.createSharedContextManager = require("./manager.js").createSharedContextManager;
exports.RollingMemory = require("./rolling.js").RollingMemory;
exports.fromAgentMessage = require("./conversation.js").fromAgentMessage;
exports.toAgentMessages = require("./conversation.js").toAgentMessages;
exports.fromOpenAIMessages = require("../shapes/openai_messages.js").fromOpenAIMessages;
exports.toOpenAIMessages = require("../shapes/openai_messages.js").toOpenAIMessages;
