/** The path of a person through the extension; what was seen goes to $RESULT as JSON, for test_vscode_browser.py to judge. */
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { Editor, serve } from "./editor.mjs";

const { NODE, MODULES, CHROMIUM, FOLDER, USER, EXTENSIONS, RESULTS, RESULT, PIDS, GRAPHGLUE_TEST_TRACES: TRACES } = process.env;
const FILE = path.join(FOLDER, "model.py");
const IMPORTED = path.join(TRACES, "imported");
const HOLD = path.join(TRACES, "hold");
const CONDITION = "h.mean() > 0";
const MESSAGE = 'print("largest", y.max())';
const seen = {};

const lastPid = () => Number(readFileSync(PIDS, "utf8").trim().split("\n").at(-1));
const texts = async (editor) => (await editor.underlined()).map((mark) => mark.text);

/** The processes that one has started. */
function children(pid) {
  const parents = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((name) => {
    try {
      return [Number(name), Number(readFileSync(`/proc/${name}/stat`, "utf8").replace(/^.*\) \S /s, "").split(" ")[0])];
    } catch {
      return [0, 0]; // it has ended
    }
  });
  return parents.filter(([, parent]) => parent === pid).map(([child]) => child);
}

async function untrusted(editor) {
  await editor.until("the first finding", async () => (await editor.underlined()).some((mark) => mark.text === CONDITION));
  seen.first_static_ms = Date.now() - editor.opened;
  await editor.untilStatus(/not trusted/);
  await editor.page.locator(".tab.active").filter({ hasText: "model.py" }).waitFor();
  await editor.command("Problems: Focus on Problems View");
  await editor.until("the problems", async () => (await editor.problems()).length >= 4);
  seen.untrusted_problems = await editor.problems();
  seen.predicted = await texts(editor);
  await editor.command("Graphglue: Analyze File");
  seen.refusal = await editor.notification(/not trusted/);
  seen.untrusted_children = children(lastPid()).length;
  seen.ran_before_trust = existsSync(IMPORTED);
  await editor.picture("1-untrusted");
}

async function trust(editor) {
  await editor.command("Workspaces: Manage Workspace Trust");
  await editor.page.locator(".workspace-trust-editor .monaco-button").filter({ hasText: /^Trust$/ }).first().click();
  await editor.untilStatus(/^3 breaks$/, 120_000);
  seen.ran_after_trust = existsSync(IMPORTED);
  await editor.closeTab("Workspace Trust");
  await editor.until("all problems confirmed", async () => {
    const problems = await editor.problems();
    return problems.length === 3 && problems.every((text) => !/predicted|not trusted/.test(text));
  });
  seen.problems = await editor.problems();
  seen.confirmed = await texts(editor);
  seen.lens = await editor.until("a code lens", async () => {
    const lenses = await editor.page.locator(".codelens-decoration").allInnerTexts();
    return lenses.some((text) => /Glue all/i.test(text)) && lenses;
  });
  await editor.picture("2-breaks");
}

async function read(editor) {
  seen.hover = await editor.hover(CONDITION);
  await editor.picture("3-hover");
  await editor.page.keyboard.press("Escape");
}

/** A verification that cannot come to its end shows that the edit waits for it. */
async function glue(editor) {
  const isGlued = async () => (await editor.lines()).join("\n").includes("torch.where");
  const before = await editor.lines();
  seen.actions = await editor.bulb(CONDITION);
  await editor.picture("4-bulb");
  writeFileSync(HOLD, "");
  await editor.choose("Glue this graph");
  await editor.untilStatus(/proving/);
  await editor.until("the progress", () => editor.page.locator(".statusbar").getByText("verifying the edit").first().isVisible());
  seen.glued_unproved = await isGlued();
  const from = Date.now();
  rmSync(HOLD);
  await editor.until("the edit", isGlued);
  seen.verdict_to_edit_ms = Date.now() - from;
  seen.glued = await editor.lines();
  await editor.picture("5-glued");
  await editor.page.keyboard.press("Control+Z");
  await editor.until("the edit undone", async () => !(await isGlued()));
  seen.undone = JSON.stringify(before) === JSON.stringify(await editor.lines());
  await editor.until("one undo to leave the file as it was saved", async () => !(await editor.isDirty()));
}

async function graph(editor) {
  await editor.command("Graphglue: Show Graph");
  const tab = editor.page.locator(".tab.active").filter({ hasText: "Graphs of model.py" });
  await tab.waitFor();
  const text = () => editor.page.locator(".editor-group-container.active .view-line").allInnerTexts();
  seen.graph = await editor.until("the graphs' text", async () => {
    const lines = (await text()).join("\n").replaceAll("\u00a0", " ");
    return /graph/i.test(lines) && lines;
  });
  await editor.picture("6-graph");
  await editor.closeTab("Graphs of model.py");
  await editor.command("Graphglue: Show Graph as a Picture");
  seen.svg_width = await editor.until("the picture", async () => {
    for (const frame of editor.page.frames()) {
      const width = await frame.evaluate(() => document.querySelector("img[src^='data:image/svg']")?.naturalWidth).catch(() => 0);
      if (width) return width;
    }
    return undefined;
  });
  await editor.picture("7-picture");
  await editor.closeTab("Graphs of model.py");
}

async function addLine(editor, text) {
  await editor.clickOn(MESSAGE);
  await editor.page.keyboard.press("End");
  await editor.page.keyboard.press("Enter");
  await editor.page.keyboard.type(text);
}

/** A break that is typed is predicted; saved, it is met. */
async function confirm(editor) {
  await addLine(editor, "seen = y.sum().item()");
  await editor.until("the new break predicted", async () => (await editor.problems()).some((text) => /y\.sum.*predicted/.test(text)));
  seen.typed = await texts(editor);
  const from = Date.now();
  await editor.page.keyboard.press("Control+S");
  await editor.until("the new break confirmed", async () => {
    const problems = await editor.problems();
    return problems.length === 4 && problems.every((text) => !/predicted/.test(text));
  });
  seen.save_to_confirmed_ms = Date.now() - from;
  await editor.untilStatus(/^4 breaks$/);
}

async function killed(editor) {
  const before = lastPid();
  process.kill(before, "SIGKILL");
  await editor.until("another server", () => lastPid() !== before);
  await editor.untilStatus(/^4 breaks$/, 120_000);
  await editor.until("the findings of the new server", async () => (await editor.problems()).length === 4);
  // Nothing of the old one: it learns of a line that is new.
  await addLine(editor, "more = y.min().item()");
  await editor.page.keyboard.press("Control+S");
  await editor.untilStatus(/^5 breaks$/, 120_000);
  seen.after_kill = await texts(editor);
  await editor.picture("8-back");
}

let editor, server;
try {
  const folders = { user: USER, extensions: EXTENSIONS };
  const started = await serve(NODE, path.join(MODULES, "code-server"), folders);
  server = started.server;
  const host = new URL(started.address).host;
  const payload = JSON.stringify([["openFile", `vscode-remote://${host}${FILE}`]]);
  const url = `${started.address}/?folder=${encodeURIComponent(FOLDER)}&payload=${encodeURIComponent(payload)}`;
  editor = await Editor.open(MODULES, CHROMIUM, url, RESULTS);
  for (const part of [untrusted, trust, read, glue, graph, confirm, killed]) {
    const from = Date.now();
    await part(editor);
    editor.times[part.name] = Date.now() - from;
  }
  seen.statuses = (await editor.statuses()).map(({ text }) => text);
} catch (error) {
  seen.error = `${editor?.doing}: ${error.stack ?? error}`;
  seen.screen = await editor?.screen().catch((failure) => String(failure));
}
seen.times = editor?.times;
writeFileSync(RESULT, JSON.stringify(seen, null, 1));
await editor?.close();
if (server?.exitCode === null) {
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGTERM");
  await ended; // its extension host ends the language server first
}
process.exit(seen.error ? 1 : 0);
