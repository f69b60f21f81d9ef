import assert from "node:assert/strict";
import { test } from "node:test";
import { picturePage } from "../src/picture";

test("a picture is an image, whatever it or its title holds", () => {
  const page = picturePage([{ title: '<script>"&', svg: "<svg><script>alert(1)</script>ü</svg>" }]);
  assert.ok(!page.includes("<script"), page);
  assert.match(page, /default-src 'none'/);
  const data = /src="data:image\/svg\+xml;base64,([^"]*)"/.exec(page)?.[1] ?? "";
  assert.equal(Buffer.from(data, "base64").toString("utf8"), "<svg><script>alert(1)</script>ü</svg>");
});
