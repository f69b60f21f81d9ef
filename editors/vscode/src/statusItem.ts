/** The item in the status bar: asks the server after whatever may have changed its state, and again while something is under way. */
import * as vscode from "vscode";
import type { Server } from "./server";
import { type FileFindings, countFindings, statusWords } from "./statusWords";

const SETTLE_MS = 150;
const BUSY_MS = 700;

/** The Python file in front, else the one that was last: graphs, terminals and settings take nothing away from what is known of it. */
class LastFile {
  private uri: vscode.Uri | undefined;

  findings(): FileFindings | undefined {
    const document = vscode.window.activeTextEditor?.document;
    if (document?.languageId === "python" && document.uri.scheme === "file") this.uri = document.uri;
    else if (document && document.uri.scheme === "file") this.uri = undefined; // another language is worked on
    return this.uri && countFindings(this.uri.fsPath, vscode.languages.getDiagnostics(this.uri));
  }

  closed(document: vscode.TextDocument): void {
    if (document.uri.toString() === this.uri?.toString()) this.uri = undefined;
  }
}

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("graphglue.status", vscode.StatusBarAlignment.Right, 50);
  private readonly disposables: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  private asked = 0;
  private readonly file = new LastFile();

  constructor(private readonly server: Server) {
    this.item.name = "Graphglue";
    this.item.command = "graphglue.client.menu";
    const soon = (): void => this.in(SETTLE_MS);
    this.disposables = [
      this.item,
      server.onDidChange(soon),
      vscode.languages.onDidChangeDiagnostics(soon),
      vscode.window.onDidChangeActiveTextEditor(soon),
      vscode.workspace.onDidSaveTextDocument(soon),
      vscode.workspace.onDidCloseTextDocument((document) => {
        this.file.closed(document);
        soon();
      }),
    ];
    soon();
  }

  private in(delay: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.update(), delay);
  }

  private async update(): Promise<void> {
    const turn = ++this.asked;
    const status = await this.server.status();
    if (turn !== this.asked) return; // a later one asks
    const shown = statusWords(this.server.state, status, this.file.findings());
    this.item.text = shown.text;
    this.item.tooltip = shown.tooltip;
    const colours = { plain: undefined, warning: "statusBarItem.warningBackground", error: "statusBarItem.errorBackground" };
    const colour = colours[shown.look];
    this.item.backgroundColor = colour ? new vscode.ThemeColor(colour) : undefined;
    this.item.show();
    if (shown.busy) this.in(BUSY_MS);
  }

  dispose(): void {
    this.asked++;
    clearTimeout(this.timer);
    for (const d of this.disposables) d.dispose();
  }
}
