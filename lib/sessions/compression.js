// Makes the summary of what a session lets go: by the host's summariser, else by rules. The rules' digest is kept up
// to date in either case, so that a later summary by rules knows everything; summaries never nest.
"use strict";

const { countTokensAsync } = require("../count.js");
const { native } = require("../native.js");
const { SUMMARY_LABEL, readCall } = require("./conversation.js");
const { sessionPrompt } = require("./prompts.js");
const { callSummarizer } = require("./summarizer.js");
const { countable, summaryEntry } = require("./session.js");
const { clip } = require("./text.js");

/** Text in a summariser's prompt, all messages together. Units; about 25 000 tokens at most. */
const PROMPT_UNITS = 100_000;
/** Longest summary taken from a summariser, units; 500 tokens were asked for. */
const SUMMARY_UNITS = 8000;
const LABELS = new RegExp(`^(\\s*${SUMMARY_LABEL.replace(/[[\]]/g, "\\$&")})+`);

/** The summary that replaces `middle`, who made it, the session's digest from now on, and the tokens it saves. */
async function summarise({ digest }, middle, summarize, timeoutMs) {
  const messages = middle.map((entry) => entry.message);
  const fresh = middle.filter((entry) => !entry.isSummary).map((entry) => entry.message);
  const prompt = summarize === undefined ? "" : sessionPrompt(messages, PROMPT_UNITS);
  const answer = await callSummarizer(summarize, messages, prompt, { timeoutMs });
  const text = clip(answer?.replace(LABELS, "").trim() ?? "", SUMMARY_UNITS);
  const rules = await native().digestSession(digest, text === "" ? undefined : text, fresh.map(letGo));
  const summary = summaryEntry(text === "" ? rules.text : text);
  const tokensBefore = await countTokensAsync(messages.map(countable));
  const tokensSaved = Math.max(0, tokensBefore - (await countTokensAsync(countable(summary.message))));
  return { summary, by: text === "" ? "rules" : "ai", digest: rules.state, tokensSaved };
}

function letGo({ role, content, toolCalls = [], toolCallId, isError }) {
  return { role, text: content, calls: toolCalls.map(readCall), callId: toolCallId, isError };
}

module.exports = { summarise };
