/** Where the server is: the setting, the chosen Python environment, PATH, or what came with the extension.  Knows no VS Code. */
import * as path from "node:path";

export const PROGRAM = "graphglue-lsp";

export interface Places {
  /** graphglue.server.path; "" for none.  A name without a folder is looked for on PATH. */
  setting: string;
  /** The chosen Python interpreter: the server may be installed beside it.  undefined while it may not be trusted, or none is chosen. */
  interpreter: string | undefined;
  /** $PATH */
  searchPath: string;
  home: string;
  extensionFolder: string;
}

export type Found = { program: string; from: "setting" | "environment" | "path" | "bundled" } | { program: undefined; tried: string[] };

export function expandHome(name: string, home: string): string {
  return name === "~" || name.startsWith("~/") ? path.join(home, name.slice(1)) : name;
}

function onPath(name: string, searchPath: string): string[] {
  // A relative part of PATH means the folder one happens to be in, which is a workspace's: never run what lies there.
  return searchPath.split(path.delimiter).filter(path.isAbsolute).map((folder) => path.join(folder, name));
}

/** A setting that leads nowhere is not passed over: its user is told, instead of being given another server. */
export function findServer(places: Places, isExecutable: (file: string) => boolean): Found {
  const setting = expandHome(places.setting.trim(), places.home);
  const first = (files: string[]): string | undefined => files.find(isExecutable);
  if (setting) {
    const files = setting.includes("/") ? [setting] : onPath(setting, places.searchPath);
    const program = path.isAbsolute(setting) || !setting.includes("/") ? first(files) : undefined;
    return program ? { program, from: "setting" } : { program: undefined, tried: [`graphglue.server.path: ${setting}`] };
  }
  const inEnvironment = places.interpreter ? path.join(path.dirname(places.interpreter), PROGRAM) : undefined;
  const bundled = path.join(places.extensionFolder, "server", "bin", PROGRAM);
  if (inEnvironment && isExecutable(inEnvironment)) return { program: inEnvironment, from: "environment" };
  const program = first(onPath(PROGRAM, places.searchPath));
  if (program) return { program, from: "path" };
  if (isExecutable(bundled)) return { program: bundled, from: "bundled" };
  return { program: undefined, tried: [...(inEnvironment ? [inEnvironment] : []), "PATH", bundled] };
}
