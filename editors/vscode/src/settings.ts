/** What the server is told of the settings: only what somebody set.  A default that is sent would go before pyproject.toml. */

export interface Inspected {
  globalValue?: unknown;
  workspaceValue?: unknown;
  workspaceFolderValue?: unknown;
}

export type Settings = { [key: string]: unknown };

/** The keys of the manifest that the extension keeps to itself, below "graphglue.". */
export const OWN = ["server.path", "editorModel", "editorModelFamily", "trace.server", "logLevel"];

/** The value that holds, undefined where only the default does.  VS Code leaves out what an untrusted workspace may not say. */
function chosen(inspected: Inspected | undefined): unknown {
  return inspected?.workspaceFolderValue ?? inspected?.workspaceValue ?? inspected?.globalValue;
}

/**
 * {"capture.run": "manual"} as {capture: {run: "manual"}}.
 * get gives the value in force, which VS Code merges for objects; inspect tells whether anybody set it.
 */
export function explicit(
  keys: readonly string[],
  inspect: (key: string) => Inspected | undefined,
  get: (key: string) => unknown,
): Settings {
  const out: Settings = {};
  for (const key of keys) {
    const value = chosen(inspect(key)) === undefined ? undefined : get(key);
    if (value === undefined || value === null) continue;
    const parts = key.split(".");
    let at = out;
    for (const part of parts.slice(0, -1)) at = (at[part] ??= {}) as Settings;
    at[parts[parts.length - 1] as string] = value;
  }
  return out;
}

/** The leaves of settings, as dotted keys. */
export function keysOf(settings: Settings, known: readonly string[], prefix = ""): string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const key = prefix + name;
    const deeper = !known.includes(key) && typeof value === "object" && value !== null;
    return deeper ? keysOf(value as Settings, known, `${key}.`) : [key];
  });
}

/** A key that is absent leaves the server's setting as it is, so what somebody took away needs a new start. */
export function isSomethingGone(before: Settings, after: Settings, known: readonly string[]): boolean {
  const left = keysOf(after, known);
  return keysOf(before, known).some((key) => !left.includes(key));
}
