// A worker that keeps its own history: task in, history, compress, assemble, an OpenAI-shaped request, the answer
// stored. Runnable as it is: `node examples/pipeline-worker.mjs`. The model is a function here; yours is one `fetch`. With
// `new PostgresProvider({ pool })` the history is in Postgres, for as many workers as you start.
import Database from "better-sqlite3";
import {
  Pipeline,
  pipelineConfigFromEnv,
  SimpleCompressor,
  SqliteProvider,
  StandardAssembler,
} from "pi-strata/pipeline";
import { toOpenAIMessages } from "pi-strata/sessions";

const SYSTEM = "You are a helpful assistant in a chat.";
const db = new Database(":memory:"); // your own database and table
db.exec(`CREATE TABLE history(id INTEGER PRIMARY KEY, chat_id INTEGER, role TEXT, text TEXT, extra TEXT,
  created_at TEXT DEFAULT CURRENT_TIMESTAMP)`);
const provider = new SqliteProvider({ db });
const config = pipelineConfigFromEnv();
const pipeline = new Pipeline({
  provider,
  compressor: new SimpleCompressor(config),
  assembler: new StandardAssembler(),
});

/** Stands for the request to a model. */
async function model({ messages }) {
  return {
    choices: [{ message: { role: "assistant", content: `I was sent ${messages.length} messages.` } }],
  };
}

async function work({ chatId, text }) {
  const messages = await pipeline.prepare(chatId, SYSTEM, text);
  const { choices } = await model({ model: "any", messages: toOpenAIMessages(messages) });
  const answer = choices[0].message.content;
  await Promise.all([
    provider.append(chatId, { role: "user", content: text }),
    provider.append(chatId, { role: "assistant", content: answer }),
  ]);
  return answer;
}

console.log(`at most ${config.maxMessages} messages of at most ${config.maxCharsPerMessage} characters`);
for (let i = 1; i <= 9; i += 1) {
  const text = i === 8 ? `Task ${i}: ${"a long log ".repeat(1_000)}` : `Task ${i}`;
  console.log(`${text.slice(0, 30)} → ${await work({ chatId: 42, text })}`);
}
const newest = await provider.getHistory(42, 4);
for (const { role, content } of newest) console.log(`stored: ${role}: ${content.slice(0, 40)}`);
const [cuts] = db
  .prepare("SELECT count(*) AS turns FROM events WHERE event_type = 'context.compressed'")
  .all();
console.log(`turns that were cut: ${cuts.turns}`);
