/** An edit looked at before it is applied: VS Code's comparison of the file with what it will be, and a question.  What was proved is the whole
 *  edit, so it is applied whole or not at all (VS Code's own refactor preview would apply the parts that are ticked). */
import * as path from "node:path";
import * as vscode from "vscode";
import type { Documents } from "./documents";
import { spliced } from "./splice";

const CONTEXT = "graphglue.previewing";

/** Of one document; undefined for an edit of several, or of none. */
function edited(edit: vscode.WorkspaceEdit): { document: vscode.TextDocument; edits: vscode.TextEdit[] } | undefined {
  const [entry, ...more] = edit.entries();
  const document = entry && vscode.workspace.textDocuments.find((d) => d.uri.toString() === entry[0].toString());
  return document && more.length === 0 ? { document, edits: entry[1] } : undefined;
}

export class Previews {
  private decide: ((accepted: boolean) => void) | undefined;

  constructor(private readonly documents: Documents) {}

  /** Of the commands in the title of the comparison. */
  answer(accepted: boolean): void {
    this.decide?.(accepted);
  }

  /** The same edit, to be applied without another look; undefined: the person wants it not, or the file has changed meanwhile. */
  async confirmed(edit: vscode.WorkspaceEdit, title: string): Promise<vscode.WorkspaceEdit | undefined> {
    const one = edited(edit);
    if (!one) return undefined;
    const { document, edits } = one;
    const version = document.version;
    const splices = edits.map((e) => ({ start: document.offsetAt(e.range.start), end: document.offsetAt(e.range.end), text: e.newText }));
    const proposed = this.documents.put(path.basename(document.uri.fsPath), spliced(document.getText(), splices));
    if (!(await this.ask(document.uri, proposed, title))) return undefined;
    if (document.version !== version) {
      void vscode.window.showWarningMessage("Graphglue: the file changed meanwhile; nothing was applied.");
      return undefined;
    }
    const plain = new vscode.WorkspaceEdit();
    plain.set(document.uri, edits);
    return plain;
  }

  private async ask(original: vscode.Uri, proposed: vscode.Uri, title: string): Promise<boolean> {
    this.answer(false); // one that is still open is given up
    const shown = (): vscode.Tab | undefined =>
      vscode.window.tabGroups.all
        .flatMap((group) => group.tabs)
        .find((tab) => tab.input instanceof vscode.TabInputTextDiff && tab.input.modified.toString() === proposed.toString());
    await vscode.commands.executeCommand("vscode.diff", original, proposed, `${title}: apply it?`, { preview: true });
    await vscode.commands.executeCommand("setContext", CONTEXT, true);
    const apply = "Apply";
    const decided = new Promise<boolean>((resolve) => {
      this.decide = resolve;
    });
    const mine = this.decide;
    const closed = vscode.window.tabGroups.onDidChangeTabs(() => {
      if (!shown()) mine?.(false);
    });
    void vscode.window.showInformationMessage(`Graphglue: ${title}. It was proved; apply it?`, apply, "Discard").then((chosen) => {
      if (chosen !== undefined) mine?.(chosen === apply); // put away unread: the comparison still asks
    });
    const accepted = await decided;
    closed.dispose();
    if (this.decide === mine) {
      this.decide = undefined;
      await vscode.commands.executeCommand("setContext", CONTEXT, false);
    }
    const tab = shown();
    if (tab) await vscode.window.tabGroups.close(tab);
    return accepted;
  }
}
