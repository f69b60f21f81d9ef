import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServerStatus, countFindings, statusWords } from "../src/statusWords";

const READY: ServerStatus["workers"][number] = { folder: "/w", state: "ready", python: "/env/bin/python", torch: "2.13.0", error: null };
const IDLE: ServerStatus = { trusted: true, workers: [READY], captures: 0, verifications: 0 };
const FILE = { path: "/w/model.py", breaks: 0, predicted: 0 };

function text(status: Partial<ServerStatus>, file = FILE): string {
  return statusWords("running", { ...IDLE, ...status }, file).text.replace(/^\$\([a-z~-]+\) /, "");
}

test("a server that does not run", () => {
  assert.match(statusWords("missing", undefined, FILE).text, /no server/);
  assert.match(statusWords("stopped", undefined, FILE).text, /stopped/);
  assert.equal(statusWords("starting", undefined, FILE).busy, true);
  assert.equal(statusWords("running", undefined, FILE).busy, true);
});

test("what is under way goes before what was found", () => {
  const starting = { ...READY, state: "starting" as const, torch: null };
  assert.equal(text({ workers: [starting], captures: 1 }), "graphglue: starting torch");
  assert.equal(text({ captures: 1 }, { ...FILE, breaks: 2 }), "graphglue: analyzing");
  assert.equal(text({ verifications: 1 }, { ...FILE, breaks: 2 }), "graphglue: proving");
  assert.equal(statusWords("running", { ...IDLE, captures: 1 }, FILE).busy, true);
  assert.equal(statusWords("running", IDLE, FILE).busy, false);
});

test("findings of the file in front", () => {
  assert.equal(text({}, { ...FILE, breaks: 1, predicted: 4 }), "1 break");
  assert.equal(text({}, { ...FILE, breaks: 3 }), "3 breaks");
  assert.equal(text({}, { ...FILE, predicted: 2 }), "2 predicted");
  assert.equal(text({}), "graphglue: no breaks");
  assert.equal(statusWords("running", IDLE, undefined).text, "$(link) graphglue");
});

test("nothing is said of breaks where nothing can be run", () => {
  assert.equal(text({ trusted: false }, { ...FILE, breaks: 1 }), "graphglue: not trusted");
  const failed = { ...READY, state: "failed" as const, torch: null, error: "No module named torch" };
  const shown = statusWords("running", { ...IDLE, workers: [failed] }, FILE);
  assert.match(shown.text, /no torch/);
  assert.equal(shown.tooltip, "No module named torch");
  assert.equal(text({ workers: [{ ...failed, torch: "2.13.0" }] }), "graphglue: worker ended");
});

test("the worker is that of the nearest folder around the file", () => {
  const failed = { ...READY, folder: "/w/inner", state: "failed" as const, torch: null };
  const elsewhere = { ...failed, folder: "/wide" };
  assert.equal(text({ workers: [READY, failed] }, { ...FILE, path: "/w/inner/a.py" }), "graphglue: no torch");
  assert.equal(text({ workers: [READY, failed] }), "graphglue: no breaks");
  assert.equal(text({ workers: [elsewhere, READY] }, { ...FILE, path: "/w/a.py" }), "graphglue: no breaks");
  assert.equal(text({ workers: [{ ...failed, folder: "/wid" }] }, { ...FILE, path: "/wide/a.py" }), "graphglue: no breaks");
});

test("breaks that were met are told from predicted ones, and from others' diagnostics", () => {
  const link = { value: "GB0170" };
  const counted = countFindings("/w/a.py", [
    { source: "graphglue", code: link, message: "branches on a tensor" },
    { source: "graphglue", code: "GB0124", message: "an item (predicted; only if: x)" },
    { source: "graphglue", code: "recompiles", message: "anew on each call" },
    { source: "graphglue", code: "untrusted", message: "not trusted" },
    { source: "another", code: "GB0170", message: "branches" },
  ]);
  assert.deepEqual(counted, { path: "/w/a.py", breaks: 1, predicted: 1 });
});
