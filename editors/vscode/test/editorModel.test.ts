import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { LanguageClient } from "vscode-languageclient/node";
import { lendModel } from "../src/editorModel";
import { fake } from "./fakeVscode";

type Handler = (params: unknown, token: { isCancellationRequested: boolean }) => Promise<unknown>;

function lent(): { capability: unknown; ask: Handler } {
  let ask: Handler | undefined;
  const capabilities: { experimental?: unknown } = { experimental: { another: 1 } };
  const client = {
    registerFeature: (feature: { fillClientCapabilities(c: unknown): void }) => feature.fillClientCapabilities(capabilities),
    onRequest: (method: string, handler: Handler) => {
      assert.equal(method, "graphglue/model");
      ask = handler;
    },
  };
  const failure = (code: number, message: string): unknown => ({ code, message });
  lendModel(client as unknown as LanguageClient, failure as Parameters<typeof lendModel>[1]);
  assert.ok(ask);
  return { capability: capabilities.experimental, ask };
}

const HELLO = { system: "be brief", messages: [{ role: "user", content: "hello" }] };

beforeEach(() => {
  Object.assign(fake, { settings: { editorModel: true }, families: ["small", "large"], answer: ["o", "ne"], sent: [], selectors: [] });
});

test("a model is lent only when the user has said so, and none is asked otherwise", async () => {
  assert.deepEqual(lent().capability, { another: 1, graphglue: { model: true } });
  fake.settings = {};
  const { capability, ask } = lent();
  assert.deepEqual(capability, { another: 1, graphglue: { model: false } });
  const refused = (await ask(HELLO, { isCancellationRequested: false })) as { message: string };
  assert.match(refused.message, /editorModel is off/);
  assert.deepEqual(fake.selectors, []);
});

test("the answer is the model's", async () => {
  const result = await lent().ask(HELLO, { isCancellationRequested: false });
  assert.deepEqual(result, { text: "one", inputTokens: "be brief".length + "hello".length, outputTokens: 3 });
  assert.deepEqual(fake.sent[0]?.messages.map((m) => m.content), ["be brief", "hello"]);
});

test("a family that is named is the one that is asked, and another is not", async () => {
  fake.settings["editorModelFamily"] = "large";
  await lent().ask(HELLO, { isCancellationRequested: false });
  assert.deepEqual(fake.selectors, [{ family: "large" }]);
  fake.settings["editorModelFamily"] = "huge";
  const refused = (await lent().ask(HELLO, { isCancellationRequested: false })) as { code: number; message: string };
  assert.equal(refused.code, -32603);
  assert.match(refused.message, /no model of the family huge/);
  assert.equal(fake.sent.length, 1);
});

test("what the model throws is told in its words; a person who says no cancels", async () => {
  fake.answer = ["o", new Error("no quota")];
  const failed = (await lent().ask(HELLO, { isCancellationRequested: false })) as { code: number; message: string };
  assert.deepEqual([failed.code, failed.message], [-32603, "no quota"]);
  fake.answer = [Object.assign(new Error("not allowed"), { code: "NoPermissions" })];
  const refused = (await lent().ask(HELLO, { isCancellationRequested: false })) as { code: number };
  assert.equal(refused.code, -32800);
});
