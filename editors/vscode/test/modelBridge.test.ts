import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_TEXT_CHARS, type Message, type Model, type ModelParams, ask, errorOf, messagesOf } from "../src/modelBridge";

const GOES_ON = { isCancellationRequested: false };

function saying(...pieces: string[]): Model & { asked: Message[] } {
  const model = {
    asked: [] as Message[],
    async send(messages: Message[]) {
      model.asked = messages;
      return (async function* () {
        yield* pieces;
      })();
    },
    count: async (text: string) => text.length,
  };
  return model;
}

test("messages keep their order and roles; system and schema come first, in words", () => {
  const messages: ModelParams["messages"] = [
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
    { role: "user", content: "c" },
  ];
  assert.deepEqual(messagesOf({ messages }), messages);
  const [first, ...rest] = messagesOf({ system: "s", messages, schema: { type: "object" } });
  assert.deepEqual(rest, messages);
  assert.equal(first?.role, "user");
  assert.match(first?.content ?? "", /^s\n\n[^]*\{"type":"object"\}$/);
});

test("params that are none are refused", () => {
  for (const messages of [undefined, [], [{ role: "system", content: "a" }], [{ role: "user" }], [null]])
    assert.throws(() => messagesOf({ messages } as unknown as ModelParams), { code: -32602 });
});

test("pieces are joined, and tokens counted where the model can", async () => {
  const params: ModelParams = { messages: [{ role: "user", content: "four" }] };
  assert.deepEqual(await ask(saying("gr", "", "üße"), params, GOES_ON), { text: "grüße", inputTokens: 4, outputTokens: 5 });
  const silent = { ...saying("x"), count: async () => Promise.reject(new Error("cannot")) };
  assert.deepEqual(await ask(silent, params, GOES_ON), { text: "x" });
});

test("a cancel is seen before the model is asked and between pieces", async () => {
  const params: ModelParams = { messages: [{ role: "user", content: "a" }] };
  const never = saying("x");
  await assert.rejects(ask(never, params, { isCancellationRequested: true }), { code: -32800 });
  assert.deepEqual(never.asked, []);
  const cancel = { isCancellationRequested: false };
  const endless: Model = {
    send: async () =>
      (async function* () {
        for (;;) {
          yield "x";
          cancel.isCancellationRequested = true;
        }
      })(),
    count: async () => 0,
  };
  await assert.rejects(ask(endless, params, cancel), { code: -32800 });
});

test("an answer without end is given up", async () => {
  const half = "x".repeat(MAX_TEXT_CHARS / 2 + 1);
  await assert.rejects(ask(saying(half, half, half), { messages: [{ role: "user", content: "a" }] }, GOES_ON), /larger/);
});

test("errors in the words of who failed", () => {
  assert.deepEqual(errorOf(new Error("no quota"), false), { code: -32603, message: "no quota" });
  assert.equal(errorOf(new Error("anything"), true).code, -32800);
  assert.equal(errorOf(Object.assign(new Error("Canceled"), { name: "Canceled" }), false).code, -32800);
  assert.deepEqual(errorOf("words", false), { code: -32603, message: "words" });
  assert.deepEqual(errorOf(undefined, false), { code: -32603, message: "undefined" });
});
