/** The server's request graphglue/model (docs/model.md), answered by a model that the editor lends.  Knows no VS Code: see editorModel.ts. */

export interface ModelParams {
  system?: string;
  messages: { role: "user" | "assistant"; content: string }[];
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  schema?: unknown;
}

export interface ModelResult {
  text: string;
  inputTokens?: number;
  outputTokens?: number;
}

export interface Message {
  role: "user" | "assistant";
  content: string;
}

/** What is asked of a model; the real one is vscode.lm's. */
export interface Model {
  send(messages: Message[]): Promise<AsyncIterable<string>>;
  count(text: string): Promise<number>;
}

export interface Cancel {
  readonly isCancellationRequested: boolean;
}

/** As the server takes no larger one. */
export const MAX_TEXT_CHARS = 1024 * 1024;

export const CANCELED = -32800;
export const FAILED = -32603;

export class BridgeError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

function isMessage(value: unknown): value is Message {
  const m = value as Partial<Message> | null;
  return typeof m === "object" && m !== null && (m.role === "user" || m.role === "assistant") && typeof m.content === "string";
}

/** Editors' models know no system role and take no schema: both are said in words, in the first message. */
export function messagesOf(params: ModelParams): Message[] {
  if (!Array.isArray(params.messages) || params.messages.length === 0 || !params.messages.every(isMessage))
    throw new BridgeError(-32602, "params.messages wants messages with role and content");
  const first = [
    params.system ?? "",
    params.schema === undefined ? "" : `Answer with one JSON value that follows this schema, and nothing else:\n${JSON.stringify(params.schema)}`,
  ].filter((part) => part !== "");
  const asked = params.messages.map(({ role, content }) => ({ role, content }));
  return first.length ? [{ role: "user", content: first.join("\n\n") }, ...asked] : asked;
}

async function counted(model: Model, texts: string[]): Promise<number | undefined> {
  try {
    const counts = await Promise.all(texts.map((text) => model.count(text)));
    return counts.reduce((sum, n) => sum + n, 0);
  } catch {
    return undefined; // a model need not say; nothing rests on it
  }
}

/** Fails with a BridgeError, or with what the model throws. */
export async function ask(model: Model, params: ModelParams, cancel: Cancel): Promise<ModelResult> {
  const messages = messagesOf(params);
  const given = (): void => {
    if (cancel.isCancellationRequested) throw new BridgeError(CANCELED, "the request was canceled");
  };
  given();
  let text = "";
  for await (const piece of await model.send(messages)) {
    given();
    text += piece;
    if (text.length > MAX_TEXT_CHARS) throw new BridgeError(FAILED, "the answer is larger than any answer may be");
  }
  given();
  const inputTokens = await counted(model, messages.map((m) => m.content));
  const outputTokens = await counted(model, [text]);
  return {
    text,
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
  };
}

/** What the server is told of a failure.  A person who says no cancels; all else is an error in the words of who failed. */
export function errorOf(error: unknown, canceled: boolean): { code: number; message: string } {
  if (error instanceof BridgeError) return { code: error.code, message: error.message };
  const { code, name, message } = (error ?? {}) as { code?: unknown; name?: unknown; message?: unknown };
  const words = typeof message === "string" && message ? message : String(error);
  if (canceled || name === "Canceled" || name === "CancellationError") return { code: CANCELED, message: words };
  if (code === "NoPermissions") return { code: CANCELED, message: `you have not allowed it. ${words}` };
  return { code: FAILED, message: words };
}
