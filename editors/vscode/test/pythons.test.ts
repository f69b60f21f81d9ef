import assert from "node:assert/strict";
import { test } from "node:test";
import { choicesOf } from "../src/pythons";

test("those that have torch come first, as doctor ordered them", () => {
  const found = [
    { interpreter: "/usr/bin/python3", why: "python3 on PATH", torch: null },
    { interpreter: "/w/.venv/bin/python", why: ".venv of the workspace", torch: "2.9.0" },
    { interpreter: "/opt/conda/bin/python", why: "$CONDA_PREFIX", torch: "2.8.0" },
  ];
  const choices = choicesOf(JSON.stringify({ version: 1, found }));
  assert.deepEqual(choices.map((c) => `${c.label} ${c.description}`), [
    "torch 2.9.0 /w/.venv/bin/python",
    "torch 2.8.0 /opt/conda/bin/python",
    "no torch /usr/bin/python3",
  ]);
  assert.equal(choices[0]?.detail, ".venv of the workspace");
});

test("nothing found is no failure; what is no report is one", () => {
  assert.deepEqual(choicesOf('{"version": 1}'), []);
  assert.throws(() => choicesOf("graphglue-lsp: no such command"));
});
