/** The status bar's words, from what the server says of itself and of the file in front.  Knows no VS Code. */

/** The part of the answer to graphglue.status that is looked at. */
export interface ServerStatus {
  trusted: boolean;
  workers: {
    folder: string;
    state: "off" | "starting" | "ready" | "failed";
    python: string | null;
    torch: string | null;
    error: string | null;
  }[];
  captures: number;
  verifications: number;
}

export interface FileFindings {
  path: string;
  breaks: number;
  predicted: number;
}

export type Server = "missing" | "starting" | "running" | "stopped";

export interface Shown {
  text: string;
  tooltip: string;
  look: "plain" | "warning" | "error";
  /** Something is under way: ask again soon. */
  busy: boolean;
}

/** What is read of a diagnostic. */
export interface Finding {
  source?: string;
  code?: string | number | { value: string | number };
  message: string;
}

/** Breaks that a run met, and those that the text alone tells. */
export function countFindings(path: string, diagnostics: readonly Finding[]): FileFindings {
  const ours = diagnostics.filter((d) => {
    const code = typeof d.code === "object" ? d.code.value : d.code;
    return d.source === "graphglue" && typeof code === "string" && /^GB\d{4}$/.test(code);
  });
  const predicted = ours.filter((d) => d.message.includes("(predicted")).length;
  return { path, breaks: ours.length - predicted, predicted };
}

function counted(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

function liesBelow(file: string, folder: string): boolean {
  return file === folder || file.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

function workerOf(status: ServerStatus, file: string | undefined): ServerStatus["workers"][number] | undefined {
  const around = status.workers.filter((w) => file === undefined || liesBelow(file, w.folder));
  return around.sort((a, b) => b.folder.length - a.folder.length)[0];
}

/** status is undefined until the server has answered. */
export function statusWords(server: Server, status: ServerStatus | undefined, file: FileFindings | undefined): Shown {
  const shown = (icon: string, words: string, tooltip: string, look: Shown["look"] = "plain", busy = false): Shown => ({
    text: `$(${icon}) ${words}`,
    tooltip,
    look,
    busy,
  });
  if (server === "missing") return shown("error", "graphglue: no server", "graphglue-lsp was not found", "error");
  if (server === "stopped") return shown("error", "graphglue: stopped", "The server does not run. Its output says why.", "error");
  if (server === "starting" || status === undefined) return shown("sync~spin", "graphglue", "The server starts", "plain", true);
  if (!status.trusted)
    return shown("shield", "graphglue: not trusted", "Only what the text tells is shown: finding graph breaks runs your code.", "warning");
  const worker = workerOf(status, file?.path);
  if (worker?.state === "failed") {
    const words = worker.torch ? "graphglue: worker ended" : "graphglue: no torch";
    return shown("warning", words, worker.error ?? "The worker ended", "warning", status.captures > 0);
  }
  const where = worker?.torch ? `torch ${worker.torch}${worker.python ? `, ${worker.python}` : ""}` : "Nothing was run yet";
  if (worker?.state === "starting") return shown("sync~spin", "graphglue: starting torch", worker.python ?? "", "plain", true);
  if (status.verifications > 0) return shown("sync~spin", "graphglue: proving", where, "plain", true);
  if (status.captures > 0) return shown("sync~spin", "graphglue: analyzing", where, "plain", true);
  if (file === undefined) return shown("link", "graphglue", where);
  if (file.breaks) return shown("debug-disconnect", counted(file.breaks, "break"), where);
  if (file.predicted) return shown("debug-disconnect", `${file.predicted} predicted`, where);
  return shown("link", "graphglue: no breaks", `None found. ${where}`);
}
