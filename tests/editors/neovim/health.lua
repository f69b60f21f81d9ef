-- :checkhealth where something is missing.
return function(T)
  local seen = T.seen
  vim.env.PATH = "/usr/bin:/bin"
  local options = require("graphglue.options")
  options.set({ cmd = { "/nowhere/graphglue-lsp", "--stdio" } })
  seen.no_server = T.health()
  options.set({ cmd = { vim.env.SERVER, "--stdio", "--test" }, trusted = true })
  if vim.fn.has("nvim-0.11") == 1 then -- Neovim's own place for settings counts as well
    vim.lsp.config("graphglue", { settings = { graphglue = { python = vim.env.BARE } } })
  else
    options.set({ settings = { python = vim.env.BARE } })
  end
  seen.no_torch = T.health()
  options.set({ settings = { python = vim.env.PYTHON } })
  seen.not_started = T.health()
end
