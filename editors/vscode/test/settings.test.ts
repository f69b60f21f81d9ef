import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { OWN, explicit, isSomethingGone, keysOf } from "../src/settings";

const KEYS = ["select", "rules", "python", "capture.run", "capture.timeout", "model.url"];

function of(values: { [key: string]: { [scope: string]: unknown } }): ReturnType<typeof explicit> {
  const inspect = (key: string): object => ({ defaultValue: "a default", ...values[key] });
  const get = (key: string): unknown => Object.values(values[key] ?? { defaultValue: "a default" }).at(-1);
  return explicit(KEYS, inspect, get);
}

test("only what somebody set is sent, as nested objects", () => {
  assert.deepEqual(of({}), {});
  assert.deepEqual(of({ "capture.run": { globalValue: "manual" }, "capture.timeout": { workspaceValue: 5 }, select: { globalValue: [] } }), {
    select: [],
    capture: { run: "manual", timeout: 5 },
  });
  assert.deepEqual(of({ python: { globalValue: null } }), {});
});

test("a setting that is taken away wants a new start, one that changes does not", () => {
  const before = { capture: { run: "manual" }, rules: { logging: "off" } };
  assert.deepEqual(keysOf(before, KEYS), ["capture.run", "rules"]);
  assert.equal(isSomethingGone(before, { capture: { run: "onType" }, rules: {} }, KEYS), false);
  assert.equal(isSomethingGone(before, { rules: { logging: "off" } }, KEYS), true);
  assert.equal(isSomethingGone({}, before, KEYS), false);
});

interface Manifest {
  version: string;
  contributes: {
    commands: { command: string }[];
    configuration: { properties: { [key: string]: { scope: string } } }[];
  };
}

const ROOT = path.resolve(__dirname, "..", "..");
const MANIFEST = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as Manifest;

test("what the extension keeps to itself is in the manifest", () => {
  const keys = MANIFEST.contributes.configuration.flatMap((section) => Object.keys(section.properties));
  for (const key of OWN) assert.ok(keys.includes(`graphglue.${key}`), key);
});

test("each command of the manifest is registered, and none that the server registers", () => {
  const source = readFileSync(path.join(ROOT, "src", "commands.ts"), "utf8");
  const table = source.slice(source.indexOf("const commands:"));
  const registered = [...table.matchAll(/^ {4}(\w+): /gm)].map((m) => `graphglue.client.${m[1]}`);
  assert.deepEqual(MANIFEST.contributes.commands.map((c) => c.command).sort(), registered.sort());
});
