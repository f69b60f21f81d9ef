/** The interpreters that `graphglue-lsp doctor --json` found, as a list to choose from.  Knows no VS Code. */

export interface Choice {
  label: string;
  description: string;
  detail: string;
  interpreter: string;
}

interface Found {
  interpreter?: unknown;
  why?: unknown;
  torch?: unknown;
}

/** Those that have torch come first.  Throws where said is no report. */
export function choicesOf(said: string): Choice[] {
  const { found = [] } = JSON.parse(said) as { found?: Found[] };
  const choices = found.flatMap(({ interpreter, why, torch }) =>
    typeof interpreter === "string"
      ? [{ interpreter, label: typeof torch === "string" ? `torch ${torch}` : "no torch", description: interpreter, detail: String(why ?? "") }]
      : [],
  );
  const lacks = (choice: Choice): number => Number(choice.label === "no torch");
  return choices.sort((a, b) => lacks(a) - lacks(b));
}
