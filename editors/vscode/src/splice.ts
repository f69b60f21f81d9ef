/** A text with edits made.  Knows no VS Code. */

export interface Splice {
  start: number;
  end: number;
  text: string;
}

/** Edits do not overlap, and are in any order. */
export function spliced(text: string, edits: readonly Splice[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    parts.push(text.slice(from, edit.start), edit.text);
    from = edit.end;
  }
  return parts.join("") + text.slice(from);
}
