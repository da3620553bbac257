// `pi-strata/sessions`: session managers, rolling memory, and the ways to and from pi's and OpenAI's messages.
"use strict";

const { fromAgentMessage, toAgentMessages } = require("./conversation.js");
const { ContextManager, createSharedContextManager } = require("./manager.js");
const { fromOpenAIMessages, toOpenAIMessages } = require("../shapes/openai_messages.js");
const { RollingMemory } = require("./rolling.js");

module.exports = {
  ContextManager,
  createSharedContextManager,
  RollingMemory,
  fromAgentMessage,
  toAgentMessages,
  fromOpenAIMessages,
  toOpenAIMessages,
};
