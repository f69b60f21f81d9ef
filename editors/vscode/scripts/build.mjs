// Bundles the extension into out/extension.js, with the licences of what went in; with --tests, the tests into out/test.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { build } from "esbuild";

const root = path.resolve(import.meta.dirname, "..");
const common = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  logLevel: "warning",
};

/** "node_modules/a/node_modules/@b/c/lib/x.js" → "node_modules/a/node_modules/@b/c" */
function packageOf(file) {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
}

function notices(inputs) {
  const folders = [...new Set(Object.keys(inputs).map(packageOf))].filter((folder) => folder !== undefined).sort();
  return folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(root, folder, "package.json"), "utf8"));
    const file = readdirSync(path.join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${folder} has no licence file`);
    return `${name} ${version} (${license})\n\n${readFileSync(path.join(root, folder, file), "utf8").trim()}\n`;
  });
}

if (process.argv.includes("--tests")) {
  const tests = readdirSync(path.join(root, "test")).filter((name) => name.endsWith(".test.ts"));
  await build({
    ...common,
    entryPoints: tests.map((name) => path.join("test", name)),
    outdir: "out/test",
    alias: { vscode: path.join(root, "test", "fakeVscode.ts") },
    sourcemap: "inline",
  });
} else {
  const { metafile } = await build({
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "out/extension.js",
    external: ["vscode"],
    minify: true,
    metafile: true,
  });
  mkdirSync(path.join(root, "out"), { recursive: true });
  writeFileSync(path.join(root, "out", "THIRD_PARTY_NOTICES.txt"), notices(metafile.inputs).join(`\n${"-".repeat(80)}\n\n`));
}
