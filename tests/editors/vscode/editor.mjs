/** VS Code in a browser: what a person does with it, and what is read off the screen.  Every wait is for a condition and has a deadline. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import * as path from "node:path";

const NOTICE_MS = 40;
const ATTEMPT_MS = 3_000;
export const DEADLINE_MS = 60_000;

/** Starts code-server; resolves to its address. */
export async function serve(node, codeServer, folders, more = [], deadline = DEADLINE_MS) {
  const args = [path.join(codeServer, "out/node/entry.js"), "--auth=none", "--bind-addr=127.0.0.1:0", "--disable-telemetry"];
  const options = ["--disable-update-check", "--user-data-dir", folders.user, "--extensions-dir", folders.extensions, ...more];
  const server = spawn(node, [...args, ...options], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const address = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`code-server did not start: ${said}`)), deadline);
    const hear = (bytes) => {
      said += bytes;
      const found = /HTTP server listening on (http:\S+?)\/?\s/.exec(said)?.[1];
      if (!found) return;
      clearTimeout(late);
      resolve(found);
    };
    server.stdout.on("data", hear);
    server.stderr.on("data", hear);
    server.on("exit", (code) => reject(new Error(`code-server ended with ${code}: ${said}`)));
  });
  return { server, address };
}

/** In the page.  The text that lies under each squiggle, by its place on the screen: what a person sees underlined. */
function underlined() {
  const lines = [...document.querySelectorAll(".editor-instance .view-line")];
  const letters = lines.flatMap((line) => {
    const out = [];
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode())
      for (let i = 0; i < node.length; i++) {
        const range = document.createRange();
        range.setStart(node, i);
        range.setEnd(node, i + 1);
        out.push({ letter: node.data[i], box: range.getBoundingClientRect() });
      }
    return out;
  });
  const marks = [...document.querySelectorAll(".editor-instance .cdr[class*=squiggly-]")].map((mark) => mark.getBoundingClientRect());
  marks.sort((a, b) => a.top - b.top || a.left - b.left);
  return marks.map((mark) => {
    const middle = (mark.top + mark.bottom) / 2;
    const under = letters.filter(({ box }) => {
      const x = (box.left + box.right) / 2;
      return box.top <= middle && middle <= box.bottom && mark.left <= x && x <= mark.right;
    });
    const text = under.map(({ letter }) => letter).join("").replaceAll("\u00a0", " ");
    return { text, x: (mark.left + mark.right) / 2, y: middle };
  });
}

/** In the page.  The lines of the editor, as far as they are on the screen. */
function shownLines() {
  const lines = [...document.querySelectorAll(".editor-instance .view-line")];
  lines.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
  return lines.map((line) => line.textContent.replaceAll("\u00a0", " "));
}

/** In the page.  Keeps what the status bar item says, with the time. */
function keepStatuses() {
  const kept = (window.graphglueStatuses = []);
  const look = () => {
    const text = document.querySelector("[id$='graphglue.status']")?.textContent.trim();
    if (text !== undefined && kept.at(-1)?.text !== text) kept.push({ text, at: Date.now() });
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
  look();
}

export class Editor {
  doing = "starting";
  times = {};

  static async open(modules, chromium, url, results) {
    const playwright = createRequire(path.join(modules, "x.js"))("playwright-core");
    const browser = await playwright.chromium.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    const page = await browser.newPage({ viewport: { width: 1280, height: 960 } });
    page.setDefaultTimeout(DEADLINE_MS);
    const editor = new Editor();
    Object.assign(editor, { browser, page, results, opened: Date.now() });
    await page.goto(url, { waitUntil: "domcontentloaded" });
    await page.evaluate(keepStatuses);
    return editor;
  }

  close() {
    return this.browser.close();
  }

  picture(name) {
    return this.page.screenshot({ path: path.join(this.results, `${name}.png`) });
  }

  /** Gives what probe gives as soon as that is something. */
  async until(what, probe, deadline = DEADLINE_MS) {
    this.doing = `waiting for ${what}`;
    const late = Date.now() + deadline;
    for (;;) {
      const seen = await probe();
      if (seen) return seen;
      if (Date.now() > late) throw new Error(`${what}: not within ${deadline / 1000} s`);
      await this.page.waitForTimeout(NOTICE_MS);
    }
  }

  /** What a person who looks at a failure would ask for. */
  async screen() {
    await this.picture("failure").catch(() => {});
    const text = (selector) => this.page.locator(selector).filter({ visible: true }).allInnerTexts();
    return {
      status: await this.statuses(),
      tabs: await text(".tab"),
      lines: await this.page.evaluate(shownLines),
      underlined: await this.underlined(),
      problems: await this.problems(),
      notifications: await text(".notification-list-item"),
      menus: await text(".action-widget, .quick-input-widget, .monaco-hover"),
      dialogs: await text(".monaco-dialog-box"),
    };
  }

  status() {
    return this.page.evaluate(() => document.querySelector("[id$='graphglue.status']")?.textContent.trim() ?? "");
  }

  statuses() {
    return this.page.evaluate(() => window.graphglueStatuses);
  }

  underlined() {
    return this.page.evaluate(underlined);
  }

  lines() {
    return this.page.evaluate(shownLines);
  }

  problems() {
    return this.page.locator(".markers-panel .monaco-list-row .marker-message-line, .markers-panel .monaco-tl-row .marker").allInnerTexts();
  }

  untilStatus(pattern, deadline) {
    return this.until(`the status ${pattern}`, async () => pattern.exec(await this.status()), deadline);
  }

  notification(pattern) {
    const shown = async () => (await this.page.locator(".notification-list-item").allInnerTexts()).find((text) => pattern.test(text));
    return this.until(`a notification ${pattern}`, shown);
  }

  /** By its whole name in the palette, which closes when something else takes the focus, and lists what was known when it was opened: it is
   *  opened again until the command is there. */
  async command(name) {
    const input = this.page.locator(".quick-input-widget input");
    const rows = this.page.locator(".quick-input-list .monaco-list-row");
    const named = rows.filter({ has: this.page.getByText(name, { exact: true }) }).first();
    await this.until(`the command ${name}`, async () => {
      await this.page.keyboard.press("F1");
      try {
        await input.fill(`>${name}`, { timeout: ATTEMPT_MS });
        await named.click({ timeout: ATTEMPT_MS });
        return true;
      } catch {
        await this.page.keyboard.press("Escape");
        return false;
      }
    });
    // A command may ask something in the same place.
    await this.until("the palette to close", async () => !(await input.isVisible()) || !(await input.inputValue()).startsWith(">"));
  }

  /** The names of the palette's commands that begin with this. */
  async palette(begin) {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input");
    await input.fill(`>${begin}`);
    const labels = this.page.locator(".quick-input-list .monaco-list-row .quick-input-list-entry .label-name");
    await labels.filter({ hasText: begin }).first().waitFor();
    const names = (await labels.allInnerTexts()).map((name) => name.replaceAll("\u00a0", " ")).filter((name) => name.startsWith(begin));
    await this.page.keyboard.press("Escape");
    await input.waitFor({ state: "hidden" });
    return names;
  }

  /** What is on the screen of the channel that is shown. */
  async output() {
    const lines = await this.page.locator(".output-view .view-line").allInnerTexts();
    return lines.join("\n").replaceAll("\u00a0", " ");
  }

  /** The cursor's place, in the middle of what is underlined there. */
  async clickOn(text) {
    const mark = await this.until(`${text} underlined`, async () => (await this.underlined()).find((m) => m.text === text));
    await this.page.mouse.click(mark.x, mark.y);
    return mark;
  }

  async hover(text) {
    const shown = this.page.locator(".monaco-hover:visible .monaco-hover-content");
    let pointed;
    return this.until(`the hover of ${text}`, async () => {
      const mark = (await this.underlined()).find((m) => m.text === text);
      if (mark && mark.y !== pointed?.y) {
        await this.page.mouse.move(mark.x - 3, mark.y); // a code lens that comes moves it
        await this.page.mouse.move(mark.x, mark.y);
        pointed = mark;
      }
      const said = (await shown.allInnerTexts()).join("\n");
      return said && !/Loading/.test(said) ? said : undefined;
    });
  }

  /** Where the light bulb of what is underlined is; the cursor is put there. */
  async bulbBox(text) {
    let clicked = await this.clickOn(text);
    const bulbs = this.page.locator(".editor-instance [class*=codicon-gutter-lightbulb], .editor-instance .lightBulbWidget:visible");
    return this.until(`the light bulb of ${text}`, async () => {
      const boxes = await Promise.all((await bulbs.all()).map((bulb) => bulb.boundingBox({ timeout: ATTEMPT_MS }).catch(() => null)));
      const marks = (await this.underlined()).filter((mark) => mark.text === text); // a code lens that comes moves it
      if (marks.length && !marks.some((mark) => mark.y === clicked.y)) clicked = await this.clickOn(text);
      const isBeside = ({ y, height }) => marks.some((mark) => y <= mark.y && mark.y <= y + height);
      return boxes.find((place) => place && isBeside(place)); // not that of the line before
    });
  }

  /** The entries of the light bulb at what is underlined; the menu stays open.  What comes from the server meanwhile may move the bulb away from the
   *  mouse, or close the menu at once: then once more. */
  bulb(text) {
    const rows = this.page.locator(".action-widget .monaco-list-row.action");
    return this.until(`the menu of ${text}`, async () => {
      const box = await this.bulbBox(text);
      await this.page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      const isOpen = await rows.first().waitFor({ timeout: ATTEMPT_MS }).then(() => true, () => false);
      const entries = isOpen ? await rows.allInnerTexts() : [];
      return entries.length > 0 && entries;
    });
  }

  /** Picks an entry at the light bulb of what is underlined.  What comes from the server meanwhile may close the menu under the mouse: then once more. */
  choose(text, entry) {
    const row = this.page.locator(".action-widget .monaco-list-row.action").filter({ hasText: entry }).first();
    return this.until(`${entry} picked`, async () => {
      if (!(await row.isVisible())) await this.bulb(text);
      await this.page.evaluate(() => {
        window.picked = false;
        // Pressed and let go on one entry: a menu that is drawn anew in between takes no pick.
        const note = ({ target }) => (window.picked = Boolean(target.closest(".action-widget .monaco-list-row.action")));
        addEventListener("click", note, { capture: true, once: true });
      });
      await row.click({ timeout: ATTEMPT_MS }).catch(() => undefined); // it went away
      return this.page.evaluate(() => window.picked);
    });
  }

  /** What a dialog asks, answered with one of its buttons. */
  async answer(question, button) {
    const dialog = this.page.locator(".monaco-dialog-box").filter({ hasText: question });
    await dialog.waitFor();
    const asked = await dialog.innerText();
    await dialog.getByRole("button", { name: button, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    return asked;
  }

  /** Ticks a setting in the settings editor. */
  async tick(setting) {
    await this.command("Preferences: Open Settings (UI)");
    const input = this.page.locator(".settings-editor .suggest-input-container");
    await input.click();
    await this.page.keyboard.type(`@id:${setting}`);
    const box = this.page.locator(`.settings-editor .setting-value-checkbox[aria-label="${setting}"]`);
    await box.click();
    await this.until(`${setting} ticked`, async () => (await box.getAttribute("aria-checked")) === "true");
    await this.closeTab("Settings");
  }

  async openFile(name) {
    await this.page.keyboard.press("Control+P");
    await this.page.locator(".quick-input-widget input").fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: name }).first().click();
    await this.page.locator(".tab.active").filter({ hasText: name }).waitFor();
  }

  async closeTab(name) {
    const tab = this.page.locator(".tab").filter({ hasText: name });
    await tab.hover();
    await tab.locator(".tab-actions .action-label").first().click();
    await tab.waitFor({ state: "detached" });
  }

  isDirty() {
    return this.page.locator(".tab.active.dirty").count().then((n) => n > 0);
  }
}
