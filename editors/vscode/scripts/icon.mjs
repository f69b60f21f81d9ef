// Draws icon.png: a graph in two halves, and the seam that joins them.  node scripts/icon.mjs
import { writeFileSync } from "node:fs";
import { deflateSync } from "node:zlib";

const SIZE = 128;
const BACK = [24, 32, 48];
const NODE = [240, 244, 250];
const SEAM = [255, 176, 32];

const nodes = [[34, 34], [34, 94], [94, 34], [94, 94]];
const edges = [[0, 1], [2, 3]];
const seams = [[0, 2], [1, 3]];

const toSegment = (x, y, [ax, ay], [bx, by]) => {
  const t = Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)));
  return Math.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay));
};
const toSquare = (x, y) => {
  const [dx, dy] = [Math.abs(x - 64) - 40, Math.abs(y - 64) - 40];
  return Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - 22;
};
const near = (pairs, x, y) => Math.min(...pairs.map(([a, b]) => toSegment(x, y, nodes[a], nodes[b])));
const covered = (distance) => Math.max(0, Math.min(1, 0.5 - distance));
const over = (below, colour, alpha) => [
  ...colour.map((c, i) => c * alpha + below[i] * (1 - alpha)),
  alpha + below[3] * (1 - alpha),
];

const rows = [];
for (let row = 0; row < SIZE; row++) {
  rows.push(0); // no filter
  for (let column = 0; column < SIZE; column++) {
    const [x, y] = [column + 0.5, row + 0.5];
    const back = covered(toSquare(x, y));
    let pixel = [...BACK, back];
    pixel = over(pixel, NODE, covered(near(edges, x, y) - 3.5));
    pixel = over(pixel, SEAM, covered(near(seams, x, y) - 5));
    pixel = over(pixel, NODE, covered(Math.min(...nodes.map(([a, b]) => Math.hypot(x - a, y - b))) - 13));
    rows.push(...pixel.slice(0, 3).map(Math.round), Math.round(pixel[3] * 255));
  }
}

const crcOf = (bytes) => {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
};
const chunk = (name, data) => {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crcOf(body), body.length + 4);
  return out;
};
const header = Buffer.alloc(13);
header.writeUInt32BE(SIZE, 0);
header.writeUInt32BE(SIZE, 4);
header.set([8, 6], 8); // eight bits, RGBA
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const data = deflateSync(Buffer.from(rows), { level: 9 });
writeFileSync(
  new URL("../icon.png", import.meta.url),
  Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))]),
);
