// The contract's cases about changes: each does what it says, in order, once, and says truthfully what came of it.
import {
  append,
  clear,
  compress,
  fields,
  idsOf,
  load,
  message,
  one,
  remove,
  seqsOf,
  session,
} from "./contract-parts.mjs";

export const changes = [
  {
    name: "appends in order and numbers without a gap",
    run: async (store, _, assert) => {
      const [a, b] = [session("a"), session("b")];
      const outcomes = await store.apply([
        append(a, message("1"), message("2")),
        append(b, message("1")),
        append(a, message("3")),
      ]);
      assert.deepEqual(
        outcomes.map(({ applied, stamp }) => [applied, stamp.version, stamp.revision]),
        [
          [true, 1, 0],
          [true, 1, 0],
          [true, 2, 0],
        ],
      );
      assert.equal(outcomes[0].stamp.session, outcomes[2].stamp.session);
      assert.notEqual(outcomes[0].stamp.session, outcomes[1].stamp.session);
      const { messages, stamp, ...rest } = await load(store, a);
      assert.deepEqual(stamp, outcomes[2].stamp);
      assert.deepEqual(await store.stamp(a.namespace, a.key), stamp);
      assert.deepEqual(rest, { fields: {}, digest: "", compressions: 0, tokensSaved: 0 });
      const ids = messages.map(({ id, seq, place, isLive, isSummary, body }) => [
        id,
        seq,
        place,
        isLive,
        isSummary,
        body,
      ]);
      assert.deepEqual(
        ids,
        ["1", "2", "3"].map((id, i) => [id, i + 1, i + 1, true, false, message(id).body]),
      );
      assert.equal(await load(store, session("none")), undefined);
      assert.equal(await store.stamp("", "none"), undefined);
    },
  },
  {
    name: "stores an id once",
    run: async (store, _, assert) => {
      const a = session("a");
      await store.apply([append(a, message("1", "first"), message("2"))]);
      const again = await one(
        store,
        append(a, message("3"), message("1", "second"), message("3"), message("4")),
      );
      assert.equal(again.applied, true);
      const { messages } = await load(store, a);
      assert.deepEqual(
        messages.map(({ id, seq }) => [id, seq]),
        [
          ["1", 1],
          ["2", 2],
          ["3", 3],
          ["4", 4],
        ],
      );
      assert.equal(messages[0].body, message("1", "first").body);
      await one(store, append(session("b"), message("1")));
      assert.deepEqual(await seqsOf(store, session("b")), [1], "ids are of a session");
    },
  },
  {
    name: "times are of the store's clock and never fall",
    run: async (store, _, assert) => {
      const a = session("a");
      let before = 0;
      for (let i = 0; i < 5; i += 1) {
        const { stamp } = await one(store, append(a, message(`${i}`)));
        assert.ok(Number.isInteger(stamp.createdAt) && Number.isInteger(stamp.updatedAt));
        assert.ok(stamp.updatedAt >= before && stamp.updatedAt >= stamp.createdAt);
        before = stamp.updatedAt;
      }
      assert.ok(Math.abs(before - Date.now()) < 60_000, "on one machine the clocks agree");
    },
  },
  {
    name: "fields change one by one, the prompt beside them",
    run: async (store, _, assert) => {
      const a = session("a");
      await store.apply([fields(a, { fields: { goal: '"g"', planId: '"p"', "odd \\ name'": '"\\u0000"' } })]);
      await store.apply([
        fields(a, { fields: { goal: null, none: null, more: "{}" }, prompt: "You are A." }),
      ]);
      const stored = await load(store, a);
      assert.deepEqual({ ...stored.fields }, { planId: '"p"', "odd \\ name'": '"\\u0000"', more: "{}" });
      assert.equal(stored.prompt, "You are A.");
      assert.equal(stored.stamp.version, 2);
      const kept = await one(store, fields(a, { prompt: "You are B.", promptIfAbsent: true }));
      assert.deepEqual([kept.applied, kept.prompt], [true, "You are A."]);
      await store.apply([fields(a, { prompt: "You are C." })]);
      assert.equal((await load(store, a)).prompt, "You are C.");
      const first = await one(store, fields(session("b"), { prompt: "You are B.", promptIfAbsent: true }));
      assert.equal(first.prompt, "You are B.");
      assert.equal((await load(store, session("b"))).prompt, "You are B.");
    },
  },
  {
    name: "a summary takes the place of the last message it replaces",
    run: async (store, _, assert) => {
      const a = session("a");
      const { stamp } = await one(store, append(a, ...["1", "2", "3", "4"].map((id) => message(id))));
      const done = await one(store, compress(a, stamp, ["2", "3", "none"]));
      assert.equal(done.applied, true);
      assert.deepEqual([done.stamp.version, done.stamp.revision], [stamp.version + 1, stamp.revision + 1]);
      const stored = await load(store, a);
      assert.deepEqual(idsOf(stored), ["1", "summary", "4"]);
      const summary = stored.messages[1];
      assert.deepEqual([summary.seq, summary.place, summary.isSummary, summary.isLive], [5, 3, true, true]);
      assert.deepEqual([stored.digest, stored.compressions, stored.tokensSaved], ["digest summary", 1, 5]);
      const more = await one(store, append(a, message("5")));
      assert.equal((await seqsOf(store, a)).at(-1), 6);
      await store.apply([{ ...compress(a, more.stamp, ["1", "summary"], "second"), forget: true }]);
      const again = await load(store, a);
      assert.deepEqual(idsOf(again), ["second", "4", "5"]);
      assert.deepEqual([again.digest, again.compressions, again.tokensSaved], ["digest second", 2, 10]);
      const all = await store.read(a.namespace, a.key, { limit: 100 });
      const left = all
        .filter(({ id }) => ["1", "2", "3", "summary"].includes(id))
        .map(({ id, isLive }) => [id, isLive]);
      assert.deepEqual(
        left,
        [
          ["2", false],
          ["3", false],
        ],
        "what is to be forgotten is deleted, the rest let go",
      );
    },
  },
  {
    name: "compares before it swaps",
    run: async (store, _, assert) => {
      const a = session("a");
      const { stamp } = await one(store, append(a, message("1"), message("2"), message("3")));
      await store.apply([compress(a, stamp, ["1"], "winner")]);
      const late = await one(store, compress(a, stamp, ["1", "2"], "loser"));
      assert.equal(late.applied, false);
      assert.deepEqual(late.stamp, await store.stamp(a.namespace, a.key));
      assert.deepEqual(idsOf(await load(store, a)), ["winner", "2", "3"]);
      assert.deepEqual(await one(store, compress(session("none"), stamp, [])), { applied: false });
      // The successor of a cleared session is another one, though its revision is the same.
      await store.apply([clear(a), append(a, message("1"))]);
      const stale = await one(store, compress(a, stamp, ["1"], "stale"));
      assert.equal(stale.applied, false);
      assert.deepEqual(idsOf(await load(store, a)), ["1"]);
    },
  },
  {
    name: "deleted messages are gone, with their words",
    run: async (store, _, assert) => {
      const a = session("a");
      const { stamp } = await one(
        store,
        append(a, message("1", "card 4111"), message("2", "card 4222"), message("3")),
      );
      const done = await one(store, remove(a, "1", "none"));
      assert.equal(done.applied, true);
      assert.deepEqual([done.stamp.version, done.stamp.revision], [stamp.version + 1, stamp.revision + 1]);
      assert.deepEqual(idsOf(await load(store, a)), ["2", "3"]);
      const hits = await store.search({ namespace: "", phrases: ["card"], limit: 9 });
      assert.deepEqual(
        hits.map(({ id }) => id),
        ["2"],
      );
      await one(store, append(a, message("4")));
      assert.deepEqual(await seqsOf(store, a), [2, 3, 4], "its number is not given again");
      assert.deepEqual(await one(store, remove(session("none"), "1")), { applied: false });
      assert.equal(await load(store, session("none")), undefined);
    },
  },
  {
    name: "a cleared session never comes back",
    run: async (store, _, assert) => {
      const a = session("a");
      const { stamp } = await one(store, append(a, message("1", "card 4111")));
      await store.apply([fields(a, { prompt: "You are A.", fields: { goal: '"g"' } })]);
      assert.deepEqual(await one(store, clear(a)), { applied: true });
      assert.equal(await load(store, a), undefined);
      assert.deepEqual(await store.read(a.namespace, a.key, { limit: 9 }), []);
      assert.deepEqual((await store.list({ namespace: "", order: "created", limit: 9 })).sessions, []);
      assert.deepEqual(await one(store, clear(a)), { applied: false });
      const [, second] = await store.apply([clear(a), append(a, message("1", "hello"))]);
      assert.notEqual(second.stamp.session, stamp.session);
      assert.equal(second.stamp.version, 1);
      assert.deepEqual(await seqsOf(store, a), [1]);
      await store.apply([append(a, message("2")), clear(a), append(a, message("3"))]);
      const stored = await load(store, a);
      assert.deepEqual(idsOf(stored), ["3"]);
      assert.deepEqual([stored.prompt, { ...stored.fields }], [undefined, {}]);
      assert.deepEqual(await store.search({ namespace: "", phrases: ["card"], limit: 9 }), []);
    },
  },
  {
    name: "commits all operations or none",
    run: async (store, _, assert) => {
      const a = session("a");
      await assert.rejects(store.apply([append(a, message("1")), { ...a, kind: "no such change" }]));
      assert.equal(await load(store, a), undefined);
      assert.deepEqual(await store.apply([]), []);
      await one(store, append(a, message("1")));
      assert.deepEqual(await seqsOf(store, a), [1]);
    },
  },
  {
    name: "many changes of many sessions in one call",
    run: async (store, _, assert) => {
      const operations = [];
      for (let i = 0; i < 600; i += 1) {
        const where = session(`s ${i % 7}`);
        operations.push(
          i % 11 === 0 ? fields(where, { fields: { i: `${i}` } }) : append(where, message(`${i}`)),
        );
      }
      const outcomes = await store.apply(operations);
      for (let s = 0; s < 7; s += 1) {
        const mine = outcomes.filter((_outcome, i) => i % 7 === s);
        assert.deepEqual(
          mine.map(({ stamp }) => stamp.version),
          mine.map((_outcome, i) => i + 1),
        );
        const stored = await load(store, session(`s ${s}`));
        const expected = operations.filter(({ kind }, i) => i % 7 === s && kind === "append");
        assert.deepEqual(
          idsOf(stored),
          expected.map(({ messages }) => messages[0].id),
        );
        assert.deepEqual(stored.stamp, mine.at(-1).stamp);
      }
    },
  },
  {
    name: "keys, bodies and words of any kind",
    run: async (store, _, assert) => {
      const names = [
        "",
        " ",
        "a\0b",
        "\ud800",
        "😀",
        "'; DROP TABLE messages; --",
        "%_\\",
        '"',
        "{}",
        "x".repeat(1_000_000),
      ];
      for (const [i, name] of names.entries()) {
        const text = `${name.slice(0, 100)} {"a",\\b\\} NULL \\x00 'quoted' $1 😀`;
        await store.apply([
          append(session(name), message(`${i} ${JSON.stringify(name).slice(0, 50)}`, text)),
        ]);
      }
      for (const [i, name] of names.entries()) {
        const stored = await load(store, session(name));
        assert.deepEqual(idsOf(stored), [`${i} ${JSON.stringify(name).slice(0, 50)}`]);
        assert.ok(JSON.parse(stored.messages[0].body).content.startsWith(name.slice(0, 100)));
      }
      const { sessions } = await store.list({ namespace: "", order: "created", limit: 100 });
      assert.deepEqual(
        sessions.map(({ key }) => JSON.parse(key)),
        names,
      );
      const long = message("long", "words and words ".repeat(100_000));
      await store.apply([append(session("long"), long)]);
      assert.equal((await load(store, session("long"))).messages[0].body, long.body);
    },
  },
];
