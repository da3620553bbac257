// Another program with a database of ours, for Nodes that have SQLite themselves: `node other-program.mjs FILE SQL`
// runs the SQL, says so, and keeps the file open until its input ends.
import { DatabaseSync } from "node:sqlite";

const [file, sql] = process.argv.slice(2);
const database = new DatabaseSync(file);
database.exec(sql);
process.stdout.write("done\n");
process.stdin.resume().once("end", () => database.close());
