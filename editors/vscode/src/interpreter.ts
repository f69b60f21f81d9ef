/** The interpreter that is chosen in the Python extension, where there is one. */
import * as vscode from "vscode";

/** The part of ms-python.python's API that is used (its package @vscode/python-extension would be a dependency for ten lines). */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { id: string; path: string };
    resolveEnvironment(environment: { id: string; path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function api(): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (!extension) return undefined;
  try {
    const exported = extension.isActive ? extension.exports : await extension.activate();
    return exported?.environments ? exported : undefined;
  } catch {
    return undefined; // it says itself what failed
  }
}

/** undefined: there is none, or the workspace is not trusted: an environment may lie in it, and what it holds would be run. */
export async function chosenInterpreter(): Promise<string | undefined> {
  if (!vscode.workspace.isTrusted) return undefined;
  const environments = (await api())?.environments;
  if (!environments) return undefined;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const active = environments.getActiveEnvironmentPath(folder);
  const resolved = await environments.resolveEnvironment(active);
  return resolved?.executable.uri?.fsPath;
}

/** Calls changed whenever another one was chosen. */
export async function followInterpreter(changed: () => void): Promise<vscode.Disposable | undefined> {
  return (await api())?.environments.onDidChangeActiveEnvironmentPath(changed);
}
