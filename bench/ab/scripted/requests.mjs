// What a request says in the two APIs that the scripted server speaks, as far as pi uses them.

/** By the name of the API. */
export const READERS = { "anthropic-messages": readAnthropic, "openai-completions": readOpenai };

/** The folder an agent of the experiment works in, as versions of pi tell it in one or another sentence. */
const FOLDER = /[^\s<>"']*session-\d+-\w+[\\/]work/;

/** `{ folder, pieces, text, results, tools, hasTools }`; `pieces` are what a cache compares, in order. */
function readAnthropic({ system, tools, messages }) {
  const results = new Map();
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const block of content) {
      if (block.type === "tool_result") results.set(block.tool_use_id, stringsIn(block.content).join("\n"));
    }
  }
  return requestOf(stringsIn(system ?? "").join("\n"), tools, messages, results);
}

function readOpenai({ tools, messages }) {
  const isSystem = ({ role }) => role === "system" || role === "developer";
  const results = new Map();
  for (const { role, tool_call_id: id, content } of messages) {
    if (role === "tool") results.set(id, stringsIn(content).join("\n"));
  }
  const system = messages.filter(isSystem).flatMap(({ content }) => stringsIn(content));
  const rest = messages.filter((message) => !isSystem(message));
  return requestOf(system.join("\n"), tools, rest, results);
}

function requestOf(system, tools, messages, results) {
  const uncontrolled = (key, value) => (key === "cache_control" ? undefined : value);
  const pieces = [
    JSON.stringify([system, tools ?? []], uncontrolled),
    ...messages.map((m) => JSON.stringify(m, uncontrolled)),
  ];
  const names = new Set((tools ?? []).map((tool) => tool.name ?? tool.function?.name));
  const hasTools = names.size > 0;
  const text = stringsIn(messages).join("\n");
  // A summary is asked for without the agent's prompt, and belongs to no folder.
  const folder = hasTools ? (FOLDER.exec(system) ?? FOLDER.exec(text))?.[0] : undefined;
  return { folder, pieces, text, results, tools: names, hasTools };
}

function stringsIn(value) {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
