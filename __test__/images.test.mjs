// Images: the newest stay, those of the open turn's user always, and no request holds more than its provider takes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTransformContext, explain, validate } from "../index.js";
import { answer, call, image, result, text, thinking, user } from "./support/messages.mjs";
import { wordsOf } from "./support/refusals.mjs";

const MARKER = text("[... 已省略 1 张图片 ...]");
const named = (name, chars = 100) => ({ ...image, data: name.padEnd(chars, "A") });

/** `count` calls that each bring one image, after a user message with one. */
function session(count, { api = "anthropic-messages", perResult = 1, chars } = {}) {
  const steps = Array.from({ length: count }, (_, i) => {
    const images = Array.from({ length: perResult }, (_, at) => named(`${i}.${at}`, chars));
    const timestamp = 1000 * i + 2;
    const more = { toolName: "shot", timestamp: timestamp + 1 };
    return [answer(`:c${i}`, { api, timestamp }), result(`c${i}`, [text(`page ${i}`), ...images], more)];
  });
  return [user([text("look"), named("user", chars)]), ...steps.flat()];
}

const imagesOf = (messages) =>
  messages.flatMap(({ role, content }) =>
    Array.from(content)
      .filter(({ type }) => type === "image")
      .map(({ data }) => [role, data.replace(/A+$/, "")]),
  );
const everyCall = (options) => createTransformContext({ schedule: "everyCall", ...options });
const LARGE = { contextWindow: 1_000_000 };

test("the newest eight stay, each older one becomes a line", async () => {
  const messages = session(20);
  const sent = await everyCall(LARGE)(messages);
  const names = imagesOf(sent).map(([, name]) => name);
  assert.deepEqual(names, ["user", ...Array.from({ length: 8 }, (_, i) => `${i + 12}.0`)]);
  assert.deepEqual(sent[2].content, [text("page 0"), MARKER]);
  assert.equal(sent[2].details, messages[2].details);
  assert.equal(sent[26], messages[26], "what keeps its images is the same object");
});

test("what the window passed by comes back without its old images", async () => {
  const messages = session(11);
  messages[18].content[0] = text("a long page, short once it is old\n".repeat(400));
  const limits = {
    keepRecentToolResults: 2,
    keepRecentThinking: 1,
    keepRecentMessages: 2,
    keepRecentImages: 10,
  };
  for (let contextWindow = 9000; contextWindow < 21_000; contextWindow += 200) {
    const options = { ...limits, contextWindow, overflow: "keep", calibrate: false };
    const sent = await everyCall(options)(messages);
    const results = sent.filter(({ role }) => role === "toolResult");
    for (const { toolCallId, content } of results)
      assert.equal(content.at(-1).type, toolCallId === "c0" ? "text" : "image", `window ${contextWindow}`);
  }
});

test("keepRecentImages counts images, not messages, and markers speak the language", async () => {
  const messages = session(8, { perResult: 3 });
  const sent = await everyCall({ ...LARGE, keepRecentImages: 20, marker: "en" })(messages);
  const [first, second] = [sent[2], sent[4]].map(({ content }) => content.slice(1));
  const omitted = text("[... 1 image omitted ...]");
  assert.deepEqual(first, [omitted, omitted, omitted]);
  const left = second.map((block) => block.text ?? block.data.replace(/A+$/, ""));
  assert.deepEqual(left, [omitted.text, "1.1", "1.2"]);
  const none = await everyCall({ ...LARGE, keepRecentImages: 0 })(messages);
  assert.equal(imagesOf(none).filter(([role]) => role === "toolResult").length, 18);
});

test("only the open turn's user, its newest results and what is unanswered outlast the count", async () => {
  const kept = async (messages, keepRecentImages) =>
    imagesOf(await everyCall({ ...LARGE, keepRecentImages })(messages)).map(([, name]) => name);
  const next = user([text("and this?"), named("next")], { timestamp: 50_000 });
  const closed = [...session(10), answer([text("done")], { timestamp: 40_000 }), next];
  assert.deepEqual(await kept(closed, 0), ["next"]);
  assert.deepEqual(await kept(closed, 3), ["8.0", "9.0", "next"]);
  assert.deepEqual(await kept([...session(1, { perResult: 9 }), next], 3), [
    ...Array.from({ length: 9 }, (_, i) => `0.${i}`),
    "next",
  ]);
});

test("excluded tools and protected messages keep theirs", async () => {
  const messages = session(20);
  assert.equal(await everyCall({ ...LARGE, excludeTools: ["shot"] })(messages), messages);
  const protect = ({ toolCallId }) => toolCallId === "c0";
  const sent = await everyCall({ ...LARGE, protect })(messages);
  assert.equal(sent[2], messages[2]);
  assert.notEqual(sent[4], messages[4]);
});

test("explain and events name what went", async () => {
  const messages = session(20);
  const { edits } = await explain(messages, { schedule: "everyCall", ...LARGE });
  const { tokensSaved, ...edit } = edits[0];
  assert.deepEqual(edit, { index: 2, layer: 1, action: "omitImages", images: 1, reason: "old image" });
  assert.ok(tokensSaved > 1000);
  const events = [];
  await everyCall({ ...LARGE, onEvent: (event) => events.push(event) })(messages);
  const omitted = events.filter(({ type }) => type === "imagesOmitted");
  assert.equal(omitted.length, 12);
  assert.equal(Object.keys(omitted[0]).sort().join(), "images,index,tokensSaved,toolCallId,toolName,type");
});

test("a summarised result loses its old images too", async () => {
  const messages = session(20);
  messages[2].content[0].text = "a line of it\n".repeat(100);
  const sent = await everyCall(LARGE)(messages);
  assert.match(sent[2].content[0].text, /已省略 96 行/);
  assert.deepEqual(sent[2].content[1], MARKER);
});

for (const schedule of ["everyCall", "sticky"]) {
  test(`${schedule}: no request holds more than the provider takes`, async () => {
    const count = async (messages, options) => {
      const hook = createTransformContext({ schedule, keepRecentImages: 4000, imageTokens: 1, ...options });
      return imagesOf(await hook(messages));
    };
    const bedrock = await count(session(30, { api: "bedrock-converse-stream" }), {});
    assert.ok(bedrock.length <= 20 && bedrock.length > 10, `${bedrock.length} images`);
    assert.deepEqual(bedrock[0], ["user", "user"]);
    assert.deepEqual(bedrock.at(-1), ["toolResult", "29.0"], "the newest stay");
    assert.ok((await count(session(120), {})).length <= 100);
    assert.equal((await count(session(120), LARGE)).length, 121, "a large window takes more");
    const heavy = await count(session(40, { chars: 1024 * 1024 }), {});
    assert.ok(heavy.length <= 28 && heavy.length > 20, `${heavy.length} images of a megabyte`);
  });
}

test("what sticky left out stays out, call by call", async () => {
  const all = session(60, { api: "bedrock-converse-stream" });
  const hook = createTransformContext({ schedule: "sticky", keepRecentImages: 4000, imageTokens: 1 });
  let gone = new Set();
  let moves = 0;
  for (let end = 3; end <= all.length; end += 2) {
    const left = new Set(imagesOf(await hook(all.slice(0, end))).map(([, name]) => name));
    const now = new Set(imagesOf(all.slice(0, end)).flatMap(([, name]) => (left.has(name) ? [] : [name])));
    assert.ok([...gone].every((name) => now.has(name)));
    moves += now.size > gone.size ? 1 : 0;
    gone = now;
  }
  assert.ok(moves > 1 && moves < 25, `${moves} moves`);
});

/** What a server says to images of these sizes, in characters; nothing if it takes them. */
const REFUSING = {
  "their number": ({ length }) => length > 5 && wordsOf("too many images")[0](0, 5),
  "the size of one": (sizes) => Math.max(0, ...sizes) > 60_000 && wordsOf("an image is")[0](0, 60_000),
  "the size of the request": (sizes) =>
    sizes.reduce((sum, size) => sum + size, 0) > 200_000 && wordsOf("the body is")[0](),
};

for (const [what, refusal] of Object.entries(REFUSING)) {
  for (const schedule of ["sticky", "everyCall"]) {
    test(`${schedule}: refused for ${what}, images go and texts stay`, async () => {
      const hook = createTransformContext({ schedule, calibrate: false, keepRecentToolResults: 100 });
      const messages = [user()];
      let refusals = 0;
      for (let i = 0; i < 40; i += 1) {
        const sent = await hook(messages);
        const texts = JSON.stringify(sent).match(/page \d/g) ?? [];
        assert.equal(texts.length, messages.filter(({ role }) => role === "toolResult").length);
        const blocks = sent.flatMap(({ content }) => content);
        const images = blocks.filter(({ type }) => type === "image");
        const errorMessage = refusal(images.map(({ data }) => data.length));
        if (errorMessage) {
          refusals += 1;
          messages.push(answer([], { stopReason: "error", errorMessage }), user(`again ${i}`));
        } else {
          const shots = [named(`${i}.`, 30_000), ...(i === 20 ? [named("large", 90_000)] : [])];
          messages.push(answer(`:c${i}`), result(`c${i}`, [text(`page ${i}`), ...shots]));
        }
      }
      assert.ok(refusals > 0 && refusals < 4, `${refusals} refusals`);
    });
  }
}

for (const schedule of ["sticky", "everyCall"]) {
  test(`${schedule}: an image that a model cannot read goes at its refusal, and no other`, async () => {
    const hook = createTransformContext({ schedule, calibrate: false, keepRecentImages: 20 });
    const [errorMessage] = wordsOf("an image cannot").map((words) => words());
    const messages = [user([text("look")])];
    let left = [];
    for (let i = 0; i < 14; i += 1) {
      const model = i < 10 ? "usual" : "strict";
      const images = imagesOf(await hook(messages)).map(([, name]) => name);
      assert.deepEqual(images, left, `call ${i}`);
      if (images.includes("broken") || (model === "strict" && images.length > 0)) {
        // What no model has accepted goes first, then all.
        left = i === 11 ? [] : left.filter((name) => name !== (i === 10 ? "9." : "broken"));
        messages.push(answer([], { model, stopReason: "error", errorMessage }), user([text("go on")]));
      } else {
        left.push(i === 4 ? "broken" : `${i}.`);
        messages.push(answer(`:c${i}`, { model }), result(`c${i}`, [text("a page"), named(left.at(-1))]));
      }
    }
  });
}

for (const schedule of ["sticky", "everyCall"]) {
  test(`${schedule}: what a model without vision refuses comes back when another one answers`, async () => {
    const hook = createTransformContext({ schedule, calibrate: false, excludeTools: ["screen"] });
    const names = async () => imagesOf(await hook(messages)).map(([, name]) => name);
    const refuse = () => {
      const errorMessage = "Model does not support images. Please use a model that does.";
      messages.push(answer([], { model: "blind", stopReason: "error", errorMessage }), user("go on"));
    };
    const shot = (id) => [answer(`:${id}`, { model: "blind" }), result(id, [text("a page"), named(id)])];
    const messages = [user([text("look"), named("plan")]), answer(":a", { model: "seeing" })];
    messages.push(result("a", [named("screen")], { toolName: "screen" }));
    messages.push(answer("a page", { model: "seeing" }), user("and now by another"));
    assert.deepEqual(await names(), ["plan", "screen"]);
    refuse();
    assert.deepEqual(await names(), []);
    messages.push(...shot("b"), ...shot("c"));
    assert.deepEqual(await names(), [], "nor does it get what tools bring");
    messages.push(answer("fine", { model: "blind" }), user([text("and this?"), named("new")]));
    assert.deepEqual(await names(), ["new"], "the next model may see it");
    messages.push(answer("a cat", { model: "new here" }), user("what else?"));
    assert.deepEqual(await names(), ["plan", "screen", "b", "c", "new"]);
    refuse();
    assert.deepEqual(await names(), []);
    messages.length = 4;
    messages.push(user("back to before it"));
    assert.deepEqual(await names(), ["plan", "screen"]);
  });

  test(`${schedule}: an image that a model cannot read comes back for one that had read it`, async () => {
    const hook = createTransformContext({ schedule, calibrate: false });
    const names = async () => imagesOf(await hook(messages)).map(([, name]) => name);
    const messages = [user([named("plan")]), answer("a plan", { model: "a" }), user([named("photo")])];
    messages.push(answer("a photo", { model: "b" }), user("and you?"));
    for (let i = 0; i < 2; i += 1) {
      const errorMessage = "400 Could not process image";
      messages.push(answer([], { model: "c", stopReason: "error", errorMessage }), user("again"));
    }
    assert.deepEqual(await names(), []);
    messages.push(answer("fine", { model: "c" }), user("a"), answer("fine", { model: "a" }), user("go on"));
    assert.deepEqual(await names(), ["plan"]);
    messages.push(answer("fine", { model: "b" }), user("go on"));
    assert.deepEqual(await names(), ["plan", "photo"]);
  });

  test(`${schedule}: thinking that is bound to a request without images leaves when they come back`, async () => {
    const hook = createTransformContext({ schedule, calibrate: false, keepRecentThinking: 20 });
    const claude = { model: "claude-opus-5-5" };
    const thought = (name, ...more) => answer([thinking(name), ...more], claude);
    const messages = [user([named("plan")]), thought("seen", text("a plan")), user("by another")];
    const errorMessage = "Model does not support images. Please use a model that does.";
    messages.push(answer([], { model: "text-only", stopReason: "error", errorMessage }), user("back"));
    await hook(messages);
    messages.push(thought("blind", call("c")), result("c"));
    assert.doesNotMatch(JSON.stringify(await hook(messages)), /blind/);
    messages.push(thought("again", call("d")), result("d"));
    const sent = JSON.stringify(await hook(messages));
    assert.match(sent, /plan.*again/);
    assert.doesNotMatch(sent, /blind/);
  });

  test(`${schedule}: refused images cost only the thinking that was bound to them`, async () => {
    const hook = createTransformContext({ schedule, calibrate: false, keepRecentThinking: 20 });
    const claude = { model: "claude-opus-5-5" };
    const thought = (name, ...more) => answer([thinking(name), ...more], claude);
    const messages = [user([named("plan")]), thought("first", text("a plan")), user([named("photo")])];
    const errorMessage = "400 Could not process image";
    messages.push(answer([], { ...claude, stopReason: "error", errorMessage }), user("again"));
    for (const id of ["c", "d", "e"]) {
      await hook(messages);
      messages.push(thought(`after ${id}`, call(id)), result(id));
    }
    assert.match(JSON.stringify(await hook(messages)), /first.*after c.*after d.*after e/);
  });

  test(`${schedule}: a limit of images is that of the model that named it, though another reports no usage`, async () => {
    const hook = createTransformContext({ schedule });
    const errorMessage = "400 At most 1 image(s) may be provided in one request";
    const messages = [user([named("a"), named("b")])];
    messages.push(answer([], { model: "strict", stopReason: "error", errorMessage }), user("another"));
    await hook(messages);
    messages.push(answer("hi"), user([named("c"), named("d")]));
    const names = imagesOf(await hook(messages)).map(([, name]) => name);
    assert.deepEqual(names.slice(-2), ["c", "d"]);
  });

  test(`${schedule}: a protected image that a model refuses takes no others with it`, async () => {
    const protect = ({ content }) => JSON.stringify(content).includes("broken");
    const hook = createTransformContext({ schedule, calibrate: false, protect });
    const messages = [user([named("plan")]), answer(":a"), result("a", [named("broken")])];
    for (let i = 0; i < 3; i += 1) {
      assert.deepEqual(
        imagesOf(await hook(messages)).map(([, name]) => name),
        ["plan", "broken"],
      );
      messages.push(
        answer([], { stopReason: "error", errorMessage: "400 Could not process image" }),
        user("hm"),
      );
    }
  });
}

for (const schedule of ["everyCall", "sticky"])
  test(`${schedule}: a model that gets no images is sent none, and the next one that does gets them back`, async () => {
    let takesImages = true;
    const hookOf = () => createTransformContext({ ...LARGE, schedule, takesImages: () => takesImages });
    const [transform, list] = [hookOf(), session(12)];
    const before = imagesOf(await transform(list));
    assert.ok(before.length > 0);
    for (const more of [[], session(15).slice(list.length)]) {
      list.push(...more, user([text("and this"), named("later")]));
      takesImages = false;
      for (const hook of [transform, hookOf()]) {
        const sent = await hook(list);
        assert.deepEqual(imagesOf(sent), [], "none, in this process and in a new one");
        assert.deepEqual(validate(sent), []);
        const { tokensBefore } = await explain(list, { schedule, takesImages: () => takesImages });
        assert.ok(tokensBefore < 2000, `${tokensBefore}`);
      }
      takesImages = true;
      const after = imagesOf(await transform(list)).map(String);
      assert.ok(after.includes("user,later") && after.includes(`toolResult,${more.length > 0 ? 14 : 11}.0`));
    }
  });
