// A process that appends numbered messages to sessions in Postgres and says which were acknowledged: "ok N", "no N" for a
// rejected one and "? N" where the store could not tell.
import { createRequire } from "node:module";

const { PostgresStore } = createRequire(import.meta.url)("../../lib/sessions/store/postgres.js");

const [url, name, count, batch = "1"] = process.argv.slice(2);
const store = new PostgresStore({ connectionString: url, poolSize: 2, retryMs: 60_000 });
await store.open(() => {});
for (let n = 0; n < Number(count); n += Number(batch)) {
  const messages = Array.from({ length: Number(batch) }, (_, i) => ({
    id: `${name} ${n + i}`,
    body: "{}",
    text: `message ${n + i}`,
  }));
  const said = await store.apply([{ namespace: "", key: `"${name}"`, kind: "append", messages }]).then(
    () => "ok",
    (error) => (error.code === "ERR_STORE_UNCERTAIN" ? "?" : "no"),
  );
  process.send(`${said} ${n}`);
}
await store.close();
process.disconnect();
