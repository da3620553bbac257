// A process that adds messages to a session of a database and prints which were acknowledged, until it is killed or done:
// `node session-writer.mjs FILE SESSION COUNT [MAX_MESSAGES]`.
import sessions from "pi-strata/sessions";
import { open } from "./sqlite.mjs";

const [file, session, count, maxMessages = "1000000"] = process.argv.slice(2);
const database = open(file, { timeoutMs: 20_000 });
const manager = new sessions.ContextManager({ database, maxMessages: Number(maxMessages) });
for (let number = 0; number < Number(count); number += 1) {
  manager.addMessage(session, { role: "user", content: `${process.pid} ${number}` });
  process.stdout.write(`${number}\n`);
}
database.close();
