// The contract's cases about reading: pages, lists, searches, exports coming back, and what is forgotten by age.
import { append, clear, compress, idsOf, load, message, one, session } from "./contract-parts.mjs";

const seqsOf = (messages) => messages.map(({ seq }) => seq);

/** All pages of a list, one after the other. */
async function pages(store, query, between = () => {}) {
  const found = [];
  for (let cursor; ; ) {
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) });
    found.push(...page.sessions.map(({ key }) => JSON.parse(key)));
    if (page.cursor === undefined) return found;
    cursor = page.cursor;
    await between();
  }
}

export const reading = [
  {
    name: "reads pages in the order of appending",
    run: async (store, _, assert) => {
      const a = session("a");
      await store.apply([append(a, ...Array.from({ length: 25 }, (_message, i) => message(`${i + 1}`)))]);
      const read = (page) => store.read(a.namespace, a.key, page);
      assert.deepEqual(seqsOf(await read({ limit: 3 })), [1, 2, 3]);
      assert.deepEqual(seqsOf(await read({ after: 23, limit: 9 })), [24, 25]);
      assert.deepEqual(await read({ after: 25, limit: 9 }), []);
      assert.deepEqual(await store.read("", "none", { limit: 9 }), []);
    },
  },
  {
    name: "namespaces never see each other",
    run: async (store, _, assert) => {
      const [a, b] = [session("same", "tenant a"), session("same", "tenant b")];
      await store.apply([append(a, message("1", "secret of a")), append(b, message("1", "of b"))]);
      await store.apply([clear(b), append(b, message("2", "of b"))]);
      assert.deepEqual(idsOf(await load(store, a)), ["1"]);
      assert.deepEqual(idsOf(await load(store, b)), ["2"]);
      assert.equal(await load(store, session("same")), undefined);
      assert.deepEqual(await store.search({ namespace: "tenant b", phrases: ["secret"], limit: 9 }), []);
      const key = a.key;
      assert.deepEqual(await store.search({ namespace: "tenant b", key, phrases: ["secret"], limit: 9 }), []);
      assert.equal(
        (await store.search({ namespace: "tenant a", key, phrases: ["secret"], limit: 9 })).length,
        1,
      );
      assert.deepEqual(await pages(store, { namespace: "tenant a", order: "created", limit: 9 }), ["same"]);
      assert.deepEqual(await store.prune("tenant b", Date.now() + 60_000), { sessions: 1, messages: 1 });
      assert.deepEqual(idsOf(await load(store, a)), ["1"]);
    },
  },
  {
    name: "lists each session once, by its making or its last change",
    run: async (store, _, assert) => {
      const names = Array.from({ length: 7 }, (_name, i) => `s ${i}`);
      for (const name of names) await store.apply([append(session(name), message("1"), message("2"))]);
      const created = { namespace: "", order: "created", limit: 3 };
      assert.deepEqual(await pages(store, created), names);
      const change = () => store.apply([append(session("s 0"), message(`${Math.random()}`))]);
      assert.deepEqual(await pages(store, created, change), names, "whatever changes meanwhile");
      await new Promise((resolve) => setTimeout(resolve, 5));
      await store.apply([append(session("s 3"), message("3"))]);
      const updated = await pages(store, { namespace: "", order: "updated", limit: 2 });
      assert.equal(updated[0], "s 3");
      assert.deepEqual(updated.toSorted(), names);
      const { sessions } = await store.list({ namespace: "", order: "updated", limit: 1 });
      assert.equal(sessions[0].messages, 3);
      assert.deepEqual({ ...sessions[0].fields }, {});
      assert.ok(sessions[0].updatedAt > sessions[0].createdAt);
      for (const cursor of ["", "nonsense", "e30"]) {
        await assert.rejects(store.list({ ...created, cursor }), { code: "ERR_BAD_CURSOR" });
      }
    },
  },
  {
    name: "finds phrases by their words, in English and in Chinese",
    run: async (store, _, assert) => {
      const [a, b] = [session("a"), session("b")];
      await store.apply([
        append(a, message("1", "Fix the Café's login-bug"), message("2", "请修复数据库连接超时")),
      ]);
      await store.apply([append(b, message("3", "100% of the login pages"), message("4", "数据 库"))]);
      const found = async (phrases, more) => {
        const hits = await store.search({ namespace: "", phrases, limit: 9, ...more });
        return hits.map(({ id }) => id);
      };
      assert.deepEqual(await found(["login"]), ["3", "1"], "the newest first");
      assert.deepEqual(await found(["login"], { limit: 1 }), ["3"]);
      assert.deepEqual(await found(["login"], { key: a.key }), ["1"]);
      assert.deepEqual(await found(["log"]), ["3", "1"], "the last word is a beginning");
      assert.deepEqual(await found(["login bu"]), ["1"]);
      assert.deepEqual(await found(["ogin"]), []);
      assert.deepEqual(await found(["cafe"]), ["1"]);
      assert.deepEqual(await found(["数 据 库 连"]), ["2"]);
      assert.deepEqual(await found(["据 库"]), ["4", "2"]);
      assert.deepEqual(await found(["修 复", "超 时"]), ["2"]);
      assert.deepEqual(await found(["login", "数 据"]), []);
      assert.deepEqual(await found([]), []);
      const [hit] = await store.search({ namespace: "", phrases: ["cafe"], limit: 1 });
      assert.deepEqual(hit, {
        key: a.key,
        id: "1",
        body: message("1", "Fix the Café's login-bug").body,
        isLive: true,
      });
    },
  },
  {
    name: "finds what was let go, but no summary",
    run: async (store, _, assert) => {
      const a = session("a");
      const { stamp } = await one(store, append(a, message("1", "an old word"), message("2")));
      await store.apply([compress(a, stamp, ["1"])]);
      const old = await store.search({ namespace: "", phrases: ["old"], limit: 9 });
      assert.deepEqual(
        old.map(({ id, isLive }) => [id, isLive]),
        [["1", false]],
      );
      assert.deepEqual(await store.search({ namespace: "", phrases: ["summary"], limit: 9 }), []);
    },
  },
  {
    name: "takes back what was exported, and nothing over what is there",
    run: async (store, _, assert) => {
      const a = session("a");
      const state = { prompt: "P", fields: { goal: '"g"' }, digest: "d", compressions: 2, tokensSaved: 7 };
      const messages = [
        { ...message("1"), seq: 3, place: 3, isLive: false, isSummary: false },
        { ...message("s"), text: "", seq: 9, place: 3, isLive: true, isSummary: true },
        { ...message("2"), seq: 4, place: 4, isLive: true, isSummary: false },
      ];
      const done = await one(store, { ...a, kind: "import", state, messages });
      assert.equal(done.applied, true);
      const { stamp, messages: kept, ...rest } = await load(store, a);
      assert.deepEqual(stamp, done.stamp);
      assert.deepEqual({ ...rest, fields: { ...rest.fields } }, state);
      assert.deepEqual(idsOf({ messages: kept }), ["s", "2"]);
      await one(store, append(a, message("3")));
      assert.equal((await load(store, a)).messages.at(-1).seq, 10);
      const refused = await one(store, { ...a, kind: "import", state, messages: [] });
      assert.equal(refused.applied, false);
      assert.equal(refused.stamp.session, stamp.session);
      assert.deepEqual(idsOf(await load(store, a)), ["s", "2", "3"]);
    },
  },
  {
    name: "forgets by age, and keeps what a session still keeps",
    run: async (store, _, assert) => {
      const [old, kept] = [session("old"), session("kept")];
      await store.apply([append(old, message("1", "old words"), message("2"))]);
      const { stamp } = await one(store, append(kept, message("1", "kept words"), message("2")));
      const { stamp: now } = await one(store, compress(kept, stamp, ["1"]));
      assert.deepEqual(await store.prune("", stamp.createdAt - 60_000), { sessions: 0, messages: 0 });
      await new Promise((resolve) => setTimeout(resolve, 10));
      await store.apply([append(kept, message("3"))]);
      const between = now.updatedAt + 5;
      assert.deepEqual(await store.prune("", between), { sessions: 1, messages: 3 });
      assert.equal(await load(store, old), undefined);
      assert.deepEqual(idsOf(await load(store, kept)), ["summary", "2", "3"]);
      assert.deepEqual(await store.search({ namespace: "", phrases: ["words"], limit: 9 }), []);
    },
  },
];
