// A process that appends numbered messages to a history, one by one, and says when each is stored.
import pipeline from "pi-strata/pipeline";

const [file, count] = process.argv.slice(2);
const provider = new pipeline.SqliteProvider(file);
for (let i = 1; i <= Number(count); i += 1) {
  await provider.append(1, { role: "user", content: `message ${i}` });
  process.send(i);
}
await provider.close();
process.disconnect();
