// `pi-strata/pipeline`: a provider, a compressor and an assembler, one after the other; each can be the host's own.
"use strict";

const { Pipeline, SimpleCompressor, StandardAssembler, pipelineConfigFromEnv } = require("./parts.js");
const { PostgresProvider, SqliteProvider } = require("./history.js");

module.exports = {
  Pipeline,
  PostgresProvider,
  SimpleCompressor,
  SqliteProvider,
  StandardAssembler,
  pipelineConfigFromEnv,
};
