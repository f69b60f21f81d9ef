/** Lends the editor's language model to the server, when the user has said so (graphglue.editorModel).  VS Code asks for consent itself. */
import * as vscode from "vscode";
import type { LanguageClient, ResponseError, StaticFeature } from "vscode-languageclient/node";
import { BridgeError, FAILED, type Model, type ModelParams, ask, errorOf } from "./modelBridge";

export function isLent(): boolean {
  const on = vscode.workspace.getConfiguration("graphglue").get<boolean>("editorModel") === true;
  return on && typeof vscode.lm?.selectChatModels === "function";
}

async function select(): Promise<vscode.LanguageModelChat> {
  const family = vscode.workspace.getConfiguration("graphglue").get<string>("editorModelFamily", "").trim();
  const [first] = await vscode.lm.selectChatModels(family ? { family } : {});
  if (first) return first;
  throw new BridgeError(FAILED, family ? `the editor has no model of the family ${family}` : "the editor has no model");
}

function modelOf(chat: vscode.LanguageModelChat, token: vscode.CancellationToken): Model {
  return {
    async send(messages) {
      const said = messages.map((m) =>
        m.role === "assistant"
          ? vscode.LanguageModelChatMessage.Assistant(m.content)
          : vscode.LanguageModelChatMessage.User(m.content),
      );
      const justification = "Graphglue asks it to mend a graph break; every candidate is verified before you see it.";
      return (await chat.sendRequest(said, { justification }, token)).text;
    },
    count: async (text) => chat.countTokens(text, token),
  };
}

/** To be called before the client starts.  failure makes what the client takes for a refusal. */
export function lendModel(client: LanguageClient, failure: (code: number, message: string) => ResponseError<void>): void {
  const feature: StaticFeature = {
    fillClientCapabilities(capabilities) {
      capabilities.experimental = { ...capabilities.experimental, graphglue: { model: isLent() } };
    },
    initialize() {},
    getState: () => ({ kind: "static" }),
    clear() {},
  };
  client.registerFeature(feature);
  client.onRequest("graphglue/model", async (params: ModelParams, token: vscode.CancellationToken) => {
    try {
      if (!isLent()) throw new BridgeError(FAILED, "the setting graphglue.editorModel is off");
      return await ask(modelOf(await select(), token), params, token);
    } catch (error) {
      const { code, message } = errorOf(error, token.isCancellationRequested);
      return failure(code, message);
    }
  });
}
