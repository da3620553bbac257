// A process that adds messages to a session of a file and says which were acknowledged, until it is killed or done:
// `node session-writer.mjs FILE SESSION COUNT`.
import sessions from "pi-strata/sessions";

const [file, session, count] = process.argv.slice(2);
const manager = new sessions.ContextManager({ store: file, maxMessages: 1_000_000 });
for (let number = 0; number < Number(count); number += 1) {
  await manager.addMessage(session, { role: "user", content: `${process.pid} ${number}` });
  process.stdout.write(`${number}\n`);
}
await manager.close();
