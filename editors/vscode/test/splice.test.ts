import assert from "node:assert/strict";
import { test } from "node:test";
import { spliced } from "../src/splice";

test("edits are made where they were meant, in any order", () => {
  const edits = [
    { start: 4, end: 5, text: "" },
    { start: 0, end: 1, text: "AB" },
    { start: 2, end: 2, text: "+" },
  ];
  assert.equal(spliced("abcdef", edits), "ABb+cdf");
  assert.equal(spliced("abc", []), "abc");
});
