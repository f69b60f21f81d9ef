/** A language model whose answers are those of $GRAPHGLUE_TEST_ANSWERS, one after the other; $GRAPHGLUE_TEST_TRACES/asked.json has what it was asked. */
const { readFileSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

const asked = [];

/** Proposals of inputs are another question, to which it knows no answer. */
function answer(question) {
  if (question.includes("Propose up to ")) return "I know of none.";
  const answers = JSON.parse(readFileSync(process.env.GRAPHGLUE_TEST_ANSWERS, "utf8"));
  asked.push(question);
  writeFileSync(path.join(process.env.GRAPHGLUE_TEST_TRACES, "asked.json"), JSON.stringify(asked));
  return answers[Math.min(asked.length, answers.length) - 1];
}

exports.activate = (context) => {
  const model = {
    id: "scripted-1",
    name: "Scripted One",
    family: "scripted",
    version: "1",
    maxInputTokens: 100000,
    maxOutputTokens: 10000,
    capabilities: {},
    requiresAuthorization: true, // VS Code asks the user before another extension may use it
  };
  const text = ({ content }) => content.map((part) => part.value ?? "").join("");
  context.subscriptions.push(
    vscode.lm.registerLanguageModelChatProvider("assistant", {
      provideLanguageModelChatInformation: () => [model],
      async provideLanguageModelChatResponse(_model, messages, _options, progress) {
        const said = answer(messages.map(text).join("\n"));
        for (const piece of said.match(/.{1,40}/gs)) progress.report(new vscode.LanguageModelTextPart(piece)); // as models stream
      },
      provideTokenCount: async (_model, said) => Math.ceil((typeof said === "string" ? said : text(said)).length / 4),
    }),
  );
};
