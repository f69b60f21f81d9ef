/** The palette's commands.  The server's own (graphglue.*) are registered by the language client, so these are graphglue.client.*. */
import { execFile } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Documents } from "./documents";
import { picturePage } from "./picture";
import { type Choice, choicesOf } from "./pythons";
import { type Server, askForTrust } from "./server";

const DOCTOR_MS = 60_000;

interface Graphs {
  entries: { name: string; title: string; text: string; svg: string }[];
}

function openFile(): vscode.TextDocument | undefined {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId === "python" && document.uri.scheme === "file") return document;
  void vscode.window.showWarningMessage("Graphglue: open a Python file first.");
  return undefined;
}

/** The URI as the language client says it. */
function uriOf(document: vscode.TextDocument): string {
  return document.uri.toString();
}

async function graphs(server: Server): Promise<(Graphs & { file: string }) | undefined> {
  const document = openFile();
  const answer = document && (await server.execute<Graphs>("graphglue.showGraph", uriOf(document)));
  if (!document || !answer) return undefined;
  const file = path.basename(document.uri.fsPath);
  if (answer.entries.length) return { ...answer, file };
  void vscode.window.showInformationMessage(`Graphglue: nothing of ${file} was run. Has it example inputs?`);
  return undefined;
}

async function showGraph(server: Server, documents: Documents): Promise<void> {
  const found = await graphs(server);
  if (found) await documents.show(`Graphs of ${found.file}`, found.entries.map((e) => e.text).join("\n"));
}

async function showPicture(server: Server): Promise<void> {
  const found = await graphs(server);
  if (!found) return;
  const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
  const panel = vscode.window.createWebviewPanel("graphglue.graph", `Graphs of ${found.file}`, column, {
    enableScripts: false,
    localResourceRoots: [],
  });
  panel.webview.html = picturePage(found.entries);
}

/** What the light bulb offers at the cursor with a model, by its command.  undefined: then the user was told that there is none. */
async function offered(command: string): Promise<vscode.Command | undefined> {
  const document = openFile();
  const selection = vscode.window.activeTextEditor?.selection;
  if (!document || !selection) return undefined;
  const actions = await vscode.commands.executeCommand<(vscode.Command | vscode.CodeAction)[]>(
    "vscode.executeCodeActionProvider",
    document.uri,
    selection,
  );
  const commands = actions.map((a) => (typeof a.command === "object" ? a.command : (a as vscode.Command)));
  const found = commands.find((c) => c.command === command);
  if (found) return found;
  void vscode.window.showInformationMessage(
    "Graphglue: no model would be asked here. Put the cursor on a graph break; a model has to be configured, or lent by graphglue.editorModel.",
  );
  return undefined;
}

/** As the light bulb does it. */
async function withModel(command: string): Promise<void> {
  const chosen = await offered(command);
  if (chosen) await vscode.commands.executeCommand(chosen.command, ...(chosen.arguments ?? []));
}

async function showPrompt(server: Server, documents: Documents): Promise<void> {
  const asks = await offered("graphglue.glueWithModel");
  const answer = asks && (await server.execute<{ text: string }>("graphglue.showPrompt", ...(asks.arguments ?? [])));
  if (answer) await documents.show("Prompt", answer.text);
}

async function showRepairLog(server: Server, documents: Documents): Promise<void> {
  const answer = await server.execute<{ text: string }>("graphglue.showRepairLog");
  if (answer) await documents.show("Repair log", answer.text);
}

/** A program of ours in a terminal that stays; it runs code of the workspace, so only where that is trusted. */
async function inTerminal(server: Server, name: string, args: string[]): Promise<void> {
  if (!vscode.workspace.isTrusted) return askForTrust();
  if (!server.program) {
    await server.restart(); // says what is missing
    return;
  }
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const execution = new vscode.ProcessExecution(server.program, args, cwd ? { cwd } : {});
  const task = new vscode.Task({ type: "graphglue", name }, vscode.TaskScope.Workspace, name, "graphglue", execution, []);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: true, panel: vscode.TaskPanelKind.Dedicated, clear: true };
  await vscode.tasks.executeTask(task);
}

/** What doctor finds: it looks into each environment, and starts the one that is used. */
function pythonsInReach(program: string): Promise<Choice[]> {
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const said = new Promise<string>((resolve) => {
    execFile(program, ["doctor", "--json"], { cwd, timeout: DOCTOR_MS }, (_failed, stdout) => resolve(stdout)); // one without torch fails
  });
  return said.then(choicesOf).catch(() => []);
}

/** The Python extension's own list, where there is one; else those in reach, into the setting graphglue.python. */
async function choosePython(server: Server): Promise<void> {
  if (vscode.extensions.getExtension("ms-python.python")) return void vscode.commands.executeCommand("python.setInterpreter");
  if (!vscode.workspace.isTrusted) return askForTrust();
  if (!server.program) return server.restart(); // says what is missing
  const browse = { label: "$(folder) Browse…", description: "", detail: "bin/python of an environment", interpreter: "" };
  const found = pythonsInReach(server.program).then((choices) => [...choices, browse]);
  const chosen = await vscode.window.showQuickPick(found, {
    title: "The Python that has torch and your packages",
    placeHolder: "Looking for environments takes some seconds",
    matchOnDescription: true,
  });
  const opened = chosen === browse ? await vscode.window.showOpenDialog({ title: "bin/python of an environment" }) : undefined;
  const python = opened?.[0]?.fsPath ?? chosen?.interpreter;
  if (!python) return;
  const configuration = vscode.workspace.getConfiguration("graphglue");
  const here = configuration.inspect("python")?.workspaceValue !== undefined; // it goes before the user's
  await configuration.update("python", python, here ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global);
}

async function recordInputs(server: Server): Promise<void> {
  const document = openFile();
  if (!document) return;
  const program = ["--", server.python ?? "python3", document.uri.fsPath];
  await inTerminal(server, "Record inputs", ["record", ...program]);
}

async function menu(server: Server): Promise<void> {
  const item = (label: string, command: string): vscode.QuickPickItem & { command: string } => ({ label, command });
  const trusted = vscode.workspace.isTrusted;
  const environment = [
    item("$(snake) Choose Python", "graphglue.client.choosePython"),
    item("$(pulse) Doctor", "graphglue.client.doctor"),
  ];
  const runs = [
    item("$(play) Analyze File", "graphglue.client.analyze"),
    item("$(wand) Glue All", "graphglue.client.glueAll"),
    item("$(type-hierarchy) Show Graph", "graphglue.client.showGraph"),
  ];
  const chosen = await vscode.window.showQuickPick(
    [
      ...(!trusted ? [item("$(shield) Manage Workspace Trust", "workbench.trust.manage")] : server.state === "running" ? runs : []),
      ...(trusted ? environment : []),
      item("$(rocket) Get Started", "graphglue.client.walkthrough"),
      item("$(refresh) Restart Server", "graphglue.client.restart"),
      item("$(output) Show Output", "graphglue.client.showOutput"),
    ],
    { title: "Graphglue" },
  );
  if (chosen) await vscode.commands.executeCommand(chosen.command);
}

export function registerCommands(
  server: Server,
  documents: Documents,
  output: vscode.OutputChannel,
  extension: string,
): vscode.Disposable[] {
  const onFile = (command: string) => async (): Promise<void> => {
    const document = openFile();
    if (document) await server.execute(command, uriOf(document));
  };
  const commands: { [name: string]: () => unknown } = {
    analyze: onFile("graphglue.capture"),
    glueAll: onFile("graphglue.glueAll"),
    writeInputs: onFile("graphglue.writeInputs"),
    recordInputs: () => recordInputs(server),
    showGraph: () => showGraph(server, documents),
    showPicture: () => showPicture(server),
    applyEdit: () => server.previews.answer(true),
    discardEdit: () => server.previews.answer(false),
    explain: () => withModel("graphglue.explain"),
    glueWithModel: () => withModel("graphglue.glueWithModel"),
    showPrompt: () => showPrompt(server, documents),
    showRepairLog: () => showRepairLog(server, documents),
    choosePython: () => choosePython(server),
    doctor: () => inTerminal(server, "Doctor", ["doctor", ...(server.python ? ["--python", server.python] : [])]),
    restart: () => server.restart(),
    showOutput: () => output.show(),
    walkthrough: () => vscode.commands.executeCommand("workbench.action.openWalkthrough", `${extension}#start`, false),
    menu: () => menu(server),
  };
  return Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(`graphglue.client.${name}`, run));
}
