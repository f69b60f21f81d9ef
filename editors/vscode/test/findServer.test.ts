import assert from "node:assert/strict";
import { test } from "node:test";
import { type Places, findServer } from "../src/findServer";

const PLACES: Places = {
  setting: "",
  interpreter: "/env/bin/python",
  searchPath: "/usr/local/bin:/usr/bin",
  home: "/home/someone",
  extensionFolder: "/extension",
};
const ENVIRONMENT = "/env/bin/graphglue-lsp";
const ON_PATH = "/usr/bin/graphglue-lsp";
const BUNDLED = "/extension/server/bin/graphglue-lsp";

function found(places: Partial<Places>, ...there: string[]): string | undefined {
  return findServer({ ...PLACES, ...places }, (file) => there.includes(file)).program;
}

test("the setting, then the environment, then PATH, then what came along", () => {
  const all = ["/mine", ENVIRONMENT, ON_PATH, BUNDLED];
  assert.equal(found({ setting: "/mine" }, ...all), "/mine");
  assert.equal(found({}, ...all), ENVIRONMENT);
  assert.equal(found({}, ON_PATH, BUNDLED), ON_PATH);
  assert.equal(found({}, BUNDLED), BUNDLED);
  assert.equal(found({}), undefined);
  assert.equal(found({ interpreter: undefined }, ...all), ON_PATH, "no environment may be trusted");
});

test("a setting that leads nowhere is told, and nothing else is run in its place", () => {
  const result = findServer({ ...PLACES, setting: "/gone" }, (file) => file === ON_PATH);
  assert.deepEqual(result, { program: undefined, tried: ["graphglue.server.path: /gone"] });
});

test("a setting may be a name on PATH, or below one's home; a relative path is none", () => {
  assert.equal(found({ setting: "glue" }, "/usr/bin/glue"), "/usr/bin/glue");
  assert.equal(found({ setting: "~/bin/glue" }, "/home/someone/bin/glue"), "/home/someone/bin/glue");
  assert.equal(found({ setting: "bin/glue" }, "bin/glue"), undefined);
});

test("relative parts of PATH mean the workspace, and are not searched", () => {
  assert.equal(found({ interpreter: undefined, searchPath: ".:bin::/usr/bin" }, "graphglue-lsp", "bin/graphglue-lsp", ON_PATH), ON_PATH);
  assert.equal(found({ interpreter: undefined, searchPath: ".:bin:" }, "graphglue-lsp", "bin/graphglue-lsp"), undefined);
});

test("what was looked for is named", () => {
  const result = findServer(PLACES, () => false);
  assert.deepEqual(result, { program: undefined, tried: [ENVIRONMENT, "PATH", BUNDLED] });
});
