/** The page of a webview that shows SVG as images: no script runs, in it or in them.  Knows no VS Code. */

function escape(text: string): string {
  const names: { [letter: string]: string } = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (letter) => names[letter] as string);
}

/** A picture has its title in itself. */
export function picturePage(entries: readonly { title: string; svg: string }[]): string {
  const figures = entries.map(({ title, svg }) => {
    const data = Buffer.from(svg, "utf8").toString("base64");
    return `<img alt="${escape(title)}" src="data:image/svg+xml;base64,${data}">`;
  });
  const head = `<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>img { display: block; max-width: 100%; margin: 8px 0; }</style>`;
  return `<!DOCTYPE html>\n<html>\n<head>\n${head}\n</head>\n<body>\n${figures.join("\n")}\n</body>\n</html>\n`;
}
