// The contract's cases about more than one store object on one place: one after the other, and at the same time.
import { append, clear, compress, fields, idsOf, load, message, one, session } from "./contract-parts.mjs";

const keeping = [
  {
    name: "gives back to the next what it acknowledged",
    run: async (store, another, assert) => {
      const [a, b] = [session("a"), session("b")];
      const { stamp } = await one(store, append(a, message("1"), message("2")));
      await store.apply([fields(a, { prompt: "P", fields: { goal: '"g"' } }), append(b, message("1"))]);
      await store.apply([compress(a, stamp, ["1"]), clear(b)]);
      const before = await load(store, a);
      await store.close();
      const next = await another();
      assert.deepEqual(await load(next, a), before);
      assert.equal(await load(next, b), undefined);
    },
  },
  {
    name: "closes once what is under way is done, and does nothing afterwards",
    run: async (store, another, assert) => {
      const a = session("a");
      const writing = Array.from({ length: 20 }, (_, i) =>
        store.apply([append(session(`${i}`), message("1"))]),
      );
      const outcomes = Promise.allSettled(writing);
      await store.close();
      await store.close();
      const stored = (await outcomes).map(({ status }) => status === "fulfilled");
      await assert.rejects(store.apply([append(a, message("1"))]), { code: "ERR_DATABASE_CLOSED" });
      await assert.rejects(load(store, a), { code: "ERR_DATABASE_CLOSED" });
      const next = await another();
      for (const [i, isStored] of stored.entries()) {
        assert.equal(
          (await load(next, session(`${i}`))) !== undefined,
          isStored,
          "resolved is stored, rejected is not",
        );
      }
    },
  },
];

const shared = [
  {
    name: "two that append to one session lose nothing and number without a gap",
    run: async (store, another, assert) => {
      const stores = [store, await another(), await another()];
      const a = session("a");
      const writer = async (mine, name) => {
        for (let i = 0; i < 25; i += 1) await one(mine, append(a, message(`${name} ${i}`)));
      };
      await Promise.all(stores.map(writer));
      const stored = await load(stores[1], a);
      for (const name of [0, 1, 2]) {
        assert.deepEqual(
          idsOf(stored).filter((id) => id.startsWith(`${name} `)),
          Array.from({ length: 25 }, (_, i) => `${name} ${i}`),
          "each in its own order",
        );
      }
      assert.deepEqual(
        stored.messages.map(({ seq }) => seq),
        Array.from({ length: 75 }, (_, i) => i + 1),
      );
      assert.equal(stored.stamp.version, 75);
    },
  },
  {
    name: "of two that compress at once one does",
    run: async (store, another, assert) => {
      const stores = [store, await another(), await another()];
      const a = session("a");
      for (let round = 0; round < 10; round += 1) {
        const { stamp } = await one(store, append(a, message(`${round}`)));
        const tries = stores.map((mine, i) =>
          one(mine, compress(a, stamp, [`${round}`], `${round} by ${i}`)),
        );
        const done = await Promise.all(tries);
        assert.equal(done.filter(({ applied }) => applied).length, 1);
      }
      const stored = await load(store, a);
      assert.deepEqual([stored.compressions, stored.messages.length, stored.stamp.revision], [10, 10, 10]);
    },
  },
  {
    name: "what two set at once is set both, and one prompt holds",
    run: async (store, another, assert) => {
      const stores = [store, await another()];
      const a = session("a");
      const outcomes = await Promise.all(
        stores.flatMap((mine, i) => [
          one(mine, fields(a, { fields: { [`by ${i}`]: "1" } })),
          one(mine, fields(session("b"), { prompt: `P ${i}`, promptIfAbsent: true })),
        ]),
      );
      assert.deepEqual({ ...(await load(store, a)).fields }, { "by 0": "1", "by 1": "1" });
      const { prompt } = await load(store, session("b"));
      assert.deepEqual([outcomes[1].prompt, outcomes[3].prompt], [prompt, prompt]);
    },
  },
  {
    name: "what one clears another cannot bring back",
    run: async (store, another, assert) => {
      const other = await another();
      const a = session("a");
      for (let round = 0; round < 10; round += 1) {
        const { stamp } = await one(store, append(a, message("1", "card 4111"), message("2")));
        const [, late] = await Promise.all([
          one(other, clear(a)),
          one(store, compress(a, stamp, ["1"])),
          one(store, append(a, message("3"))),
        ]);
        const stored = await load(store, a);
        const ids = idsOf(stored) ?? [];
        if (stored !== undefined && stored.stamp.session !== stamp.session) assert.deepEqual(ids, ["3"]);
        else assert.equal(stored, undefined);
        assert.ok(typeof late.applied === "boolean");
        assert.deepEqual(await other.search({ namespace: "", phrases: ["card"], limit: 9 }), []);
        await store.apply([clear(a)]);
      }
    },
  },
  {
    name: "changes of many sessions from several stores never wait for each other for good",
    run: async (store, another, assert) => {
      const stores = [store, await another(), await another()];
      const names = Array.from({ length: 8 }, (_, i) => session(`${i}`));
      const writer = async (mine, n) => {
        for (let round = 0; round < 10; round += 1) {
          const order = n % 2 === 0 ? names : names.toReversed();
          const operations = order.flatMap((where) => [
            append(where, message(`${n} ${round}`)),
            fields(where, { fields: { [`${n}`]: `${round}` } }),
          ]);
          await mine.apply(operations);
        }
      };
      await Promise.all(stores.map(writer));
      for (const where of names) assert.equal((await load(store, where)).messages.length, 30);
    },
  },
];

export { keeping, shared };
