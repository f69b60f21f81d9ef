/** The server's life: found, started with what it has to know, told of changes, started again when that is the only way. */
import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import {
  type ApplyWorkspaceEditParams,
  type ApplyWorkspaceEditResult,
  ExecuteCommandRequest,
  LanguageClient,
  type LanguageClientOptions,
  ResponseError,
  State,
  TextDocumentEdit,
} from "vscode-languageclient/node";
import type { Documents } from "./documents";
import { isLent, lendModel } from "./editorModel";
import { type Found, findServer } from "./findServer";
import { chosenInterpreter } from "./interpreter";
import { Previews } from "./preview";
import { OWN, type Settings, explicit, isSomethingGone } from "./settings";
import type { Server as ServerState, ServerStatus } from "./statusWords";

/** Commands whose refusal the server tells the user itself. */
const SPEAKS = ["glue", "glueAll", "glueWithModel", "bench", "showPrompt", "writeInputs"].map((name) => `graphglue.${name}`);

/** Ends what the server says of a workspace that is not trusted. */
const TRUST_HELP = "use the command “Workspaces: Manage Workspace Trust”";

/** Commands that answer with something to read, and the name of its tab. */
const READ: { [command: string]: string } = { "graphglue.explain": "Explanation", "graphglue.showPrompt": "Prompt" };

/** The Python extension may look for environments for long; what it finds later is followed. */
const INTERPRETER_MS = 3000;

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function logLevel(): string {
  return vscode.workspace.getConfiguration("graphglue").get<string>("logLevel", "info");
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private queue: Promise<void> = Promise.resolve();
  private interpreter: string | undefined;
  private sent: Settings = {};
  private lent = false;
  private missing = false;
  private readonly keys: string[];
  private readonly changed = new vscode.EventEmitter<void>();
  /** The state changed, or something happened after which the status may be another. */
  readonly onDidChange = this.changed.event;
  readonly previews: Previews;
  program: string | undefined;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly output: vscode.OutputChannel,
    private readonly trace: vscode.OutputChannel,
    private readonly documents: Documents,
  ) {
    this.previews = new Previews(documents);
    const sections = context.extension.packageJSON.contributes.configuration as { properties: object }[];
    this.keys = sections
      .flatMap((section) => Object.keys(section.properties))
      .map((key) => key.replace(/^graphglue\./, ""))
      .filter((key) => !OWN.includes(key));
  }

  get state(): ServerState {
    if (this.client === undefined) return this.missing ? "missing" : "stopped";
    if (this.client.state === State.Starting) return "starting";
    return this.client.state === State.Running ? "running" : "stopped";
  }

  /** The interpreter that the server is told: the setting's, else the one chosen in the Python extension. */
  get python(): string | undefined {
    return (this.settings()["python"] as string | undefined) || undefined;
  }

  private settings(): Settings {
    const configuration = vscode.workspace.getConfiguration("graphglue");
    const out = explicit(this.keys, (key) => configuration.inspect(key), (key) => configuration.get(key));
    if (!out["python"] && this.interpreter) out["python"] = this.interpreter;
    return out;
  }

  private find(): Found {
    return findServer(
      {
        setting: vscode.workspace.getConfiguration("graphglue").get<string>("server.path", ""),
        interpreter: this.interpreter,
        searchPath: process.env["PATH"] ?? "",
        home: homedir(),
        extensionFolder: this.context.extensionPath,
      },
      isExecutable,
    );
  }

  /** One after the other: a start is not asked for while another one is under way. */
  private inTurn(act: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(act).catch((error: unknown) => {
      this.output.appendLine(`[client] ${wordsOf(error)}`);
      this.changed.fire();
    });
    return this.queue;
  }

  restart(): Promise<void> {
    return this.inTurn(async () => {
      await this.stop();
      await this.start();
    });
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      this.output.appendLine(`[client] ${wordsOf(error)}`); // it had ended, or does not answer: it is let go either way
    }
  }

  private async start(): Promise<void> {
    const late = new Promise<undefined>((resolve) => setTimeout(resolve, INTERPRETER_MS, undefined));
    this.interpreter = await Promise.race([chosenInterpreter(), late]);
    const found = this.find();
    this.missing = found.program === undefined;
    this.program = found.program;
    this.changed.fire();
    if (found.program === undefined) {
      this.output.appendLine(`[client] no graphglue-lsp: looked for ${found.tried.join(", ")}`);
      void this.tellMissing(found.tried);
      return;
    }
    this.output.appendLine(`[client] ${found.program} (${found.from})`);
    this.sent = this.settings();
    this.lent = isLent();
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const cwd = folder?.scheme === "file" ? folder.fsPath : path.dirname(found.program);
    const client = new LanguageClient(
      "graphglue",
      "Graphglue",
      { command: found.program, args: ["--stdio", "--log-level", logLevel()], options: { cwd } },
      this.clientOptions(),
    );
    this.client = client;
    lendModel(client, (code, message) => new ResponseError(code, message));
    client.onRequest("workspace/applyEdit", (params: ApplyWorkspaceEditParams) => this.applyEdit(client, params));
    client.onDidChangeState(() => this.changed.fire());
    await client.start();
    this.changed.fire();
  }

  private clientOptions(): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: "file", language: "python" }],
      initializationOptions: () => ({ ...this.settings(), trusted: vscode.workspace.isTrusted, trustHelp: TRUST_HELP }),
      outputChannel: this.output,
      traceOutputChannel: this.trace,
      middleware: {
        workspace: {
          configuration: ({ items }) => items.map(({ section }) => (section === "graphglue" ? this.settings() : null)),
          // Without sections the client says only that something changed, and the server asks.  With them it would send defaults too.
          didChangeConfiguration: async (_sections, next) => {
            try {
              if (this.state === "running") await next(undefined);
            } catch (error) {
              this.output.appendLine(`[client] ${wordsOf(error)}`); // it is being stopped: the next one is told when it starts
            }
          },
        },
        resolveCodeAction: async (action, token, next) => {
          const proved = next(action, token); // an edit is verified meanwhile
          this.changed.fire();
          try {
            return await this.looked(await proved);
          } finally {
            this.changed.fire();
          }
        },
        executeCommand: async (command, args, next) => {
          try {
            const asked: Promise<unknown> = Promise.resolve(next(command, args));
            this.changed.fire();
            const answer = await asked;
            await this.show(command, answer);
            return answer;
          } catch (error) {
            this.tellFailure(command, error);
            return undefined;
          } finally {
            this.changed.fire();
          }
        },
      },
    };
  }

  /** An action whose edit was looked at, where that is wanted; without its edit, where it was not liked. */
  private async looked(action: vscode.CodeAction | null | undefined): Promise<vscode.CodeAction | null | undefined> {
    const wanted = vscode.workspace.getConfiguration("graphglue").get<boolean>("preview") === true;
    const fixAll = action?.kind && vscode.CodeActionKind.SourceFixAll.contains(action.kind); // on save: nobody waits there
    if (!action?.edit || !wanted || fixAll) return action;
    const edit = await this.previews.confirmed(action.edit, action.title);
    if (edit) action.edit = edit;
    else delete action.edit;
    return action;
  }

  /** workspace/applyEdit, with a look first where the server wants one. */
  private async applyEdit(client: LanguageClient, params: ApplyWorkspaceEditParams): Promise<ApplyWorkspaceEditResult> {
    const { documentChanges = [], changeAnnotations = {} } = params.edit;
    const isCurrent = documentChanges.every((change) => {
      if (!TextDocumentEdit.is(change) || change.textDocument.version === null) return true;
      const open = vscode.workspace.textDocuments.find((d) => client.code2ProtocolConverter.asUri(d.uri) === change.textDocument.uri);
      return open === undefined || open.version === change.textDocument.version;
    });
    if (!isCurrent) return { applied: false, failureReason: "the file has changed" };
    const [look] = Object.values(changeAnnotations).filter((annotation) => annotation.needsConfirmation);
    const given = await client.protocol2CodeConverter.asWorkspaceEdit(params.edit);
    const edit = look ? await this.previews.confirmed(given, look.label) : given;
    return edit ? { applied: await vscode.workspace.applyEdit(edit) } : { applied: false, failureReason: "it was not wanted" };
  }

  /** What a command of the light bulb answers is read, where it is for reading. */
  private async show(command: string, answer: unknown): Promise<void> {
    const text = (answer as { text?: unknown } | null)?.text;
    const name = READ[command];
    if (name !== undefined && typeof text === "string") await this.documents.show(name, text);
  }

  /** undefined when it failed: then the user was told. */
  async execute<T>(command: string, ...args: unknown[]): Promise<T | undefined> {
    const client = this.client;
    if (client === undefined || this.state !== "running") {
      void vscode.window.showWarningMessage("Graphglue: the server does not run.");
      return undefined;
    }
    try {
      const answer = client.sendRequest(ExecuteCommandRequest.type, { command, arguments: args });
      this.changed.fire();
      return (await answer) as T;
    } catch (error) {
      this.tellFailure(command, error);
      return undefined;
    } finally {
      this.changed.fire();
    }
  }

  /** undefined while it does not run. */
  async status(): Promise<ServerStatus | undefined> {
    if (this.client === undefined || this.state !== "running") return undefined;
    try {
      return (await this.client.sendRequest(ExecuteCommandRequest.type, { command: "graphglue.status" })) as ServerStatus;
    } catch {
      return undefined; // it ends just now
    }
  }

  private tellFailure(command: string, error: unknown): void {
    this.output.appendLine(`[client] ${command}: ${wordsOf(error)}`);
    const code = (error as { code?: unknown }).code;
    if (code === -32800 || SPEAKS.includes(command)) return;
    if (!vscode.workspace.isTrusted) void askForTrust();
    else void vscode.window.showWarningMessage(`Graphglue: ${wordsOf(error)}`);
  }

  private async tellMissing(tried: string[]): Promise<void> {
    const set = "Set Its Path";
    const how = "How to Install";
    const chosen = await vscode.window.showErrorMessage(`Graphglue: no graphglue-lsp. Looked for: ${tried.join(", ")}.`, set, how);
    if (chosen === set) await vscode.commands.executeCommand("workbench.action.openSettings", "graphglue.server.path");
    if (chosen === how) await vscode.commands.executeCommand("extension.open", this.context.extension.id);
  }

  /** The settings changed.  The server asks for them itself; some are told only when it starts. */
  configured(event: vscode.ConfigurationChangeEvent): void {
    if (!event.affectsConfiguration("graphglue")) return;
    const settings = this.settings();
    const again =
      ["server.path", "logLevel"].some((key) => event.affectsConfiguration(`graphglue.${key}`)) || isLent() !== this.lent || isSomethingGone(this.sent, settings, this.keys);
    this.sent = settings;
    if (again) void this.restart();
  }

  /** Another interpreter was chosen: the server may be another one, else it is told. */
  async interpreterChanged(): Promise<void> {
    const before = this.interpreter;
    const now = await chosenInterpreter();
    if (now === before) return;
    this.interpreter = now;
    const settings = this.settings();
    const again = this.find().program !== this.program || isSomethingGone(this.sent, settings, this.keys);
    this.sent = settings;
    if (again || this.state !== "running") await this.restart();
    else await this.client?.sendNotification("workspace/didChangeConfiguration", { settings: null });
  }

  dispose(): void {
    this.changed.dispose();
  }

  /** Awaited when the extension ends. */
  end(): Promise<void> {
    return this.inTurn(() => this.stop());
  }
}

export async function askForTrust(): Promise<void> {
  const manage = "Manage Workspace Trust";
  const chosen = await vscode.window.showWarningMessage(
    "Graphglue: finding graph breaks runs your code, and this workspace is not trusted.",
    manage,
  );
  if (chosen === manage) await vscode.commands.executeCommand("workbench.trust.manage");
}

