// One contender in its own process: `cold.mjs CONTENDER CORPUS SESSION [ENCODING]` prints, as JSON, the time from its import to its
// first count, the speed of its first sight of a corpus, and the resident memory all that added.

import { load } from "./contenders.mjs";
import { corpora } from "./corpora.mjs";

const [name, corpusName, session, encoding] = process.argv.slice(2);
const corpus = corpora(session).find((known) => known.name === corpusName);
const rssBefore = process.memoryUsage.rss();
const start = performance.now();
const count = await load(name, encoding);
count("Hello, world");
const loaded = performance.now();
for (const text of corpus.texts) count(text);
const seconds = (performance.now() - loaded) / 1e3;
const figures = {
  mbps: corpus.bytes / 1e6 / seconds,
  loadMs: loaded - start,
  rssMb: (process.memoryUsage.rss() - rssBefore) / 1e6,
};
console.log(JSON.stringify(figures));
