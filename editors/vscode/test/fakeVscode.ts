/** The few values of the vscode module that src/editorModel.ts uses; each test sets what it answers. */

export interface Sent {
  messages: { role: string; content: string }[];
  options: unknown;
}

export const fake = {
  settings: {} as { [key: string]: unknown },
  families: [] as string[],
  answer: [] as (string | Error)[],
  sent: [] as Sent[],
  selectors: [] as unknown[],
};

export const workspace = {
  getConfiguration: () => ({ get: (key: string, otherwise?: unknown) => fake.settings[key] ?? otherwise }),
};

export const LanguageModelChatMessage = {
  User: (content: string) => ({ role: "user", content }),
  Assistant: (content: string) => ({ role: "assistant", content }),
};

async function* pieces(): AsyncIterable<string> {
  for (const piece of fake.answer) {
    if (piece instanceof Error) throw piece;
    yield piece;
  }
}

export const lm = {
  selectChatModels: async (selector: { family?: string }) => {
    fake.selectors.push(selector);
    const families = fake.families.filter((family) => !selector.family || family === selector.family);
    return families.map(() => ({
      sendRequest: async (messages: Sent["messages"], options: unknown) => {
        fake.sent.push({ messages, options });
        return { text: pieces() };
      },
      countTokens: async (text: string) => text.length,
    }));
  },
};
