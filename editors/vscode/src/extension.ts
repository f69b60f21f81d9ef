/** What VS Code starts for the first Python file. */
import * as vscode from "vscode";
import { registerCommands } from "./commands";
import { Documents } from "./documents";
import { followInterpreter } from "./interpreter";
import { Server } from "./server";
import { StatusItem } from "./statusItem";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("Graphglue");
  const trace = vscode.window.createOutputChannel("Graphglue Trace");
  const documents = new Documents();
  const started = new Server(context, output, trace, documents);
  server = started;
  context.subscriptions.push(
    output,
    trace,
    documents,
    started,
    new StatusItem(started),
    ...registerCommands(started, documents, output, context.extension.id),
    vscode.workspace.onDidChangeConfiguration((event) => started.configured(event)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void started.restart()),
  );
  void started.restart();
  const following = await followInterpreter(() => void started.interpreterChanged());
  if (following) context.subscriptions.push(following);
  await started.interpreterChanged();
}

export async function deactivate(): Promise<void> {
  await server?.end();
}
