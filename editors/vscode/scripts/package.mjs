// One command makes graphglue.vsix for machines of this kind, with the server inside: built to need no library but the C library's (or taken of the
// build folder that GRAPHGLUE_BUILD names) and installed into server/.  CMAKE_ARGS goes to cmake.  --no-server leaves it out, for any machine.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import * as path from "node:path";

const extension = path.resolve(import.meta.dirname, "..");
const repository = path.resolve(extension, "..", "..");
const server = path.join(extension, "server");
const vsce = path.join(extension, "node_modules", ".bin", "vsce");
const options = ["--no-dependencies", "--allow-missing-repository", "--no-rewrite-relative-links", "--out", "graphglue.vsix"];

function cmake(...args) {
  execFileSync("cmake", args, { cwd: repository, stdio: ["ignore", "ignore", "inherit"] });
}

function build() {
  if (process.env.GRAPHGLUE_BUILD) return path.resolve(process.env.GRAPHGLUE_BUILD);
  const folder = path.join(repository, "build", "packages", "vsix");
  cmake("--preset", "release", "-B", folder, "-DGG_TESTS=OFF", "-DGG_STATIC_LIBS=ON", ...(process.env.CMAKE_ARGS ?? "").split(" ").filter(Boolean));
  cmake("--build", folder);
  return folder;
}

rmSync(server, { recursive: true, force: true });
if (!process.argv.includes("--no-server")) {
  if (process.platform !== "linux") throw new Error("the server is built for Linux only: npm run package -- --no-server");
  cmake("--install", build(), "--prefix", server, "--strip");
  options.push("--target", `linux-${process.arch}`);
}
execFileSync(vsce, ["package", ...options], { cwd: extension, stdio: "inherit" });
