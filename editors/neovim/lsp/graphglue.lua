-- What vim.lsp.enable("graphglue") starts (Neovim 0.11 and later).
return require("graphglue").config()
