// `pi-strata/sessions`: managers and their stores, rolling memory, and the ways to and from pi's and OpenAI's messages.
"use strict";

const { fromAgentMessage, toAgentMessages } = require("./conversation.js");
const { ContextManager } = require("./manager.js");
const { fromOpenAIMessages, toOpenAIMessages } = require("./openai.js");
const { RollingMemory } = require("./rolling.js");
const { PostgresStore } = require("./store/postgres.js");
const { searchForm } = require("./store/sql.js");

module.exports = {
  ContextManager,
  PostgresStore,
  RollingMemory,
  searchForm,
  fromAgentMessage,
  toAgentMessages,
  fromOpenAIMessages,
  toOpenAIMessages,
};
